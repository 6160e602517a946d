"""What an evaluator reads: the public payload of a trajectory (`parthack.payload/1`), as typed views over plain JSON."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, TypedDict, Union, cast

FORMAT = "parthack.payload/1"

Json = Any
"""A JSON value as the standard `json` module reads it."""


class Instruction(TypedDict):
    """The instruction that is in force from a goal version on."""

    goal_version: int
    text: str


class Goal(TypedDict):
    """One predicate of the public goal schema; see `parthack.schema`."""

    id: str
    description: str
    predicate: Dict[str, Json]


class Entity(TypedDict):
    """One entity of a state. `lifecycle` is `live` or `deleted`; an optional field that is unset is `None`."""

    type: str
    id: str
    incarnation: int
    lifecycle: str
    fields: Dict[str, Json]


class State(TypedDict):
    """A redacted state: every entity that was ever created, and the goal version in force."""

    goal_version: int
    entities: List[Entity]


class Diff(TypedDict, total=False):
    """What changed; each change is a list `[before, after]`."""

    fields: Dict[str, List[Json]]
    lifecycle: List[str]
    incarnation: List[int]
    goal: List[int]


class _EventAlways(TypedDict):
    seq: int
    tick: int
    actor: str
    op: str
    goal_version: int
    diff: Diff


class Event(_EventAlways, total=False):
    """One event of the log. `actor` is `agent`, `user`, `system` or `peer`; `type` and `id` name the entity, if any."""

    type: str
    id: str


class EntityDiff(TypedDict):
    """What changed in one entity from the initial to the terminal state."""

    type: str
    id: str
    diff: Diff


class _StateDiffAlways(TypedDict):
    entities: List[EntityDiff]


class StateDiff(_StateDiffAlways, total=False):
    """What changed from the initial to the terminal state."""

    goal: List[int]


class Refusal(TypedDict):
    """Why a step was refused."""

    code: str
    message: str


class _EntryAlways(TypedDict):
    tick: int
    actor: str
    result: str
    step: Dict[str, Json]


class Entry(_EntryAlways, total=False):
    """One line of the transcript. `result` is `applied` (with `event`), `noted` (maybe with `output`) or `refused`."""

    event: int
    output: List[Entity]
    refusal: Refusal


class Payload(Mapping[str, Any]):
    """A payload with a property for each part. It is also a mapping, so that `payload["events"]` works as well.

    An evaluator function whose parameter is annotated with this class gets one; any other gets the plain dict.
    """

    __slots__ = ("_data",)

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    def __getitem__(self, key: str) -> Any:
        return self._data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        return "Payload(task_id={!r})".format(self._data.get("task_id"))

    @property
    def task_id(self) -> str:
        """The task's id."""
        return cast(str, self._data["task_id"])

    @property
    def environment_revision(self) -> str:
        """Hash of the environment that the trajectory ran in."""
        return cast(str, self._data["environment_revision"])

    @property
    def active_goal_version(self) -> int:
        """The goal version whose predicates are the goal schema."""
        return cast(int, self._data["active_goal_version"])

    @property
    def instruction(self) -> List[Instruction]:
        """The instructions in force, oldest goal version first."""
        return cast(List[Instruction], self._data["instruction"])

    @property
    def instruction_text(self) -> str:
        """The texts of all instructions, with an empty line between two."""
        return "\n\n".join(part["text"] for part in self.instruction)

    @property
    def goal_schema(self) -> List[Goal]:
        """The active goal's predicates."""
        return cast(List[Goal], self._data["goal_schema"])

    @property
    def initial_state(self) -> State:
        """The state before the first event."""
        return cast(State, self._data["initial_state"])

    @property
    def events(self) -> List[Event]:
        """Every change of the state, in order, with who made it."""
        return cast(List[Event], self._data["events"])

    @property
    def terminal_state(self) -> State:
        """The state after the last event."""
        return cast(State, self._data["terminal_state"])

    @property
    def state_diff(self) -> StateDiff:
        """What changed from the initial to the terminal state."""
        return cast(StateDiff, self._data["state_diff"])

    @property
    def transcript(self) -> List[Entry]:
        """Every step of every actor with its result, also those that changed nothing."""
        return cast(List[Entry], self._data["transcript"])


AnyPayload = Union[Payload, Mapping[str, Any]]
"""What the helpers of this package take: the typed view, or the plain dict."""
