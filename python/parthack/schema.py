"""The public goal schema: reading its predicates, and testing them on a state.

    from fractions import Fraction
    from parthack import evaluator, serve
    from parthack.schema import satisfied

    @evaluator
    def csps(payload):
        held = satisfied(payload)
        return Fraction(sum(held), len(held))

    serve()

The kinds of predicates stand in `docs/formats.md`. They are tested as `parthack`'s own rule evaluators test them: values
are equal only with equal types, field predicates are false for an entity that isn't live, a count is over live entities.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import pointers
from .payload import AnyPayload
from .verdict import shown

Predicate = Mapping[str, Any]
"""A predicate as it stands in a goal schema."""


class SchemaError(ValueError):
    """A predicate or state that is malformed: where (a JSON pointer), what was expected, what was found."""

    def __init__(self, at: str, expected: str, found: Any) -> None:
        super().__init__("{}: expected {}, found {}".format(at or "(the whole)", expected, shown(found)))
        self.at = at


class EntityView:
    """One entity: type, id, lifecycle (`absent`, `live` or `deleted`), incarnation and fields."""

    __slots__ = ("type", "id", "lifecycle", "incarnation", "fields")

    def __init__(self, type: str, id: str, lifecycle: str, incarnation: int, fields: Dict[str, Any]) -> None:
        self.type = type
        self.id = id
        self.lifecycle = lifecycle
        self.incarnation = incarnation
        self.fields = fields

    def __repr__(self) -> str:
        return "<{} {}, {}>".format(self.type, self.id, self.lifecycle)

    @property
    def is_live(self) -> bool:
        """Whether the entity exists now."""
        return self.lifecycle == "live"


class StateView:
    """A state with its entities by type and id."""

    __slots__ = ("goal_version", "_entities")

    def __init__(self, goal_version: int, entities: Dict[Tuple[str, str], EntityView]) -> None:
        self.goal_version = goal_version
        self._entities = entities

    @classmethod
    def of(cls, state: Mapping[str, Any], at: str = "") -> "StateView":
        """Reads a state of a payload (`payload["terminal_state"]`). Raises `SchemaError`."""
        entities: Dict[Tuple[str, str], EntityView] = {}
        for index, entity in enumerate(_list(state, "entities", at)):
            place = pointers.join("entities", index)
            key = (_text(entity, "type", at + place), _text(entity, "id", at + place))
            entities[key] = EntityView(
                key[0],
                key[1],
                _text(entity, "lifecycle", at + place),
                _integer(entity, "incarnation", at + place),
                dict(_object(entity, "fields", at + place)),
            )
        return cls(_integer(state, "goal_version", at), entities)

    def entity(self, type: str, id: str) -> Optional[EntityView]:
        """The entity, live or deleted; None if it never existed."""
        return self._entities.get((type, id))

    def entities(self, type: Optional[str] = None) -> List[EntityView]:
        """All entities, or those of a type, live and deleted."""
        return [entity for entity in self._entities.values() if type is None or entity.type == type]

    def after(self, event: Mapping[str, Any], at: str = "", unset: Sequence[str] = ()) -> "StateView":
        """The state after an event. `unset`: the fields that are null in an entity that this event creates unless it
        says otherwise; the event's diff leaves them out. Raises `SchemaError`.
        """
        diff = _object(event, "diff", at)
        at += "/diff"
        version = _after(diff, "goal", at) if "goal" in diff else self.goal_version
        if "type" not in event or "id" not in event:
            return StateView(version, self._entities)
        key = (event["type"], event["id"])
        old = self._entities.get(key) or EntityView(key[0], key[1], "absent", 0, dict.fromkeys(unset))
        fields = dict(old.fields)
        if "fields" in diff:
            changes = _object(diff, "fields", at)
            fields.update((name, _after(changes, name, at + "/fields")) for name in changes)
        lifecycle = _after(diff, "lifecycle", at) if "lifecycle" in diff else old.lifecycle
        incarnation = _after(diff, "incarnation", at) if "incarnation" in diff else old.incarnation
        entities = dict(self._entities)
        entities[key] = EntityView(key[0], key[1], lifecycle, incarnation, fields)
        return StateView(version, entities)


AnyState = Union[StateView, Mapping[str, Any]]
"""A state, read or as it stands in a payload."""


def goal_predicates(payload: AnyPayload) -> List[Predicate]:
    """The predicates of a payload's goal schema, in order, each checked. Raises `SchemaError`."""
    predicates: List[Predicate] = []
    for index, goal in enumerate(_list(payload, "goal_schema", "")):
        at = pointers.join("goal_schema", index)
        predicate = _object(goal, "predicate", at)
        check_predicate(predicate, at + "/predicate")
        predicates.append(predicate)
    return predicates


def satisfied(payload: AnyPayload, state: Optional[AnyState] = None) -> List[bool]:
    """For each predicate of the goal schema, whether it holds in a state (default: the terminal state).

    Raises `SchemaError`.
    """
    if state is None:
        state = StateView.of(_object(payload, "terminal_state", ""), "/terminal_state")
    view = _view(state)
    return [_holds(predicate, view) for predicate in goal_predicates(payload)]


def satisfied_fraction(payload: AnyPayload, state: Optional[AnyState] = None) -> Fraction:
    """The exact fraction of the goal's predicates that hold in a state (default: the terminal state); 0 without any."""
    held = satisfied(payload, state)
    return Fraction(sum(held), len(held)) if held else Fraction(0)


def states(payload: AnyPayload) -> List[StateView]:
    """The initial state and the state after each event. Raises `SchemaError`."""
    state = StateView.of(_object(payload, "initial_state", ""), "/initial_state")
    found = [state]
    fields: Dict[Any, List[str]] = {}
    for entity in StateView.of(_object(payload, "terminal_state", ""), "/terminal_state").entities():
        fields[entity.type] = list(entity.fields)
    for index, event in enumerate(_list(payload, "events", "")):
        state = state.after(event, pointers.join("events", index), fields.get(event.get("type"), ()))
        found.append(state)
    return found


def holds(predicate: Predicate, state: AnyState) -> bool:
    """Whether a predicate holds in a state. Raises `SchemaError` for a malformed one."""
    check_predicate(predicate)
    return _holds(predicate, _view(state))


def leaves(predicate: Predicate) -> Iterator[Predicate]:
    """The predicates that `all`, `any` and `not` are made of, left to right; the predicate itself if it is none of them."""
    kind = predicate["kind"]
    if kind in ("all", "any"):
        for part in predicate["of"]:
            yield from leaves(part)
    elif kind == "not":
        yield from leaves(predicate["of"])
    else:
        yield predicate


def equal(expected: Any, value: Any) -> bool:
    """Equality of JSON values with their kinds: `1`, `1.0` and `true` are three."""
    if isinstance(expected, Mapping):
        return (
            isinstance(value, Mapping)
            and expected.keys() == value.keys()
            and all(equal(expected[key], value[key]) for key in expected)
        )
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(value, (list, tuple))
            and len(expected) == len(value)
            and all(equal(one, other) for one, other in zip(expected, value))
        )
    return type(expected) is type(value) and bool(expected == value)


def check_predicate(predicate: Any, at: str = "") -> None:
    """Checks kind, keys and types of a predicate and of those within.

    Raises `SchemaError` with a JSON pointer that begins with `at`.
    """
    if not isinstance(predicate, Mapping):
        raise SchemaError(at, "a predicate, an object", predicate)
    kind = predicate.get("kind")
    if not isinstance(kind, str) or kind not in _KEYS:
        raise SchemaError(at + "/kind", "one of: " + ", ".join(_KEYS), kind)
    required, optional = _KEYS[kind]
    for key in predicate:
        if key not in required and key not in optional:
            raise SchemaError(
                at + pointers.join(key), "none but the keys {}".format(", ".join((*required, *optional))), key
            )
    for key in required:
        if key not in predicate:
            raise SchemaError(at, "the key {}".format(key), predicate)
    for key, value in predicate.items():
        _check_key(kind, key, value, at + pointers.join(key))


_ENTITY = ("kind", "type", "id")
_PIN = ("incarnation",)
_KEYS: Dict[str, Tuple[Tuple[str, ...], Tuple[str, ...]]] = {
    "exists": (_ENTITY, _PIN),
    "absent": (_ENTITY, ()),
    "deleted": (_ENTITY, _PIN),
    "field_equals": ((*_ENTITY, "field", "value"), _PIN),
    "field_in": ((*_ENTITY, "field", "values"), _PIN),
    "field_at_least": ((*_ENTITY, "field", "value"), _PIN),
    "field_at_most": ((*_ENTITY, "field", "value"), _PIN),
    "refers_to": ((*_ENTITY, "field", "target"), _PIN),
    "set_contains": ((*_ENTITY, "field", "value"), _PIN),
    "count": (("kind", "type", "compare", "count"), ("filter",)),
    "goal_version": (("kind", "version"), ()),
    "all": (("kind", "of"), ()),
    "any": (("kind", "of"), ()),
    "not": (("kind", "of"), ()),
}
"""Required and optional keys of each kind."""

_COMPARISONS: Dict[str, Callable[[int, int], bool]] = {
    "at_least": lambda found, bound: found >= bound,
    "at_most": lambda found, bound: found <= bound,
    "equals": lambda found, bound: found == bound,
}

_TESTS: Dict[str, Callable[[Any, Any], bool]] = {
    "equals": equal,
    "in": lambda expected, value: any(equal(one, value) for one in expected),
    "at_least": lambda bound, value: _is_integer(value) and value >= bound,
    "at_most": lambda bound, value: _is_integer(value) and value <= bound,
    "contains": lambda element, value: isinstance(value, (list, tuple)) and any(equal(element, one) for one in value),
}
"""What a field's value may be tested for, under the names that a count's filter uses."""

_FIELD_TESTS = {
    "field_equals": ("equals", "value"),
    "field_in": ("in", "values"),
    "field_at_least": ("at_least", "value"),
    "field_at_most": ("at_most", "value"),
    "refers_to": ("equals", "target"),
    "set_contains": ("contains", "value"),
}
"""Each field predicate's test, and the key of what it tests for."""


def _check_key(kind: str, key: str, value: Any, at: str) -> None:
    if key in ("type", "id", "field", "target"):
        if not isinstance(value, str):
            raise SchemaError(at, "an identifier", value)
    elif key in ("incarnation", "version", "count"):
        if not _is_integer(value) or value < (0 if key == "count" else 1):
            raise SchemaError(at, "an integer from {}".format(0 if key == "count" else 1), value)
    elif key == "compare":
        if value not in _COMPARISONS:
            raise SchemaError(at, "one of: " + ", ".join(_COMPARISONS), value)
    elif key == "filter":
        _check_filter(value, at)
    elif key == "of" and kind == "not":
        check_predicate(value, at)
    elif key == "of":
        if not isinstance(value, Sequence) or isinstance(value, str) or not value:
            raise SchemaError(at, "a list of at least one predicate", value)
        for index, part in enumerate(value):
            check_predicate(part, at + pointers.join(index))
    elif kind in _FIELD_TESTS and key == _FIELD_TESTS[kind][1]:
        _check_bound(_FIELD_TESTS[kind][0], value, at)


def _check_filter(terms: Any, at: str) -> None:
    if not isinstance(terms, list):
        raise SchemaError(at, "a list of terms", terms)
    for index, term in enumerate(terms):
        place = at + pointers.join(index)
        tests = [key for key in _TESTS if isinstance(term, Mapping) and key in term]
        if len(tests) != 1 or set(term) != {"field", tests[0]} or not isinstance(term["field"], str):
            raise SchemaError(place, '"field" and exactly one of: ' + ", ".join(_TESTS), term)
        _check_bound(tests[0], term[tests[0]], place + pointers.join(tests[0]))


def _check_bound(test: str, bound: Any, at: str) -> None:
    if test == "in" and (not isinstance(bound, list) or not bound):
        raise SchemaError(at, "a list of at least one value", bound)
    if test in ("at_least", "at_most") and not _is_integer(bound):
        raise SchemaError(at, "an integer", bound)


def _holds(predicate: Predicate, state: StateView) -> bool:
    kind = predicate["kind"]
    if kind == "all":
        return all(_holds(part, state) for part in predicate["of"])
    if kind == "any":
        return any(_holds(part, state) for part in predicate["of"])
    if kind == "not":
        return not _holds(predicate["of"], state)
    if kind == "goal_version":
        return bool(state.goal_version == predicate["version"])
    if kind == "count":
        found = sum(_passes(entity, predicate.get("filter", ())) for entity in state.entities(predicate["type"]))
        return _COMPARISONS[predicate["compare"]](found, predicate["count"])
    entity = state.entity(predicate["type"], predicate["id"])
    if kind == "absent":
        return entity is None or entity.lifecycle == "absent"
    if entity is None or predicate.get("incarnation", entity.incarnation) != entity.incarnation:
        return False
    if kind == "deleted":
        return entity.lifecycle == "deleted"
    if not entity.is_live:
        return False
    if kind == "exists":
        return True
    test, key = _FIELD_TESTS[kind]
    # A creation's diff leaves out what stays unset: that reads as null.
    return _TESTS[test](predicate[key], entity.fields.get(predicate["field"]))


def _passes(entity: EntityView, terms: Sequence[Mapping[str, Any]]) -> bool:
    return entity.is_live and all(
        _TESTS[test](term[test], entity.fields.get(term["field"]))
        for term in terms
        for test in term
        if test != "field"
    )


def _view(state: AnyState) -> StateView:
    return state if isinstance(state, StateView) else StateView.of(state)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _get(value: Any, key: str, at: str) -> Any:
    if not isinstance(value, Mapping):
        raise SchemaError(at, "an object", value)
    if key not in value:
        raise SchemaError(at, "the key {}".format(key), list(value))
    return value[key]


def _list(value: Any, key: str, at: str) -> List[Any]:
    found = _get(value, key, at)
    if not isinstance(found, list):
        raise SchemaError(at + pointers.join(key), "a list", found)
    return found


def _object(value: Any, key: str, at: str) -> Mapping[str, Any]:
    found = _get(value, key, at)
    if not isinstance(found, Mapping):
        raise SchemaError(at + pointers.join(key), "an object", found)
    return found


def _text(value: Any, key: str, at: str) -> str:
    found = _get(value, key, at)
    if not isinstance(found, str):
        raise SchemaError(at + pointers.join(key), "a string", found)
    return found


def _integer(value: Any, key: str, at: str) -> int:
    found = _get(value, key, at)
    if not _is_integer(found):
        raise SchemaError(at + pointers.join(key), "an integer", found)
    return int(found)


def _after(changes: Mapping[str, Any], key: str, at: str) -> Any:
    change = changes[key]
    if not isinstance(change, list) or len(change) != 2:
        raise SchemaError(at + pointers.join(key), "[before, after]", change)
    return change[1]
