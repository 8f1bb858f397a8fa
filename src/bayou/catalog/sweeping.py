"""Sweep: compare the tables with the folders, look at what changed, take out what is gone.

Who else writes to the tree, or did so while we were away, is noticed here: another machine on a shared folder, an
existing client, a person. A build is the same with empty tables, and a rebuild with the eyes closed to them; so the
three cannot disagree, and whichever was interrupted, the next sweep goes on.
"""

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, TypeVar

import apsw

from bayou.catalog import parts
from bayou.catalog.database import Database
from bayou.catalog.intents import key_at
from bayou.catalog.looking import Task, look_at_all
from bayou.catalog.patience import patiently
from bayou.catalog.refreshing import Looked, look_within, store
from bayou.catalog.schema import count_what_is_rare, drop_indexes, make_indexes
from bayou.catalog.storing import Recalled, Storing, meta, recall, state_of
from bayou.catalog.walk import ModelFolder, ModelState, Walk
from bayou.domain.artifacts import ArtifactKey
from bayou.tree import Tree

Progress = Callable[[int, int | None], None]
"""Called now and then with how many names were looked at, and of how many, once that is known."""

_AT_ONCE = 1000
"""Names and versions in one transaction: a tenth of a second, in which nobody else can write."""
_WORTH_COUNTING = 1000  # changes, after which SQLite should know better what is rare
_SHORT_MS = 50


class Eyes(Enum):
    """What a sweep looks at."""

    CHANGED = "changed"
    """Names whose folder changed, or may change without its time telling."""
    ALL = "all"
    """Every version of every name: what nobody should change, such as the metadata of a finished version, too."""
    AFRESH = "afresh"
    """The same, and everything is read again."""


class Sweep(NamedTuple):
    """What a sweep did."""

    names: int
    """How many there are."""
    looked: int
    """At how many it looked more closely."""
    changed: int
    """How many versions came, went or became others."""
    dropped: int
    """How many names are gone."""
    failures: tuple[str, ...]
    """Names that could not be looked at; their rows are as they were."""
    seconds: float


_Result = TypeVar("_Result")
Write = Callable[[Callable[[apsw.Connection], _Result]], _Result]


class _Folder(NamedTuple):
    """What the tables say about the folder of a name, as far as it takes to see whether it changed."""

    changed_ns: int
    settled: bool


class Sweeping:
    """One sweep under way."""

    def __init__(self, database: Database, tree: Tree, write: Write[None], eyes: Eyes, progress: Progress) -> None:
        self._database = database
        self._tree = tree
        self._write = write
        self._eyes = eyes
        self._progress = progress
        self._names = self._looked = self._changed = self._dropped = 0
        self._gone: list[ArtifactKey] = []
        self._listed: dict[str, ModelState] = {}
        self._before: deque[Recalled] = deque()
        self._failures: list[str] = []

    def sweep(self) -> Sweep:
        started = time.monotonic()
        known = self._start()
        missing = set(known)
        self._look(self._tasks(known, missing))
        for path in missing:
            type_path, _, model_id = path.rpartition("/")
            self._gone += (key_at(type_path, model_id, name) for name in self._remembered(type_path, model_id))
        for first in range(0, len(self._gone), _AT_ONCE):
            self._drop(self._gone[first : first + _AT_ONCE])
        seconds = time.monotonic() - started
        self._finish(missing, seconds)
        self._progress(self._looked, self._looked)
        return Sweep(self._names, self._looked, self._changed, self._dropped, tuple(self._failures), seconds)

    def follow(self, keys: Collection[ArtifactKey]) -> Sweep:
        """Look at these names and no others: somebody knows that no more have changed."""
        started = time.monotonic()
        self._names = len(keys)
        self._look(self._named(keys))
        self._progress(self._looked, self._looked)
        return Sweep(self._names, self._looked, self._changed, 0, tuple(self._failures), time.monotonic() - started)

    def _look(self, tasks: Iterable[Task]) -> None:
        batch: list[Looked] = []
        versions = 0
        for asked, answers in look_at_all(self._tree, tasks):
            seen = [(task, answer, self._before.popleft()) for task, answer in zip(asked, answers.each, strict=True)]
            for task, answer, before in seen:
                if answer.failure is not None:
                    self._failures.append(answer.failure)
                    self._listed.pop(f"{task.type}/{task.model_id}", None)  # to be listed again
                    continue
                self._looked += 1
                if answer.in_part:
                    continue
                looked = Looked(_key(task), before, answer.found)
                if not looked.is_nothing_new:
                    batch.append(looked)
                    versions += 1 + (len(answer.found.read) if answer.found else 0)
                if versions >= _AT_ONCE:
                    self._store(batch)
                    batch, versions = [], 0
            if answers.part is not None:
                self._take_over(answers.part, [(_key(task), before) for task, answer, before in seen if answer.in_part])
        self._store(batch)

    def _named(self, keys: Iterable[ArtifactKey]) -> Iterator[Task]:
        for key in keys:
            before = self._recall(key)
            self._before.append(before)
            yield Task(*_told(key), before.known)

    def _start(self) -> dict[str, ModelState]:
        with self._database.reading() as connection:
            # Rows that somebody stores from here on are newer than what we see.
            self._sequence = meta(connection, "sequence")
            is_new = connection.execute("SELECT 1 FROM artifact LIMIT 1").fetchone() is None
            known = {
                path: ModelState(changed_ns, bool(settled), bool(has_numbers))
                for path, changed_ns, settled, has_numbers in connection.execute("SELECT * FROM model")
            }
        if is_new:
            # Faster to make at the end than to keep; whoever else builds meanwhile only takes longer.
            self._write(drop_indexes)
        return known

    def _tasks(self, known: Mapping[str, ModelState], missing: set[str]) -> Iterator[Task]:
        walk = Walk(self._tree, known if self._eyes is Eyes.CHANGED else {})
        for folder in walk:
            missing.discard(folder.path)
            for key, before in self._changed_in(walk, folder):
                self._before.append(before)
                of_versions = {} if self._eyes is Eyes.AFRESH else before.known
                yield Task(*_told(key), of_versions)

    def _changed_in(self, walk: Walk, folder: ModelFolder) -> Iterator[tuple[ArtifactKey, Recalled]]:
        with self._database.reading() as connection:
            drops = meta(connection, "drops")
        model = folder.model
        remembered = self._remembered(model.type.normalised, model.id)
        if folder.names is None:
            names: Sequence[str] = tuple(remembered)
        else:
            names = folder.names
            self._listed[folder.path] = folder.state
            self._gone += (ArtifactKey(model, name) for name in remembered.keys() - set(names))
        self._names += len(names)

        def is_changed(name: str) -> bool:
            known = remembered.get(name)
            if known is None or not known.settled or self._eyes is not Eyes.CHANGED:
                return True
            return walk.changed_ns(f"{folder.path}/{name}") != known.changed_ns

        for name, changed in zip(names, patiently(is_changed, names), strict=True):
            if changed:
                key = ArtifactKey(model, name)
                yield key, self._recall(key) if name in remembered else Recalled(None, {}, drops)

    def _recall(self, key: ArtifactKey) -> Recalled:
        with self._database.reading() as connection:
            return recall(connection, self._tree.namespace, key)

    def _remembered(self, type_path: str, model_id: str) -> dict[str, _Folder]:
        with self._database.reading() as connection:
            found = connection.execute(
                "SELECT name, changed_ns, settled FROM name WHERE namespace = ? AND type = ? AND model_id = ?",
                (self._tree.namespace, type_path, model_id),
            )
            return {name: _Folder(changed, bool(settled)) for name, changed, settled in found}

    def _store(self, batch: Sequence[Looked]) -> None:
        def work(connection: apsw.Connection) -> None:
            self._changed += store(connection, self._tree, batch)

        if batch:
            self._write(work)
            self._progress(self._looked, None)

    def _take_over(self, part: bytes, names: Sequence[tuple[ArtifactKey, Recalled]]) -> None:
        def work(connection: apsw.Connection) -> None:
            changed, late = parts.take_over(connection, self._tree.namespace, names)
            again = [look_within(connection, self._tree, key) for key in late]
            self._changed += changed + (store(connection, self._tree, again) if again else 0)

        with self._database.beside(parts.PART, part):
            self._write(work)
        self._progress(self._looked, None)

    def _drop(self, keys: Sequence[ArtifactKey]) -> None:
        def work(connection: apsw.Connection) -> None:
            storing = Storing(connection, self._tree.namespace)
            for key in keys:
                state = state_of(connection, self._tree.namespace, key)
                if state is not None and state.sequence <= self._sequence:
                    storing.drop(state)
                    self._dropped += 1
            self._changed += storing.changed

        self._write(work)

    def _finish(self, missing: Iterable[str], seconds: float) -> None:
        """Models are known only now, when all names in them are: an interrupted sweep lists them again."""

        def work(connection: apsw.Connection) -> None:
            connection.executemany("DELETE FROM model WHERE path = ?", ((path,) for path in missing))
            states = ((path, *map(int, state)) for path, state in self._listed.items())
            connection.executemany("INSERT OR REPLACE INTO model VALUES(?, ?, ?, ?)", states)
            for key, value in (("swept_ms", int(time.time() * 1000)), ("sweep_ms", int(seconds * 1000))):
                connection.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))
            make_indexes(connection)

        self._write(work)
        if self._changed > max(_WORTH_COUNTING, self._names / 10):
            self._write(count_what_is_rare)


def _told(key: ArtifactKey) -> tuple[str, str, str]:
    return key.model.type.normalised, key.model.id, key.name


def _key(task: Task) -> ArtifactKey:
    return key_at(task.type, task.model_id, task.name)


def is_due(database: Database) -> bool:
    """Whether a sweep is worth its time: always where it is short, else at most for a twentieth of all time."""
    with database.reading() as connection:
        at, took = meta(connection, "swept_ms"), meta(connection, "sweep_ms")
    since = int(time.time() * 1000) - at
    return at == 0 or took < _SHORT_MS or since >= 19 * took or since < 0
