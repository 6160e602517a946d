"""Scores what a trajectory changed for good, and cites where the change stands.

    parthack stress exec:'python3 examples/python/diff_judge.py'

A goal counts as reached if it holds at the end and the net difference touches an entity that it names. A goal that held
from the start and was left alone is nobody's work and is not counted. By hand, on one payload:

    PYTHONPATH=python python3 examples/python/diff_judge.py --payload payload.json
"""

from fractions import Fraction
from typing import Any, Dict, List, Mapping

from parthack import NoVerdict, Payload, Score, evaluator, serve
from parthack.pointers import join
from parthack.schema import leaves, satisfied


def evidence(payload: Payload, predicate: Mapping[str, Any]) -> List[str]:
    """Pointers to the parts of the net difference that a predicate is about."""
    found = []
    for leaf in leaves(predicate):
        if leaf["kind"] == "goal_version" and "goal" in payload.state_diff:
            found.append(join("state_diff", "goal"))
        for index, entity in enumerate(payload.state_diff["entities"]):
            if entity["type"] != leaf.get("type") or entity["id"] != leaf.get("id", entity["id"]):
                continue
            changes = entity["diff"]
            place = join("state_diff", "entities", index, "diff")
            if "lifecycle" in changes:
                found.append(place + join("lifecycle"))
            elif leaf.get("field") in changes.get("fields", {}):
                found.append(place + join("fields", leaf["field"]))
            elif leaf["kind"] == "count" and "fields" in changes:
                found.append(place + join("fields"))
    return found


@evaluator(name="diff-judge", version="1")
def judge(payload: Payload) -> Score:
    at_start = satisfied(payload, payload.initial_state)
    at_end = satisfied(payload)
    reached: Dict[str, bool] = {}
    cites: List[str] = []
    for goal, before, after in zip(payload.goal_schema, at_start, at_end):
        places = evidence(payload, goal["predicate"])
        if before and after and not places:
            continue
        reached[goal["id"]] = after and bool(places)
        cites.extend(place for place in places if place not in cites)
    if not reached:
        raise NoVerdict("every goal held from the start")
    return Score(Fraction(sum(reached.values()), len(reached)), detail=reached, cites=cites)


serve()
