"""A rubric tree in the manner of Mind2Web 2: critical nodes gate, the others are averaged.

    parthack stress exec:'python3 examples/published/rubric_tree.py'

Published rule. Boyu Gou et al., "Mind2Web 2: Evaluating Agentic Search with Agent-as-a-Judge", arXiv 2506.21506, section 3.3 (rubric
trees). A leaf is 1 or 0. A node whose children are parallel is 0 if a critical child falls short of 1; otherwise it is the mean
of its other children, or 1 if there are none (gate, then average). The root's score is the partial completion; the task succeeds if it is 1.

Mapping. Leaves are verified on the terminal state, which stands for the answer. The tree is built from the public goal schema:

    root
      the active goal version is in force         critical: an answer to a request that was withdrawn is none
      a goal that asks for a goal version         critical
      one node for each entity (or counted type)  each the work on one thing, as an item of an answer is
        exists, deleted, absent, refers_to        critical: whether it is there, and which thing it is joined to
        any other goal about it                   not critical
          parts of an `all`                       critical: a conjunction is met or not

Where the mapping chooses. (1) Which nodes are critical is the annotators' judgement in the benchmark; here it is the fixed table above, by
kind of predicate, and another table gives other scores. (2) The paper's leaves are judged by a language model on a text with
citations, also for attribution to sources; here a leaf is a test of typed values, and attribution has no counterpart. (3) Sequential
nodes are not used: the schema gives no order. (4) A goal about several entities belongs to the first that it names.
"""

from fractions import Fraction
from typing import Any, Dict, List, Mapping, NamedTuple, Tuple, Union

from parthack import Payload, Score, evaluator, serve
from parthack.schema import StateView, goal_predicates, holds, leaves

IDENTITY = ("exists", "deleted", "absent", "refers_to")
"""Kinds of goals that say whether an entity is there, and which other it is joined to."""


class Node(NamedTuple):
    """A node of the rubric: its children, or, at a leaf, whether it is met."""

    name: str
    is_critical: bool
    content: Union[bool, List[Any]]


def aggregate(node: Node) -> Fraction:
    """A node's score: gate, then average."""
    if isinstance(node.content, bool):
        return Fraction(node.content)
    gates = [aggregate(child) for child in node.content if child.is_critical]
    others = [aggregate(child) for child in node.content if not child.is_critical]
    if any(score < 1 for score in gates):
        return Fraction(0)
    return sum(others, Fraction(0)) / len(others) if others else Fraction(1)


def node_of(name: str, is_critical: bool, predicate: Mapping[str, Any], state: StateView) -> Node:
    """The node of a goal, and below it those of the parts of a conjunction."""
    if predicate["kind"] != "all":
        return Node(name, is_critical, holds(predicate, state))
    return Node(name, is_critical, [node_of(name, True, part, state) for part in predicate["of"]])


def rubric(payload: Payload) -> Node:
    """The tree for a payload, with its leaves verified."""
    state = StateView.of(payload["terminal_state"])
    top = [Node("goal in force", True, state.goal_version == payload["active_goal_version"])]
    items: Dict[Tuple[str, ...], List[Node]] = {}
    for goal, predicate in zip(payload["goal_schema"], goal_predicates(payload)):
        first = next(leaves(predicate))
        if first["kind"] == "goal_version":
            top.append(node_of(goal["id"], True, predicate, state))
            continue
        subject = (first["type"], first["id"]) if "id" in first else (first["type"],)
        is_critical = predicate["kind"] in IDENTITY
        items.setdefault(subject, []).append(node_of(goal["id"], is_critical, predicate, state))
    return Node("root", False, top + [Node(" ".join(subject), False, nodes) for subject, nodes in items.items()])


@evaluator(name="rubric-tree", version="1")
def partial_completion(payload: Payload) -> Score:
    root = rubric(payload)
    return Score(aggregate(root), detail={child.name: str(aggregate(child)) for child in root.content})


if __name__ == "__main__":
    serve()
