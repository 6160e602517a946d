"""The protocol `parthack.evaluator/1` from the evaluator's side: a hello line, then an answer line for each payload line."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, BinaryIO, List, Optional, Sequence, Union

from . import channel
from .declaration import DeclarationError, Evaluator, Function, the_evaluator
from .verdict import Answer, line_of, no_verdict

EXIT_NO_VERDICT = 1
EXIT_USAGE = 2
EXIT_INPUT = 3
EXIT_INTERRUPTED = 130


class PayloadError(ValueError):
    """A file or line that holds no payload."""


def serve(function: Optional[Union[Evaluator, Function]] = None) -> None:
    """Serves the evaluator given, or the only one declared: reads a payload a line on stdin, answers a line on stdout.

    Returns when stdin ends or the host stops reading; Ctrl-C exits with 130. With `--payload FILE` among the program's
    arguments it scores that file instead, prints the answer and exits: 0 with a score, 1 without, 3 if the file holds no
    payload. Raises `DeclarationError` if there is not exactly one evaluator.
    """
    served = the_evaluator(function)
    try:
        path = _payload_argument(sys.argv[1:])
        if path is not None:
            raise SystemExit(_score_and_print(served, path))
        payloads, answers = channel.take()
        answer_lines(served, payloads, answers)
    except KeyboardInterrupt:
        raise SystemExit(EXIT_INTERRUPTED) from None


def answer_lines(served: Evaluator, payloads: BinaryIO, answers: BinaryIO) -> None:
    """The protocol over any two streams. Returns when the payloads end, or when nobody reads the answers."""
    if not _written(answers, line_of(served.hello())):
        return
    for line in payloads:
        if not line.strip() or _is_hello(line):
            continue
        if not _written(answers, line_of(answer_line(served, line))):
            return


def answer_line(served: Evaluator, line: bytes) -> Answer:
    """The answer for one line of input."""
    try:
        payload = payload_of(line)
    except PayloadError as error:
        return no_verdict(str(error))
    return served.answer(payload)


def payload_of(text: bytes) -> Any:
    """The JSON object in these bytes. Raises `PayloadError`."""
    try:
        payload = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors.
        raise PayloadError("the payload is not JSON: {}".format(error)) from error
    if not isinstance(payload, dict):
        raise PayloadError("the payload is not a JSON object but {}".format(type(payload).__name__))
    return payload


def score_file(path: Union[str, "os.PathLike[str]"], function: Optional[Union[Evaluator, Function]] = None) -> Answer:
    """Scores the payload in a file (`-`: stdin) with the evaluator given, or the only one declared; prints and returns
    the answer.

    Raises `PayloadError` for a file that can't be read or holds no payload, and `DeclarationError`.
    """
    answer = _score(the_evaluator(function), path)
    _print(answer)
    return answer


def _score(served: Evaluator, path: Union[str, "os.PathLike[str]"]) -> Answer:
    name = os.fspath(path)
    try:
        if name == "-":
            text = sys.stdin.buffer.read()
        else:
            with open(name, "rb") as file:
                text = file.read()
        payload = payload_of(text)
    except OSError as error:
        raise PayloadError("{}: {}".format(name, error.strerror or error)) from error
    except PayloadError as error:
        raise PayloadError("{}: {}".format(name, error)) from error
    output, sys.stdout = sys.stdout, sys.stderr
    try:
        return served.answer(payload)
    finally:
        sys.stdout = output


def _score_and_print(served: Evaluator, path: str) -> int:
    try:
        answer = _score(served, path)
    except PayloadError as error:
        print("error: {}".format(error), file=sys.stderr)
        print("hint: parthack replay CANDIDATE --format payload prints one", file=sys.stderr)
        return EXIT_INPUT
    _print(answer)
    return EXIT_NO_VERDICT if "no_verdict" in answer else 0


def _print(answer: Answer) -> None:
    text = line_of(answer)
    buffer = getattr(sys.stdout, "buffer", None)
    try:
        if buffer is None:
            sys.stdout.write(text.decode("utf-8"))
        else:
            sys.stdout.flush()
            buffer.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        channel.give_up_output()


def _payload_argument(arguments: Sequence[str]) -> Optional[str]:
    """The value of `--payload`. Every other argument is the program's own."""
    found: List[str] = []
    for index, argument in enumerate(arguments):
        if argument.startswith("--payload="):
            found.append(argument[len("--payload=") :])
        elif argument == "--payload":
            found.extend(arguments[index + 1 : index + 2] or [""])
    if found and (len(found) > 1 or not found[0]):
        print("error: --payload takes one file, once", file=sys.stderr)
        raise SystemExit(EXIT_USAGE)
    return found[0] if found else None


def _is_hello(line: bytes) -> bool:
    """Whether the line is the host's hello: an object with `protocol`, which no payload has."""
    if b'"protocol"' not in line[:4096]:
        return False
    try:
        hello = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return False
    return isinstance(hello, dict) and "protocol" in hello


def _written(answers: BinaryIO, line: bytes) -> bool:
    """Writes the line to an unbuffered stream. False if nobody reads it any more."""
    left = memoryview(line)
    try:
        while left:
            left = left[answers.write(left) :]
    except BrokenPipeError:
        return False
    return True


__all__ = ["DeclarationError", "PayloadError", "answer_line", "answer_lines", "payload_of", "score_file", "serve"]
