"""Running a coroutine to its end, also where the sandbox refuses the sockets that asyncio's event loop is made with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    import asyncio

_loop: Optional["asyncio.AbstractEventLoop"] = None


def is_awaitable(value: Any) -> bool:
    """Whether an `async` function returned it."""
    return hasattr(type(value), "__await__")


def finished(awaitable: Any) -> Any:
    """What an awaitable gives in the end. One event loop serves the whole process, as clients kept by a function expect."""
    return _the_loop().run_until_complete(_awaited(awaitable))


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


def _the_loop() -> "asyncio.AbstractEventLoop":
    global _loop
    if _loop is None or _loop.is_closed():
        import atexit

        _loop = _new_loop()
        atexit.register(_loop.close)
    return _loop


def _new_loop() -> "asyncio.AbstractEventLoop":
    import asyncio  # Late: it is slow to import, and most evaluators are plain functions.

    # The usual loop is woken through a socket pair and waits in a selector. Without them there is nothing to wait for but
    # time and threads, and a loop that knows these two is enough.
    return asyncio.new_event_loop() if _has_sockets() else _loop_without_sockets()


def _has_sockets() -> bool:
    import selectors
    import socket

    try:
        for end in socket.socketpair():
            end.close()
        selectors.DefaultSelector().close()
    except OSError:
        return False
    return True


def _loop_without_sockets() -> "asyncio.AbstractEventLoop":
    import asyncio
    import threading
    from typing import List

    class TimeAndThreads:
        """Stands where the loop's selector stands."""

        def __init__(self) -> None:
            self.woken = threading.Event()

        def select(self, timeout: Optional[float] = None) -> List[Any]:
            if timeout is None and threading.active_count() == 1 and not self.woken.is_set():
                raise RuntimeError("the evaluator waits for something that can't come: this sandbox has no sockets")
            self.woken.wait(timeout)
            self.woken.clear()
            return []

    class LoopWithoutSockets(asyncio.BaseEventLoop):
        """An event loop for coroutines that need no input or output of their own."""

        def __init__(self) -> None:
            super().__init__()
            self._selector = TimeAndThreads()

        def _process_events(self, event_list: List[Any]) -> None:
            """Nothing ever comes from the selector."""

        def _write_to_self(self) -> None:
            self._selector.woken.set()

    return LoopWithoutSockets()
