"""The heart: a thread with an event loop of its own, where leases are taken and kept alive.

So they outlive whatever the caller's thread is busy with, and one mechanism serves callers with and without a loop. A
child process inherits no thread, and so none of this: what it does with a lease of its parent is nothing.
"""

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_GRACE = 10.0  # seconds that the end of a call, or of the process, waits for what it began


class Heart:
    def __init__(self) -> None:
        self._pid = os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    @property
    def is_ours(self) -> bool:
        """False in a child process."""
        return os.getpid() == self._pid

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in there and wait for it, in a thread that has no loop. An interrupt ends it first."""
        call = _Call(work, self._running())
        try:
            return call.done.result()
        except BaseException:
            call.cancel(_GRACE)
            raise

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        """The same from a coroutine of any loop."""
        call = _Call(work, self._running())
        try:
            return await asyncio.wrap_future(call.done)
        except asyncio.CancelledError:
            await asyncio.to_thread(call.cancel, _GRACE)
            raise

    def stop(self) -> None:
        """End the thread, with all that still runs in it."""
        loop, self._loop = self._loop, None
        if loop is not None and self._thread is not None and self.is_ours:
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join(_GRACE)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None or not self.is_ours:
                self._pid = os.getpid()
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_beat, args=(self._loop,), name="bayou-locks", daemon=True)
                self._thread.start()
            return self._loop


class _Call(Generic[T]):
    """A coroutine on its way through another thread's loop. `done` tells when it has really ended."""

    def __init__(self, work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> None:
        self.done: Future[T] = Future()
        self.done.set_running_or_notify_cancel()  # from here on nobody can cancel it
        self._work = work
        self._loop = loop
        self._task: asyncio.Task[T] | None = None
        loop.call_soon_threadsafe(self._start)

    def cancel(self, seconds: float) -> None:
        """Ask it to end, and wait until it has."""
        if not self.done.done():
            self._loop.call_soon_threadsafe(self._cancel)
            ended = threading.Event()
            self.done.add_done_callback(lambda _: ended.set())
            ended.wait(seconds)

    def _start(self) -> None:
        self._task = self._loop.create_task(self._work)
        self._task.add_done_callback(self._finish)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _finish(self, task: asyncio.Task[T]) -> None:
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is not None:
            self.done.set_exception(error)
        else:
            self.done.set_result(task.result())


def _beat(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()
