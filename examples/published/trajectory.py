"""What several of these rules read: the states that the agent's turns lead to, and the conjuncts of a goal."""

from typing import Any, Iterator, List, Mapping

from parthack import Payload
from parthack.schema import StateView, states


def turn_states(payload: Payload) -> List[StateView]:
    """The state that the agent finds, and the state after each of its steps and all that others did in answer to it."""
    after_event = states(payload)
    current = 0
    found = []
    for entry in payload["transcript"]:
        if entry["actor"] == "agent":
            found.append(after_event[current])
        current = entry.get("event", current)
    found.append(after_event[current])
    return found


def conjuncts(predicate: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The parts that must all hold for a predicate to hold, left to right; the predicate itself if it is no `all`."""
    if predicate["kind"] == "all":
        for part in predicate["of"]:
            yield from conjuncts(part)
    else:
        yield predicate
