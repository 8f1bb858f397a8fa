"""Run any command and keep what it says: its output passes through as it comes, and stays in a log and a file."""

import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, BinaryIO, NamedTuple

from bayou.errors import UsageError

_CHUNK = 2**16
_TAIL = 20  # lines of stderr that an error repeats
_GRACE = 10.0  # seconds between asking a command to stop and stopping it
_LISTENING, _FAREWELL = 0.1, 1.0  # seconds between two looks, and for what is still in the pipes
_FORWARDED = (signal.SIGTERM, signal.SIGHUP)

NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""The exit codes of a shell for what could not be started."""


class Ended(NamedTuple):
    """How a command ended. The exit code of one that a signal ended is that of a shell: 128 and its number."""

    exit_code: int
    last_words: str
    interrupted: bool
    lost: OSError | None = None
    """Why not all of its output is where it should be."""

    @property
    def error(self) -> str:
        what = "interrupted" if self.interrupted else f"exit code {self.exit_code}"
        return f"{what}: {self.last_words}" if self.last_words else what


class Sinks(NamedTuple):
    """Where the output goes: `log` gets both streams as they come, `kept` stdout alone, the others are the user's."""

    log: BinaryIO
    kept: BinaryIO
    stdout: BinaryIO
    stderr: BinaryIO


class _Pumping(NamedTuple):
    """What the readers of both streams share."""

    turn: threading.Lock
    over: threading.Event
    """Nobody is to be given anything any more."""
    lost: list[OSError]


def run_command(command: Sequence[str], sinks: Sinks, *, environ: Mapping[str, str], cwd: Path | None = None) -> Ended:
    """Run a command to its end, whatever that is. An interrupt is the command's to answer first."""
    with _forwarding() as (forward, asked):
        try:
            process = _start(command, environ, cwd)
        except FileNotFoundError:
            return Ended(NOT_FOUND, f"there is no command {command[0]!r}", interrupted=False)
        except PermissionError:
            return Ended(NOT_EXECUTABLE, f"{command[0]!r} may not be run", interrupted=False)
        forward(process)
        ended = _watched(process, sinks, asked)
    # One that answers a request to stop with an exit code says itself how it ended.
    return ended._replace(interrupted=ended.interrupted or ended.exit_code in {128 + number for number in asked})


def _start(command: Sequence[str], environ: Mapping[str, str], cwd: Path | None) -> "subprocess.Popen[bytes]":
    if not command:
        raise UsageError("no command to run", remedy="Put it behind two dashes: bayou exec … -- terraform apply")
    return subprocess.Popen(  # noqa: S603 - to run what the user names is what this is for
        list(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(environ), cwd=cwd, bufsize=0
    )


def _watched(process: "subprocess.Popen[bytes]", sinks: Sinks, asked: list[int]) -> Ended:
    pumping = _Pumping(threading.Lock(), threading.Event(), [])
    last: deque[bytes] = deque(maxlen=_TAIL)
    kept = (sinks.stdout, sinks.kept, sinks.log)
    readers = [
        threading.Thread(target=_pump, args=(source, targets, pumping, words), daemon=True)
        for source, targets, words in (
            (process.stdout, kept, None),
            (process.stderr, (sinks.stderr, sinks.log), last),
        )
    ]
    for reader in readers:
        reader.start()
    interrupted = False
    try:
        code = process.wait()
    except KeyboardInterrupt:  # a terminal sends it to the command as well
        interrupted = True
        asked.append(signal.SIGINT)
        code = _stop(process)
    had_ended = not asked
    if not _heard_out(readers, asked):
        pumping.over.set()  # the sinks are closed soon
        if pumping.turn.acquire(timeout=_FAREWELL):  # who does not get rid of what he has is stuck in one of the user's
            pumping.turn.release()
        if had_ended:
            interrupted, code = True, -asked[-1]
    words = b"".join(last).decode(errors="replace").strip()
    return Ended(128 - code if code < 0 else code, words, interrupted, next(iter(pumping.lost), None))


def _heard_out(readers: Sequence[threading.Thread], asked: list[int]) -> bool:
    """Wait until all that a command said is read. What it left running may hold its output open for ever, so whoever
    asks us to stop meanwhile is not kept waiting for that.
    """
    until: float | None = None
    while any(reader.is_alive() for reader in readers):
        try:
            for reader in readers:
                reader.join(_LISTENING)
        except KeyboardInterrupt:
            asked.append(signal.SIGINT)
        if asked:
            until = until or time.monotonic() + _FAREWELL
            if time.monotonic() > until:
                return False
    return True


def _pump(source: IO[bytes], sinks: Sequence[BinaryIO], pumping: _Pumping, last: deque[bytes] | None) -> None:
    """Copy a stream to whoever wants it. One who has gone, or is full, does not keep the others from it, nor the
    command from going on.
    """
    gone = set[BinaryIO]()
    with source:
        while chunk := source.read(_CHUNK):
            for sink in sinks:
                if sink not in gone:
                    try:
                        with pumping.turn:
                            if pumping.over.is_set():
                                return
                            _write(sink, chunk)
                    except BrokenPipeError:
                        gone.add(sink)
                    except OSError as error:
                        gone.add(sink)
                        pumping.lost.append(error)
            if last is not None:
                last.extend(chunk.splitlines(keepends=True))


def _write(sink: BinaryIO, chunk: bytes) -> None:
    left = memoryview(chunk)
    while left:
        left = left[sink.write(left) :]  # the log has no buffer, and may take less
    sink.flush()


@contextmanager
def _forwarding() -> Iterator[tuple[Callable[["subprocess.Popen[bytes]"], None], list[int]]]:
    """Hand on what asks us to stop, so that the command can clean up and its run is still recorded. Gives what to tell
    of the command, and what asked.

    From before the command is there, or a request at the wrong moment would end us and leave the command alone.
    """
    processes: list[subprocess.Popen[bytes]] = []
    asked: list[int] = []

    def forward(number: int, _frame: FrameType | None = None) -> None:
        asked.append(number)
        for process in processes:
            with suppress(ProcessLookupError):
                process.send_signal(number)

    def to(process: "subprocess.Popen[bytes]") -> None:
        processes.append(process)
        for number in asked:
            process.send_signal(number)

    if threading.current_thread() is not threading.main_thread():
        yield to, asked
        return
    before = {number: signal.signal(number, forward) for number in _FORWARDED}
    try:
        yield to, asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(process: "subprocess.Popen[bytes]") -> int:
    """Wait for a command that was interrupted; insist after a while."""
    for insist in (process.poll, process.terminate, process.kill):
        insist()
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            return process.wait(_GRACE)
    return process.wait()


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Our environment with these variables added."""
    return {**os.environ, **variables}
