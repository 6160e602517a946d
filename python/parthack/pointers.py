"""JSON pointers (RFC 6901): how an evaluator cites the part of a payload that its score rests on."""

from __future__ import annotations

from typing import Any, List, Mapping, Union


class PointerError(ValueError):
    """A text that is no JSON pointer, or one that leads to nothing in a document."""


def parse(pointer: str) -> List[str]:
    """The unescaped reference tokens of a pointer; none for the whole document.

    >>> parse("/a~1b/0")
    ['a/b', '0']

    Raises `PointerError` if the text doesn't begin with `/`, or has a `~` that neither `0` nor `1` follows.
    """
    if not isinstance(pointer, str):
        raise PointerError("a JSON pointer is a string, found {}".format(type(pointer).__name__))
    if pointer == "":
        return []
    if not pointer.startswith("/"):
        raise PointerError("{}: a JSON pointer is empty or begins with /".format(_quoted(pointer)))
    return [_unescaped(token, pointer) for token in pointer[1:].split("/")]


def check(pointer: str, document: Any) -> None:
    """Raises `PointerError` unless the text is a pointer that leads to something in the document."""
    resolve(document, pointer)


def resolve(document: Any, pointer: str) -> Any:
    """The value that a pointer leads to.

    >>> resolve({"a/b": [5]}, "/a~1b/0")
    5

    Array indices have one form: digits without a leading zero. Raises `PointerError`.
    """
    value = document
    for depth, token in enumerate(parse(pointer)):
        if isinstance(value, Mapping):
            if token not in value:
                raise _missing(pointer, depth, "no key {}".format(_quoted(token)))
            value = value[token]
        elif isinstance(value, (list, tuple)):
            index = _index(token)
            if index is None or index >= len(value):
                raise _missing(pointer, depth, "no index {} in a list of {}".format(_quoted(token), len(value)))
            value = value[index]
        else:
            raise _missing(pointer, depth, "a scalar stands there")
    return value


def resolves(document: Any, pointer: str) -> bool:
    """Whether the text is a pointer that leads to something in the document."""
    try:
        resolve(document, pointer)
    except PointerError:
        return False
    return True


def escape(token: str) -> str:
    """A reference token with `~` and `/` escaped."""
    return token.replace("~", "~0").replace("/", "~1")


def join(*tokens: Union[str, int]) -> str:
    """The pointer that goes through these keys and indices.

    >>> join("terminal_state", "entities", 0, "fields", "a/b")
    '/terminal_state/entities/0/fields/a~1b'
    """
    return "".join("/" + escape(str(token)) for token in tokens)


def _unescaped(token: str, pointer: str) -> str:
    parts = token.split("~")
    for part in parts[1:]:
        if not part.startswith(("0", "1")):
            raise PointerError("{}: ~ must be written ~0, and / within a key ~1".format(_quoted(pointer)))
    return parts[0] + "".join(("~" if part[0] == "0" else "/") + part[1:] for part in parts[1:])


def _index(token: str) -> Union[int, None]:
    plain = token == "0" or not token.startswith("0")
    if token.isascii() and token.isdigit() and plain and len(token) <= 18:
        return int(token)
    return None


def _missing(pointer: str, depth: int, reason: str) -> PointerError:
    place = "/".join(pointer.split("/")[: depth + 1])
    return PointerError("{}: {} at {}".format(_quoted(pointer), reason, _quoted(place)))


def _quoted(text: str) -> str:
    return '"{}"'.format(text if len(text) <= 120 else text[:120] + "…")
