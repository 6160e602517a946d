"""WebCanvas's key nodes: what was reached at any time counts for good.

    parthack stress exec:'python3 examples/published/webcanvas_key_nodes.py'

Published rule. Yichen Pan et al., "WebCanvas: Benchmarking Web Agents in Online Environments", arXiv 2406.12373, the section on
evaluation metrics. A task has key nodes: states that every way of doing it passes through, each with an evaluation
function on URL, element path or element value (exact, include or semantic match). After every action the functions are
tried; a key node that matches once has its point (step score). The completion rate is the share of key nodes that have
their point; a task is finished (task success) when all have.

Mapping. A key node is a conjunct of the public goal schema: a predicate, or, of an `all`, each of its parts, since every way
of doing the task has to pass through it. Type and id of the entity stand for the URL, the field for the element, the
expected value for its value. The nodes are tried on the state after each step of the agent, with all that others did in
answer. The score is the completion rate; `detail` says whether the task is finished.

Where the mapping chooses. (1) The benchmark's nodes were annotated along a demonstration, with intermediate pages among them;
the goal schema has final conditions alone. (2) Alternatives (`any`) are one node: none of them is indispensable. (3) A
condition that holds when the agent begins is no state to be reached, so it is no key node. (4) Matching is exact or by bound;
nothing in a typed state needs a semantic match. (5) Nodes may be reached in any order.
"""

from fractions import Fraction
from typing import Any, List, Mapping, Tuple

from parthack import NoVerdict, Payload, Score, evaluator, serve
from parthack.schema import StateView, goal_predicates, holds
from trajectory import conjuncts, turn_states


def key_nodes(payload: Payload, start: StateView) -> List[Tuple[str, Mapping[str, Any]]]:
    """The key nodes, each with the id of the goal that it is part of."""
    return [
        (goal["id"], part)
        for goal, predicate in zip(payload["goal_schema"], goal_predicates(payload))
        for part in conjuncts(predicate)
        if not holds(part, start)
    ]


@evaluator(name="webcanvas-key-nodes", version="1")
def completion_rate(payload: Payload) -> Score:
    start, *after = turn_states(payload)
    nodes = key_nodes(payload, start)
    if not nodes:
        raise NoVerdict("every condition of the goal held when the agent began: there is no key node")
    reached = [any(holds(part, state) for state in after) for _, part in nodes]
    points = [goal for (goal, _), point in zip(nodes, reached) if point]
    return Score(Fraction(len(points), len(nodes)), detail={"points": points, "finished": all(reached)})


if __name__ == "__main__":
    serve()
