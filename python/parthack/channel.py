"""The protocol's own pair of descriptors, and keeping everything else away from them.

Whatever an evaluator prints goes to stderr, from Python and below it (C code, child processes), and it can't read the
payloads that wait on stdin.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any, BinaryIO, Optional, Tuple, cast

_STDIN, _STDOUT, _STDERR = 0, 1, 2


class _Talk(io.RawIOBase):
    """Writes to stderr's descriptor, and drops what stderr doesn't take: talk that is lost must not lose a score."""

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return _STDERR

    def write(self, data: Any) -> int:
        left = memoryview(data).cast("B")
        length = len(left)
        try:
            while left:
                left = left[os.write(_STDERR, left) :]
        except OSError:
            pass
        return length


def take() -> Tuple[BinaryIO, BinaryIO]:
    """Takes stdin and stdout for the protocol: the payloads to read and the stream for answers, both of bytes.

    After it, descriptor 1 and `sys.stdout` lead to stderr and descriptor 0 is at its end. Text that was printed before
    and not flushed goes to stderr as well.
    """
    for descriptor, fill in ((_STDIN, _end), (_STDOUT, _dead_end), (_STDERR, _dead_end)):
        if not _is_open(descriptor):
            fill(descriptor)
    answers = _moved(_STDOUT)
    if answers is not None:
        _lead(_STDERR, _STDOUT)
    _flush(sys.stdout)
    _flush(sys.stderr)
    payloads = _moved(_STDIN)
    if payloads is not None:
        _end(_STDIN)
    talk = io.TextIOWrapper(
        io.BufferedWriter(_Talk()), encoding="utf-8", errors="backslashreplace", line_buffering=True
    )
    sys.stdout = sys.stderr = talk
    return (
        open(_blocking(_STDIN if payloads is None else payloads), "rb", closefd=False),
        cast(BinaryIO, open(_blocking(_STDOUT if answers is None else answers), "wb", buffering=0, closefd=False)),
    )


def give_up_output() -> None:
    """Leads stdout nowhere, so that what is left in its buffer doesn't fail when the program ends."""
    _dead_end(_STDOUT)
    sys.stdout = io.StringIO()


def _moved(descriptor: int) -> Optional[int]:
    """A copy of the descriptor, above the standard three and closed in children; None where that is refused."""
    try:
        import fcntl

        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    except (ImportError, OSError):
        try:
            return os.dup(descriptor)
        except OSError:
            return None


def _lead(source: int, descriptor: int) -> None:
    """Makes the descriptor another name of the source."""
    try:
        os.dup2(source, descriptor)
    except OSError:
        _dead_end(descriptor)


def _dead_end(descriptor: int) -> None:
    """Makes the descriptor one that nobody reads. Left closed, the next file to be opened would get its number."""
    try:
        reader, writer = os.pipe()
        if writer != descriptor:
            os.dup2(writer, descriptor)
            os.close(writer)
        if reader != descriptor:
            os.close(reader)
    except OSError:
        _close(descriptor)


def _end(descriptor: int) -> None:
    """Makes the descriptor a stream that has ended."""
    try:
        reader, writer = os.pipe()
        if reader != descriptor:
            os.dup2(reader, descriptor)
            os.close(reader)
        if writer != descriptor:
            os.close(writer)
    except OSError:
        _close(descriptor)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _blocking(descriptor: int) -> int:
    """The descriptor, made to wait: some hosts pass pipes that don't."""
    try:
        os.set_blocking(descriptor, True)
    except (AttributeError, OSError):
        pass
    return descriptor


def _close(descriptor: int) -> None:
    try:
        os.close(descriptor)
    except OSError:
        pass


def _flush(stream: Any) -> None:
    try:
        stream.flush()
    except (AttributeError, OSError, ValueError):
        pass
