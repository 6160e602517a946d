"""What an evaluator may say of a payload, and the answer line that the protocol makes of it."""

from __future__ import annotations

import json
import math
import os
import sys
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from . import pointers

MAX_ANSWER_BYTES = 256 << 10
"""Bytes of the longest line that the protocol carries, where the host's hello says nothing else."""

MAX_DETAIL_BYTES = 64 << 10
"""Bytes of the longest detail; a longer one is left out, and the score stays."""

MAX_REASON_CHARACTERS = 2000
"""A longer reason is cut."""

_MAX_RATIO = (1 << 32) - 1

_has_noted = False

Answer = Dict[str, Any]
"""One answer of the protocol: `score` (and maybe `exact`, `detail`, `cites`), or `no_verdict`."""


class NoVerdict(Exception):
    """There is no score, and why. Return it or raise it; it never counts as 0."""

    def __init__(self, reason: str = "the evaluator gave no verdict", detail: Any = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail

    def __repr__(self) -> str:
        return "NoVerdict({!r})".format(self.reason)


class Score:
    """A score in [0, 1] with what it rests on.

    `value` is an int, float, bool, Fraction or Decimal. `detail` is any JSON value; it is kept beside the score and not
    read. `cites` are JSON pointers into the payload (see `parthack.pointers`); each must lead to something.
    """

    __slots__ = ("value", "detail", "cites")

    def __init__(self, value: Any, detail: Any = None, cites: Sequence[str] = ()) -> None:
        self.value = value
        self.detail = detail
        self.cites = cites

    def __repr__(self) -> str:
        return "Score({!r}, detail={!r}, cites={!r})".format(self.value, self.detail, self.cites)


class Refused(Exception):
    """A result that is no verdict: out of range, of a wrong type, with a citation that leads nowhere."""


def answer_of(result: Any, payload: Mapping[str, Any]) -> Answer:
    """The answer for what an evaluator function returned. Never raises: what is refused is no verdict, with the reason."""
    try:
        return _answer(result, payload)
    except Refused as refused:
        return no_verdict(str(refused))


def no_verdict(reason: str, detail: Any = None) -> Answer:
    """The answer that there is no score."""
    text = reason if isinstance(reason, str) else shown(reason)
    if len(text) > MAX_REASON_CHARACTERS:
        text = text[:MAX_REASON_CHARACTERS] + "…"
    answer: Answer = {"no_verdict": text}
    if detail is not None:
        answer["detail"] = detail
    return answer


def failed(error: BaseException) -> Answer:
    """The answer for a function that raised: the error's type and message."""
    try:
        message = str(error)
    except Exception:  # An error whose own text fails is still an answer.
        message = "(its message could not be made)"
    name = type(error).__name__
    return no_verdict("{}: {}".format(name, message) if message else name)


def line_of(answer: Answer) -> bytes:
    """The answer as one line of UTF-8, with its line feed. A detail that is too long is left out."""
    try:
        line = _encoded(_without_long_detail(answer))
    except (TypeError, ValueError, RecursionError) as error:
        line = _encoded(no_verdict("detail is not JSON: {}".format(error)))
    most = longest_answer()
    if len(line) > most:
        line = _encoded(no_verdict("the answer has {} bytes, more than {}".format(len(line), most)))
    return line


def longest_answer() -> int:
    """Bytes of the longest line that the host takes: `max_answer_bytes` of its hello, which stands in `PARTHACK_HELLO`."""
    try:
        most = json.loads(os.environ.get("PARTHACK_HELLO", ""))["max_answer_bytes"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return MAX_ANSWER_BYTES
    is_number = isinstance(most, int) and not isinstance(most, bool)
    return most if is_number and most > 0 else MAX_ANSWER_BYTES


def _without_long_detail(answer: Answer) -> Answer:
    if "detail" not in answer:
        return answer
    length = len(_encoded(answer["detail"])) - 1
    if length <= MAX_DETAIL_BYTES:
        return answer
    global _has_noted
    if not _has_noted:
        _has_noted = True
        text = "note: a detail of {} bytes was left out, as is any beyond {}"
        print(text.format(length, MAX_DETAIL_BYTES), file=sys.stderr)
    return {key: value for key, value in answer.items() if key != "detail"}


def shown(value: Any) -> str:
    """A value as an error names it: short, whatever the value is."""
    try:
        text = repr(value)
    except Exception:  # Also an integer with too many digits to be written.
        return "a {}".format(type(value).__name__)
    return text if len(text) <= 80 else text[:80] + "…"


def _encoded(answer: Any) -> bytes:
    text = json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A lone surrogate has no UTF-8; it becomes a question mark.
    return text.encode("utf-8", "replace") + b"\n"


def _answer(result: Any, payload: Mapping[str, Any]) -> Answer:
    if result is None:
        return no_verdict("the evaluator returned None")
    if isinstance(result, NoVerdict):
        return no_verdict(result.reason, result.detail)
    detail: Any = None
    cites: List[str] = []
    if isinstance(result, Score):
        detail, cites = result.detail, _cites(result.cites, payload)
        result = result.value
    value, exact = _unit(result)
    answer: Answer = {"score": value}
    if exact is not None:
        answer["exact"] = exact
    if detail is not None:
        answer["detail"] = detail
    if cites:
        answer["cites"] = cites
    return answer


def _unit(value: Any) -> Tuple[float, Optional[str]]:
    """The score as the nearest double, and as a ratio in lowest terms where it is exact."""
    value = _plain(value)
    if isinstance(value, Decimal) and not value.is_finite() or isinstance(value, float) and not math.isfinite(value):
        raise Refused("the score is {}; expected a number in [0, 1]".format(value))
    if not 0 <= value <= 1:
        raise Refused("the score {} is outside [0, 1]".format(shown(value)))
    if isinstance(value, float):
        return value + 0.0, None  # Adding zero turns -0.0 into 0.0.
    if isinstance(value, Decimal) and value and value.adjusted() < -400:
        return float(value), None  # Below every double, and a ratio with a denominator of that many digits.
    ratio = Fraction(value)
    exact = str(ratio) if ratio.denominator <= _MAX_RATIO else None
    return float(ratio), exact


def _plain(value: Any) -> Any:
    """A bool, int, Fraction, Decimal or float for anything that is a real number, also one of numpy or torch."""
    if isinstance(value, (bool, int, Fraction, Decimal)):
        return value
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Real):
        return float(value)
    item = getattr(value, "item", None)
    if callable(item):
        try:
            scalar = item()
        except Exception as error:
            raise Refused("the score is {}, which is not one number: {}".format(shown(value), error)) from error
        if isinstance(scalar, (bool, int, float)):
            return scalar
    raise Refused(
        "the evaluator returned {} ({}); expected a number in [0, 1], Score, NoVerdict or None".format(
            type(value).__name__, shown(value)
        )
    )


def _cites(cites: Any, payload: Mapping[str, Any]) -> List[str]:
    if isinstance(cites, (str, bytes)) or not hasattr(cites, "__iter__"):
        raise Refused("cites: expected a list of JSON pointers, found {}".format(shown(cites)))
    found = list(cites)
    for index, cite in enumerate(found):
        try:
            pointers.check(cite, payload)
        except pointers.PointerError as error:
            raise Refused("cites[{}]: {}".format(index, error)) from error
        if cite == "":
            raise Refused("cites[{}]: the empty pointer is the whole payload; cite a part of it".format(index))
    return found
