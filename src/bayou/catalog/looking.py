"""Look at many names: here while there are few, then in other processes, since most of it is work for a processor.

Those are programs of their own that are told what to do through pipes. A fork would copy the locks of whatever threads
the caller has, and `multiprocessing` starts the caller's main module again, which a script without a guard, a notebook
and a daemon do not expect.
"""

import gc
import os
import queue
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, Self, TypeVar, cast

import msgspec

from bayou.catalog import parts
from bayou.catalog.intents import key_at
from bayou.catalog.patience import patiently
from bayou.catalog.reading import Found, Known, read_name
from bayou.errors import BayouError
from bayou.tree import Tree
from bayou.tree.tiers import Tiers

if TYPE_CHECKING:
    from concurrent.futures import Future

    _Asked = tuple[list["Task"], Future["Answers"]]

_FEW = 500
_CHUNK = 100
_MOST_WORKERS = 8
_SELDOM = 100_000  # objects; a worker makes none that refer to each other in a circle


class Task(NamedTuple):
    """A name to look at, and what is known of its versions."""

    type: str
    model_id: str
    name: str
    known: dict[int, Known]
    """Nothing where all of it is to be read, be it known or new."""


class Answer(NamedTuple):
    """What was found; or what failed, and says nothing about the files."""

    found: Found | None
    failure: str | None = None
    in_part: bool = False
    """What was found is in the part that comes with it."""


class Answers(NamedTuple):
    """One for each task, and the rows of those names of which all was read."""

    each: list[Answer]
    part: bytes | None = None


class Where(NamedTuple):
    """The tree of a worker, which only reads."""

    namespace: str
    root: str
    local: str
    directories: tuple[str, ...]
    exclude: tuple[str, ...]


def look_at_all(tree: Tree, tasks: Iterable[Task]) -> Iterator[tuple[list[Task], Answers]]:
    """In the order of the tasks, of which only so many are taken ahead as keep everybody busy."""
    tasks = iter(tasks)
    first = list(islice(tasks, _FEW))
    yield first, answers(tree, first)
    ahead = list(islice(tasks, _CHUNK))
    if not ahead:
        return
    workers = _count()
    if workers < 2:
        for chunk in _chunks(ahead, tasks):
            yield chunk, answers(tree, chunk)
        return
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - 10 ms, and only for many names

    with _Crew(tree) as crew, ThreadPoolExecutor(workers) as pool:
        asked: deque[_Asked] = deque()
        try:
            for chunk in _chunks(ahead, tasks):
                asked.append((chunk, pool.submit(crew.ask, chunk)))
                if len(asked) > 2 * workers:
                    yield _next(asked)
            while asked:
                yield _next(asked)
        finally:
            pool.shutdown(cancel_futures=True)


def _next(asked: "deque[_Asked]") -> tuple[list[Task], Answers]:
    chunk, future = asked.popleft()
    return chunk, future.result()


def answers(tree: Tree, tasks: Sequence[Task]) -> Answers:
    return Answers(patiently(lambda task: _answer(tree, task), tasks))


def _with_part(namespace: str, tasks: Sequence[Task], given: Answers) -> Answers:
    whole = {
        number: (key_at(task.type, task.model_id, task.name), answer.found)
        for number, (task, answer) in enumerate(zip(tasks, given.each, strict=True))
        if not task.known and answer.found is not None
    }
    if not whole:
        return given
    each = [Answer(None, in_part=True) if number in whole else answer for number, answer in enumerate(given.each)]
    return Answers(each, parts.make(namespace, whole.values()))


def _answer(tree: Tree, task: Task) -> Answer:
    try:
        return Answer(read_name(tree, key_at(task.type, task.model_id, task.name), task.known))
    except BayouError as error:
        return Answer(None, str(error))


def _chunks(ahead: list[Task], tasks: Iterator[Task]) -> Iterator[list[Task]]:
    while ahead:
        yield ahead
        ahead = list(islice(tasks, _CHUNK))


def _count() -> int:
    if not sys.executable:
        return 0  # Python inside another program
    affinity = getattr(os, "sched_getaffinity", None)
    return min(len(affinity(0)) if affinity else os.cpu_count() or 1, _MOST_WORKERS)


class _Crew:
    """Workers, each with one chunk at a time. What one cannot do, as it does not start or was killed, is done here."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        self._all: list[_Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._all:
            worker.stop()

    def ask(self, tasks: list[Task]) -> Answers:
        try:
            worker = self._next()
            found = worker.ask(tasks)
        except (OSError, EOFError, msgspec.MsgspecError):  # it is stopped with the others
            return answers(self._tree, tasks)
        self._idle.put(worker)
        return found

    def _next(self) -> "_Worker":
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            worker = _Worker()
            self._all.append(worker)
            worker.introduce(self._tree)
            return worker


class _Worker:
    def __init__(self) -> None:
        # The package is found where it was found for us, after everything else; never in the current folder.
        code = "import sys; sys.path.append(sys.argv[1]); from bayou.catalog.looking import work; work()"
        package = str(Path(__file__).parents[2])
        self._process = subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-P", "-c", code, package],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._questions = cast(IO[bytes], self._process.stdin)
        self._answers = cast(IO[bytes], self._process.stdout)

    def introduce(self, tree: Tree) -> None:
        tiers = tree.tiers
        self._tell(
            Where(tree.namespace, str(tree.root), str(tree.local), tuple(tiers.directories), tuple(tiers.exclude))
        )

    def ask(self, tasks: list[Task]) -> Answers:
        self._tell(tasks)
        return _hear(self._answers, Answers)

    def stop(self) -> None:
        for pipe in (self._questions, self._answers):
            with suppress(OSError):
                pipe.close()
        self._process.kill()
        self._process.wait()

    def _tell(self, message: object) -> None:
        _say(self._questions, message)


def work() -> None:
    """What a worker does, until nobody is left to tell it anything."""
    gc.set_threshold(_SELDOM)
    where = _hear(sys.stdin.buffer, Where)
    tree = Tree(Path(where.root), Path(where.local), tiers=Tiers(where.directories, where.exclude))
    with suppress(EOFError, BrokenPipeError):
        while True:
            tasks = _hear(sys.stdin.buffer, list[Task])
            _say(sys.stdout.buffer, _with_part(where.namespace, tasks, answers(tree, tasks)))


_Message = TypeVar("_Message")


def _say(pipe: IO[bytes], message: object) -> None:
    content = msgspec.msgpack.encode(message)
    pipe.write(len(content).to_bytes(8, "big"))
    pipe.write(content)
    pipe.flush()


def _hear(pipe: IO[bytes], form: type[_Message]) -> _Message:
    size = pipe.read(8)
    content = pipe.read(int.from_bytes(size, "big"))
    if len(size) < 8:
        raise EOFError
    return msgspec.msgpack.decode(content, type=form)
