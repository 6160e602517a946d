"""ToolSandbox's milestones and minefields: the best matching of milestones with snapshots.

    parthack stress exec:'python3 examples/published/toolsandbox_milestones.py'

Published rule. Jiarui Lu et al., "ToolSandbox: A Stateful, Conversational, Interactive Evaluation Benchmark for LLM Tool Use
Capabilities", arXiv 2408.04682, section 2.3 (milestones and minefields). Milestones form a directed acyclic graph. Each has a
similarity in [0, 1] with each snapshot of the databases: the geometric mean over its constraints, among them, unless said
otherwise, the guardrail that databases without a constraint are unchanged. Milestones are matched with snapshots in an
order that the graph allows, such that the mean similarity is largest. Minefields are what must not happen:

    score = score(milestones) * [score(minefields) = 0]

Mapping. Snapshots: the initial state and the state after each event, from the first on in which the active goal version is in
force, since its milestones answer a request that was not made before. Milestones: the predicates of the public goal schema;
constraints: their conjuncts, of similarity 1 or 0. Guardrail: entities of types that the goal does not name, unless other
actors changed them too, are as they were at first. Minefields: what the goal forbids (the parts of a `not`, and the existence
of what must be `absent`), where it wasn't so at first.

Where the mapping chooses. (1) The public schema gives hardly any order; the graph has an edge only from "this entity exists" to
other milestones about that entity. An edge allows the same snapshot for both. (2) Typed values are compared exactly: there is
no free text to be compared by ROUGE-L. (3) Milestones are conditions on a state, not on what a snapshot adds to an earlier
one, so a milestone may match the initial state. (4) Few goals forbid anything: what they say in words alone is no minefield.
"""

from fractions import Fraction
from itertools import permutations
from typing import Any, Callable, Dict, List, Mapping, Sequence, Set, Tuple

from parthack import Payload, Score, evaluator, serve
from parthack.schema import StateView, goal_predicates, holds, leaves, states
from trajectory import conjuncts

Predicate = Mapping[str, Any]


def best_matching(similarity: Sequence[Sequence[int]], edges: Set[Tuple[int, int]]) -> List[int]:
    """For each milestone its similarity in the best matching; `similarity[milestone][snapshot]`.

    Tries each order of the milestones that the edges allow; within one, snapshots never go back.
    """
    best: List[int] = [0] * len(similarity)
    for order in permutations(range(len(similarity))):
        if any(order.index(before) > order.index(after) for before, after in edges):
            continue
        reached: List[Tuple[int, List[int]]] = [(0, [])] * len(similarity[0])
        for milestone in order:
            so_far: Tuple[int, List[int]] = (-1, [])
            for snapshot, (total, chosen) in enumerate(reached):
                value = similarity[milestone][snapshot]
                if total + value > so_far[0]:
                    so_far = (total + value, chosen + [value])
                reached[snapshot] = so_far
        if reached[-1][0] > sum(best):
            best = [value for _, value in sorted(zip(order, reached[-1][1]))]
    return best


def order_of(predicates: List[Predicate]) -> Set[Tuple[int, int]]:
    """Edges from `exists` to other milestones about the entity."""
    return {
        (before, after)
        for before, first in enumerate(predicates)
        if first["kind"] == "exists"
        for after, second in enumerate(predicates)
        if second["kind"] != "exists"
        if any((leaf.get("type"), leaf.get("id")) == (first["type"], first["id"]) for leaf in leaves(second))
    }


def minefields(predicates: List[Predicate]) -> List[Predicate]:
    """What the goal forbids."""
    parts = [part for predicate in predicates for part in conjuncts(predicate)]
    forbidden = [part["of"] for part in parts if part["kind"] == "not"]
    return forbidden + [{"kind": "not", "of": part} for part in parts if part["kind"] == "absent"]


def guardrail(payload: Payload, predicates: List[Predicate]) -> Callable[[StateView], Dict[Any, Any]]:
    """What a milestone wants unchanged: entities of types that the goal does not name, which only the agent may have changed."""
    named = {leaf.get("type") for predicate in predicates for leaf in leaves(predicate)}
    others = {(event.get("type"), event.get("id")) for event in payload["events"] if event["actor"] != "agent"}
    return lambda state: {
        (entity.type, entity.id): (entity.lifecycle, entity.fields)
        for entity in state.entities()
        if entity.type not in named and (entity.type, entity.id) not in others
    }


@evaluator(name="toolsandbox-milestones", version="1")
def trajectory_similarity(payload: Payload) -> Score:
    predicates = goal_predicates(payload)
    first, *_ = everything = states(payload)
    snapshots = [state for state in everything if state.goal_version == payload["active_goal_version"]]
    hit = [mine for mine in minefields(predicates) if not holds(mine, first) and any(holds(mine, s) for s in everything)]
    if hit or not snapshots:
        return Score(0, detail={"minefields": len(hit), "snapshots": len(snapshots)})
    guarded = guardrail(payload, predicates)
    kept = [guarded(state) == guarded(first) for state in snapshots]
    similarity = [[int(ok and holds(p, s)) for ok, s in zip(kept, snapshots)] for p in predicates]
    best = best_matching(similarity, order_of(predicates))
    return Score(Fraction(sum(best), len(best)), detail={"milestones": best})


if __name__ == "__main__":
    serve()
