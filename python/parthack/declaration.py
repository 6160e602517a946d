"""Declaring an evaluator: the decorator, what it makes, and which one a program has declared."""

from __future__ import annotations

import re
import sys
from typing import Any, Callable, Dict, List, Mapping, Optional, Union, cast, overload

from .payload import Payload
from .verdict import Answer, NoVerdict, answer_of, failed, no_verdict, shown
from .waiting import finished, is_awaitable

Function = Callable[[Any], Any]
"""A function of the payload that returns a score, None, `NoVerdict` or `Score`; it may be `async`."""

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}\Z")

_declared: List["Evaluator"] = []


class DeclarationError(ValueError):
    """An evaluator that is declared wrongly, or not exactly one where one is needed."""


class Evaluator:
    """An evaluator function with the name, version and determinism that it tells its host. Calling it calls the function."""

    def __init__(self, function: Function, name: Optional[str], version: str, deterministic: bool) -> None:
        if isinstance(function, type) or not callable(function):
            raise DeclarationError("an evaluator is a function of the payload, found {}".format(shown(function)))
        if name is None:
            name = _name_of(function)
        elif not isinstance(name, str) or not _IDENTIFIER.match(name):
            raise DeclarationError(
                "name: expected 1 to 64 letters, digits and . _ : -, the first a letter or digit, found {}".format(
                    shown(name)
                )
            )
        if not isinstance(version, str):
            raise DeclarationError("version: expected a string, found {}".format(shown(version)))
        if not isinstance(deterministic, bool):
            raise DeclarationError("deterministic: expected True or False, found {}".format(shown(deterministic)))
        self.function = function
        self.name = name
        self.version = version
        self.deterministic = deterministic
        self.takes_view = _takes_view(function)
        self.__doc__ = function.__doc__
        self.__module__ = getattr(function, "__module__", None) or type(self).__module__

    def __call__(self, payload: Any) -> Any:
        return self.function(payload)

    def __repr__(self) -> str:
        return "<evaluator {}>".format(self.name)

    def answer(self, payload: Mapping[str, Any]) -> Answer:
        """The protocol's answer for one payload. An error of the function is an answer too; its traceback goes to stderr.

        Only `KeyboardInterrupt` comes through.
        """
        if not isinstance(payload, Mapping):
            return no_verdict("a payload is a JSON object, found {}".format(type(payload).__name__))
        plain = dict(payload) if isinstance(payload, Payload) else payload
        try:
            result = self.function(Payload(plain) if self.takes_view else plain)
            if is_awaitable(result):
                result = finished(result)
            return answer_of(result, plain)
        except KeyboardInterrupt:
            raise
        except NoVerdict as reason:
            return no_verdict(reason.reason, reason.detail)
        except BaseException as error:  # Also sys.exit(): whatever the function does, the host gets its answer.
            _print_traceback(error)
            return failed(error)

    def hello(self) -> Dict[str, Any]:
        """What the evaluator tells its host first."""
        return {
            "protocol": "parthack.evaluator/1",
            "name": self.name,
            "version": self.version,
            "deterministic": self.deterministic,
        }


@overload
def evaluator(function: Function, /) -> Evaluator: ...


@overload
def evaluator(
    *, name: Optional[str] = None, version: str = "0", deterministic: bool = True
) -> Callable[[Function], Evaluator]: ...


def evaluator(
    function: Optional[Function] = None,
    /,
    *,
    name: Optional[str] = None,
    version: str = "0",
    deterministic: bool = True,
) -> Union[Evaluator, Callable[[Function], Evaluator]]:
    """Declares a function of the payload as this program's evaluator.

    As `@evaluator`, or with any of: `name` (default: the function's), `version` (any text; say a new one when scores
    change), `deterministic` (that the same payload gets the same score; the host measures it all the same).
    Raises `DeclarationError` for a name, version or function that is none.
    """

    def declare(function: Function) -> Evaluator:
        made = Evaluator(function, name, version, deterministic)
        _declared.append(made)
        return made

    return declare if function is None else declare(function)


def the_evaluator(function: Optional[Union[Evaluator, Function]] = None) -> Evaluator:
    """The evaluator given, or the only one declared. Raises `DeclarationError` if there is none, or more than one."""
    if isinstance(function, Evaluator):
        return function
    if function is not None:
        return Evaluator(function, None, "0", True)
    if not _declared:
        raise DeclarationError(
            "no evaluator is declared: put @evaluator above a function of the payload, or call serve(function)"
        )
    if len(_declared) > 1:
        names = ", ".join("{} ({})".format(made.name, made.__module__) for made in _declared)
        raise DeclarationError(
            "{} evaluators are declared: {}; name the one to serve: serve(function)".format(len(_declared), names)
        )
    return _declared[0]


def _name_of(function: Function) -> str:
    """The function's name in the alphabet of identifiers."""
    inner = getattr(function, "func", function)  # A functools.partial has its function's name.
    name = getattr(inner, "__name__", None) or type(inner).__name__
    name = re.sub(r"[^A-Za-z0-9.:-]+", "-", name).strip("-.:")[:64]
    return name or "evaluator"


def _takes_view(function: Function) -> bool:
    """Whether a parameter is annotated with `Payload`, as the class or as its name."""
    inner = getattr(function, "func", function)
    for owner in (inner, getattr(type(inner), "__call__", None)):
        try:
            annotations = dict(getattr(owner, "__annotations__", None) or {})
        except Exception:  # Annotations that are evaluated late may name what doesn't exist.
            continue
        annotations.pop("return", None)
        names = cast(Dict[str, Any], getattr(owner, "__globals__", {}))
        if any(_is_view(annotation, names) for annotation in annotations.values()):
            return True
    return False


def _is_view(annotation: Any, names: Mapping[str, Any]) -> bool:
    if not isinstance(annotation, str):
        return annotation is Payload
    first, *rest = annotation.strip("'\" ").split(".")
    if first not in names:  # Imported within a function, or for type checkers alone.
        return (rest or [first])[-1] == Payload.__name__
    found = names[first]
    for attribute in rest:
        found = getattr(found, attribute, None)
    return found is Payload


def _print_traceback(error: BaseException) -> None:
    import traceback  # Late: most evaluators never need it, and start-up counts.

    try:
        inner = error.__traceback__.tb_next if error.__traceback__ is not None else None
        traceback.print_exception(type(error), error, inner or error.__traceback__, file=sys.stderr)
    except Exception:  # stderr may be closed; the answer tells the error anyway.
        return
