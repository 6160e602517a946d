"""Scorers of Inspect (`inspect_ai`) as evaluators.

    from parthack import serve
    from parthack.inspect import from_inspect_scorer

    serve(from_inspect_scorer(my_scorer()))

A scorer is `async def score(state, target) -> Score`. The state it gets is made from the payload: the transcript as
messages (`parthack.conversation` has the table), what the agent said last as the output, the payload itself in
`state.metadata["payload"]`. This package doesn't depend on `inspect_ai` and never loads it by itself: a program that has
loaded it (any program that imports its `@scorer`) gets states of Inspect's own classes, any other gets plain objects with
the same attribute names.
"""

from __future__ import annotations

import math
import re
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from .conversation import Message, completion_of, messages_of
from .declaration import DeclarationError, Evaluator
from .payload import AnyPayload, Payload
from .verdict import NoVerdict, Score, shown
from .waiting import finished, is_awaitable

if TYPE_CHECKING:
    from inspect_ai.scorer import Target
    from inspect_ai.solver import TaskState

TargetText = Union[str, Sequence[str], Callable[[Payload], Union[str, Sequence[str]]]]
"""What a scorer compares with: one text or several, or a function of the payload that gives them."""

ValueKey = Union[str, Callable[[Any], Any]]
"""Which entry of a dictionary value is the score, or a function of the dictionary or list that gives it."""

MODEL = "parthack/trajectory"
"""The model name in the state; the payload doesn't tell which model acted."""

_LETTERS: Dict[str, Fraction] = {
    "C": Fraction(1),
    "I": Fraction(0),
    "P": Fraction(1, 2),
    "N": Fraction(0),
    "yes": Fraction(1),
    "true": Fraction(1),
    "no": Fraction(0),
    "false": Fraction(0),
}


class PlainOutput:
    """The model output of a plain state."""

    model = MODEL
    error = None
    usage = None

    def __init__(self, message: Message) -> None:
        self.message = message
        self.completion = message.content
        self.stop_reason = "stop"

    @property
    def empty(self) -> bool:
        """Whether the agent said nothing."""
        return not self.completion


class PlainTarget(Sequence[str]):
    """The target of a plain state: a sequence of texts, joined in `text`."""

    def __init__(self, target: Union[str, Sequence[str]]) -> None:
        self.target = [target] if isinstance(target, str) else list(target)

    def __getitem__(self, index: Any) -> Any:
        return self.target[index]

    def __len__(self) -> int:
        return len(self.target)

    @property
    def text(self) -> str:
        """All texts, one behind the other."""
        return "".join(self.target)


class PlainState:
    """A finished task as a scorer sees it, without Inspect."""

    model = MODEL
    epoch = 1
    completed = True

    def __init__(self, payload: Mapping[str, Any], target: PlainTarget) -> None:
        self.sample_id = payload["task_id"]
        self.uuid = payload["task_id"]
        self.target = target
        self.metadata = _metadata(payload)
        self.messages = messages_of(payload)
        self.output = PlainOutput(Message("output", "assistant", completion_of(self.messages)))
        self.input = _input(payload)
        self.store: Dict[str, Any] = {}
        self.tools: List[Any] = []
        self.choices: List[Any] = []
        self.scores = None

    @property
    def input_text(self) -> str:
        """The instruction."""
        return self.input

    @property
    def user_prompt(self) -> Message:
        """The last message of a user; the instruction, unless something came after it."""
        return next(message for message in reversed(self.messages) if message.role == "user")


def from_inspect_scorer(
    scorer: Callable[[Any, Any], Any],
    *,
    target: TargetText = "",
    key: Optional[ValueKey] = None,
    value_to_float: Optional[Callable[[Any], float]] = None,
    classes: str = "auto",
    name: Optional[str] = None,
    version: str = "0",
    deterministic: bool = True,
) -> Evaluator:
    """Makes an evaluator of an Inspect scorer, to be given to `serve`.

    The score's value is read as Inspect reads it: `C` 1, `P` 1/2, `I` and `N` 0, also yes, no, true, false and numerals;
    booleans and numbers as they are. Outside [0, 1] there is no verdict, as there is for an unscored (NaN) or missing
    score. A dictionary or list needs `key`: an entry's name, or a function such as `mean`; a dictionary with one entry
    needs none. `value_to_float` replaces all of this.

    `target`: see `TargetText`. `classes`: `inspect` for states of Inspect's classes, `plain` for this module's, `auto` as
    the module says. `deterministic`: say False if the scorer asks a model.

    Raises `DeclarationError`, and `ImportError` if `classes="inspect"` and `inspect_ai` is not installed.
    """
    if not callable(scorer) or isinstance(scorer, type):
        raise DeclarationError("a scorer is an async function of state and target, found {}".format(shown(scorer)))
    if classes not in ("auto", "plain", "inspect"):
        raise DeclarationError("classes: expected auto, plain or inspect, found {}".format(shown(classes)))
    if classes == "inspect":
        _require_inspect()

    def evaluate(payload: Payload) -> Score:
        texts = target(payload) if callable(target) else target
        state = state_of(payload, texts, classes)
        result = scorer(state, state.target)
        if is_awaitable(result):
            result = finished(result)
        return _score(result, key, value_to_float)

    return Evaluator(evaluate, name or _scorer_name(scorer), version, deterministic)


def state_of(
    payload: AnyPayload, target: Union[str, Sequence[str]] = "", classes: str = "auto"
) -> Union[PlainState, "TaskState"]:
    """The state that a scorer gets for a payload. `classes` as in `from_inspect_scorer`."""
    plain = PlainState(dict(payload), PlainTarget(target))
    if classes == "plain" or classes == "auto" and "inspect_ai" not in sys.modules:
        return plain
    return _native(plain)


def mean(values: Union[Mapping[str, Any], Sequence[Any]]) -> Fraction:
    """The mean of a dictionary's or list's values, each read as a score: for `key=mean`."""
    parts = list(values.values()) if isinstance(values, Mapping) else list(values)
    if not parts:
        raise NoVerdict("the score's value is empty")
    return sum((Fraction(_unit(part)) for part in parts), Fraction(0)) / len(parts)


def _score(result: Any, key: Optional[ValueKey], value_to_float: Optional[Callable[[Any], float]]) -> Score:
    if result is None:
        raise NoVerdict("the scorer returned no score")
    if callable(result) and not hasattr(result, "value"):
        raise TypeError("the scorer returned a function: pass the scorer itself, made by calling my_scorer()")
    if not hasattr(result, "value"):
        raise TypeError("the scorer returned {}; expected a Score".format(shown(result)))
    value = getattr(result, "value")
    if isinstance(value, float) and math.isnan(value):
        reason = getattr(result, "reason", None) or getattr(result, "explanation", None)
        raise NoVerdict("the scorer left it unscored" + (": {}".format(reason) if reason else ""))
    detail = {
        part: str(getattr(result, part))
        for part in ("answer", "explanation")
        if getattr(result, part, None) is not None
    }
    if isinstance(value, (str, Mapping, list)):
        detail["value"] = value if isinstance(value, str) else repr(value)
    number = value_to_float(value) if value_to_float is not None else _unit(_chosen(value, key))
    return Score(number, detail=detail or None)


def _chosen(value: Any, key: Optional[ValueKey]) -> Any:
    """The one value of a dictionary or list that is the score."""
    if not isinstance(value, (Mapping, list, tuple)):
        return value
    if callable(key):
        return key(value)
    if not isinstance(value, Mapping):
        raise TypeError("the score's value is a list of {}; say how to read it, as key=mean".format(len(value)))
    if key is None and len(value) == 1:
        return next(iter(value.values()))
    if key is None:
        names = ", ".join(map(str, value))
        raise TypeError('the score has the values {}; say which is the score, key="…" or key=mean'.format(names))
    if key not in value:
        raise TypeError("the score has no value {!r}; it has {}".format(key, ", ".join(map(str, value))))
    return value[key]


def _unit(value: Any) -> Any:
    """One scalar value as a number; whether it is in [0, 1] is checked with every score."""
    if value is None:
        raise NoVerdict("the score's value is missing")
    if not isinstance(value, str):
        return value
    text = value.strip()
    known = _LETTERS.get(text, _LETTERS.get(text.lower()))
    if known is not None:
        return known
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise TypeError("the score's value is {}; expected C, P, I, N, yes, no or a number".format(shown(value))) from None


def _metadata(payload: Mapping[str, Any]) -> Dict[str, Any]:
    return {"payload": payload, "task_id": payload["task_id"], "terminal_state": payload["terminal_state"]}


def _input(payload: Mapping[str, Any]) -> str:
    return Payload(payload).instruction_text


def _scorer_name(scorer: Any) -> Optional[str]:
    """The name under which Inspect knows the scorer, or its function's own."""
    registered = getattr(getattr(scorer, "__registry_info__", None), "name", None)
    if not isinstance(registered, str):
        outer = str(getattr(scorer, "__qualname__", "")).split(".<locals>")[0]  # The factory that made it.
        registered = outer.rsplit(".", 1)[-1] or type(scorer).__name__
    name = re.sub(r"[^A-Za-z0-9.:-]+", "-", registered.rsplit("/", 1)[-1]).strip("-.:")[:64]
    return name or None


def _require_inspect() -> None:
    try:
        import inspect_ai  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "classes=\"inspect\" needs the package inspect_ai, which can't be imported here ({}). Install it with "
            "`pip install inspect-ai`, or leave classes out to get plain objects".format(error)
        ) from error


def _native(plain: PlainState) -> "TaskState":
    """The same state in Inspect's classes."""
    _require_inspect()
    from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelName, ModelOutput
    from inspect_ai.scorer import Target
    from inspect_ai.solver import TaskState

    output = ModelOutput(
        model=MODEL,
        choices=[
            ChatCompletionChoice(
                message=ChatMessageAssistant(id="output", content=plain.output.completion), stop_reason="stop"
            )
        ],
    )
    target: Target = Target(plain.target.target)
    return TaskState(
        model=ModelName(MODEL),
        sample_id=plain.sample_id,
        epoch=1,
        input=plain.input,
        messages=[_native_message(message) for message in plain.messages],
        target=target,
        output=output,
        completed=True,
        metadata=plain.metadata,
        sample_uuid=plain.uuid,
    )


def _native_message(message: Message) -> Any:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser
    from inspect_ai.tool import ToolCall, ToolCallError

    if message.role == "assistant":
        calls = [ToolCall(call.id, call.function, call.arguments) for call in message.tool_calls or ()]
        return ChatMessageAssistant(id=message.id, content=message.content, tool_calls=calls or None)
    if message.role == "tool":
        return ChatMessageTool(
            id=message.id,
            content=message.content,
            tool_call_id=message.tool_call_id,
            function=message.function,
            error=ToolCallError(message.error.type, message.error.message) if message.error is not None else None,
        )
    made = ChatMessageSystem if message.role == "system" else ChatMessageUser
    return made(id=message.id, content=message.content)
