"""The catalog: one SQLite file that knows what is in a tree. A cache: the files are the truth, and it follows them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import apsw

from bayou.catalog import questions
from bayou.catalog.database import Database
from bayou.catalog.export import Rejected, export, replace_namespace
from bayou.catalog.failures import DAMAGED, translated
from bayou.catalog.intents import Settling, forget, intend, left_behind
from bayou.catalog.opening import Notice, open_database, set_aside
from bayou.catalog.parquet import export_parquet
from bayou.catalog.reading import Problem, changed_ns, rows_in_files
from bayou.catalog.refreshing import Begun, add, begin, look_at, look_at_written, look_within, store
from bayou.catalog.rows import STORED, Row, Value, row_key, row_of
from bayou.catalog.storing import NameState, bind, is_bound, position, set_position, state_of
from bayou.catalog.sweeping import Eyes, Progress, Sweep, Sweeping, is_due
from bayou.domain.artifacts import ArtifactKey
from bayou.domain.namespaces import check_namespace
from bayou.errors import Corrupt, Denied, Unavailable, UsageError
from bayou.tree import Tree

_Result = TypeVar("_Result")

News = Callable[[str | None], tuple[str, Collection[ArtifactKey] | None]]
"""Which names somebody else changed since a position in his log, and the position that this reaches. None: he does not
know any more.
"""


class Catalog:
    """Use it as a context manager, or close it. Several threads and processes may share one file."""

    def __init__(self, path: Path, tree: Tree, notice: Notice, news: News | None = None) -> None:
        self._path = path
        self._tree = tree
        self._notice = notice
        self._news = news
        self._said: set[str] = set()
        self._database = open_database(path, self._say)

    @classmethod
    def open(cls, path: Path, tree: Tree, *, notice: Notice = lambda _: None, news: News | None = None) -> Self:
        """Open the catalog of a tree, or create it. What a process that died was writing is looked at again."""
        catalog = cls(path, tree, notice, news)
        with catalog._forgiving():
            catalog._bind()
            catalog.replay()
        return catalog

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def changing(self, *keys: ArtifactKey) -> Iterator[Settling]:
        """Around every change of the files of these names: their rows are in step afterwards, however it ends.

        A catalog that cannot be written fails no change of files: a later sweep sees from them what it missed.
        """
        settling = Settling()
        intents, begun = self._begin(dict.fromkeys(keys))
        try:
            yield settling
        except BaseException:
            self._settle(intents, begun, Settling())
            raise
        self._settle(intents, begun, settling)

    def refresh(self, key: ArtifactKey) -> None:
        """Make the rows of a name equal to its files."""
        looked = look_at(self._database, self._tree, key)
        self._write(lambda connection: store(connection, self._tree, [looked]))

    def replay(self) -> None:
        """Refresh the names that processes which are gone were about to change."""
        left = self._read(_left_behind)
        if left:
            looked = [look_at(self._database, self._tree, key) for key in dict.fromkeys(left.values())]

            def work(connection: apsw.Connection) -> None:
                store(connection, self._tree, looked)
                forget(connection, left)

            self._write(work)

    def sweep(self, progress: Progress | None = None, *, thorough: bool = False) -> Sweep:
        """Compare with the folders of all names, and look at those that changed; `thorough`: at every version of all.

        A finished version never changes, so that a look at its folder says enough; thoroughly, the metadata of each is
        asked for its time, and its content whether it is there.
        """
        return self._sweep(Eyes.ALL if thorough else Eyes.CHANGED, progress)

    def rebuild(self, progress: Progress | None = None) -> Sweep:
        """Read everything again. Whoever asks meanwhile sees the old rows or the new ones of a name, never none; and
        where it is interrupted, what was read is new and the rest as before.
        """
        if not self._read(questions.is_sound):
            self._replace(self._database)
        return self._sweep(Eyes.AFRESH, progress)

    def current(self, progress: Progress | None = None) -> None:
        """Before a question: build what was never built, and sweep as often as it is worth it.

        Where the catalog cannot be written the question is answered with what it has, and a notice says so.
        """
        with self._forgiving():
            self.replay()
            self.catch_up(progress)
            if self._read(is_due):
                self.sweep(progress)

    def catch_up(self, progress: Progress | None = None) -> None:
        """Look at the names that a sync changed since the last time; where its log ends, at every version of all."""
        if self._news is None:
            return
        reached, keys = self._news(self._read(_position))
        if keys is not None and not keys:
            return
        done = self.sweep(progress, thorough=True) if keys is None else self._follow(keys, progress)
        if not done.failures:
            self._write(lambda connection: set_position(connection, reached))

    def latest(self, namespace: str, model: str, name: str) -> list[Row]:
        """The latest versions of a name, one for each chain of writers; the model goes by its name or its id.

        One look at the folder of each makes sure that nobody else has written since.
        """
        found = self._read(lambda database: questions.latest(database, namespace, model, name))
        if namespace != self._tree.namespace:
            return [row for row, _ in found]
        stale = {row_key(row) for row, changed in found if not self._is_in_step(row, changed)}
        if not found:
            candidates = self._read(lambda database: questions.models(database, namespace, model))
            stale = {key for one in candidates if changed_ns(self._tree, key := ArtifactKey(one, name))}
        if not stale:
            return [row for row, _ in found]
        if self._refreshed(*stale):
            return [row for row, _ in self._read(lambda database: questions.latest(database, namespace, model, name))]
        now = (row for key in stale for row in rows_in_files(self._tree, key) if row.is_latest)
        in_step = [row for row, _ in found if row_key(row) not in stale]
        return [*in_step, *(row for row in now if model in {row.model.id, row.model.name})]

    def versions(self, key: ArtifactKey, number: int | None = None) -> list[Row]:
        """The versions of a name, newest first, or the one of this number, as the files have them now."""

        def stored() -> list[tuple[Row, int]]:
            return self._read(lambda database: questions.versions(database, self._tree.namespace, key, number))

        if number is not None and (found := stored()) and self._is_in_step(*found[0]):
            return [row for row, _ in found]
        if self._refreshed(key):
            return [row for row, _ in stored()]
        return [row for row in rows_in_files(self._tree, key) if number in {None, row.artifact.version}]

    def select(
        self,
        condition: str = "1",
        parameters: Sequence[Value] = (),
        *,
        columns: Sequence[str] = STORED,
        order_by: str | None = None,
        limit: int | None = None,
    ) -> Iterator[tuple[Any, ...]]:
        """Go through what is in the table `artifact`, all as of one moment. These are parts of an SQL statement: values
        from outside belong into `parameters`.
        """
        return self._stream(questions.statement(condition, columns, order_by, limit), parameters)

    def rows(
        self,
        condition: str = "1",
        parameters: Sequence[Value] = (),
        *,
        order_by: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Row]:
        return map(row_of, self.select(condition, parameters, order_by=order_by, limit=limit))

    def count(self, condition: str = "1", parameters: Sequence[Value] = ()) -> int:
        ((number,),) = self.select(condition, parameters, columns=("count(*)",))
        return int(number)

    def distinct(self, column: str) -> list[str]:
        """The values of a column, sorted, without the empty one."""
        return self._read(lambda database: questions.distinct(database, column))

    def tag_keys(self) -> list[str]:
        return self._read(questions.tag_keys)

    def attribute_keys(self) -> list[str]:
        return self._read(questions.attribute_keys)

    def tag_values(self, key: str) -> list[str]:
        return self._read(lambda database: questions.tag_values(database, key))

    def problems(self) -> list[Problem]:
        """Versions that nobody can use, and names whose folder leads away."""
        return self._read(questions.problems)

    def problems_above(self, row: Row) -> list[Problem]:
        """Later versions of the same name that nobody can use: this one is the latest for want of them."""
        return self._read(lambda database: questions.problems_above(database, row.row))

    def stats(self) -> questions.Stats:
        return self._read(lambda database: questions.stats(database, self._tree.namespace))

    def export(self, target: Path) -> int:
        """Write the rows of this namespace to a file, as existing clients do (repository spec 4.6); how many."""
        with translated(self._path):
            return export(self._database, self._tree, target)

    def export_parquet(self, target: Path) -> int:
        """Write all rows to a Parquet file; how many."""
        with translated(self._path):
            return export_parquet(self._database, self._tree, target)

    def replace_namespace(self, namespace: str, rows: Sequence[Mapping[str, object]]) -> list[Rejected]:
        """Take over the export of another namespace in place of what was known of it; which rows cannot be used."""
        if check_namespace(namespace) == self._tree.namespace:
            raise UsageError(f"{namespace!r} is the namespace of this repo: its rows come from its files")
        return self._write(lambda connection: replace_namespace(connection, namespace, rows))

    def checkpoint(self) -> None:
        """Bring the file up to date with its log, and empty that."""
        with translated(self._path), self._database.alone() as connection:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def vacuum(self) -> None:
        """Give back the space that removed rows took. SQLite's own is one transaction: a crash leaves the old file
        (weakness 31).
        """
        with translated(self._path), self._database.alone() as connection:
            connection.execute("VACUUM")
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def define(self, name: str, function: Callable[..., Value], arguments: int) -> None:
        """Let conditions call a function that always gives the same value for the same arguments."""
        self._database.define(
            name, lambda connection: connection.create_scalar_function(name, function, arguments, deterministic=True)
        )

    def _stream(self, sql: str, parameters: Sequence[Value]) -> Iterator[tuple[Any, ...]]:
        with translated(self._path):
            database = self._database
            try:
                with database.reading() as connection:
                    yield from connection.execute(sql, tuple(parameters))
            except DAMAGED:
                self._replace(database)
                raise

    def _sweep(self, eyes: Eyes, progress: Progress | None) -> Sweep:
        return self._read(lambda database: self._sweeping(database, eyes, progress).sweep())

    def _follow(self, keys: Collection[ArtifactKey], progress: Progress | None) -> Sweep:
        return self._read(lambda database: self._sweeping(database, Eyes.CHANGED, progress).follow(keys))

    def _sweeping(self, database: Database, eyes: Eyes, progress: Progress | None) -> Sweeping:
        return Sweeping(database, self._tree, self._write, eyes, progress or _unwatched)

    def _begin(self, keys: Iterable[ArtifactKey]) -> tuple[list[int], dict[ArtifactKey, Begun]]:
        namespace = self._tree.namespace
        keys = list(keys)

        def work(connection: apsw.Connection) -> tuple[list[int], dict[ArtifactKey, NameState | None]]:
            return intend(connection, keys), {key: state_of(connection, namespace, key) for key in keys}

        intents: list[int] = []
        begun: dict[ArtifactKey, Begun] = dict.fromkeys(keys, Begun(None, in_step=False))
        with self._forgiving():
            intents, states = self._write(work)
            begun = {key: begin(self._tree, key, state) for key, state in states.items()}
        return intents, begun

    def _settle(self, intents: Sequence[int], begun: Mapping[ArtifactKey, Begun], settling: Settling) -> None:
        with self._forgiving():
            written, looked = {}, {}
            for key, before in begun.items():
                found = look_at_written(self._database, self._tree, key, before, settling.hints(key))
                if found is not None:
                    written[key] = found
                else:
                    looked[key] = look_at(self._database, self._tree, key)

            def work(connection: apsw.Connection) -> None:
                late = [
                    look_within(connection, self._tree, key)
                    for key, found in written.items()
                    if not add(connection, self._tree, key, begun[key], found)
                ]
                if late or looked:
                    store(connection, self._tree, [*late, *looked.values()])
                forget(connection, intents)

            self._write(work)

    def _refreshed(self, *keys: ArtifactKey) -> bool:
        """Whether the tables follow. A full disk keeps nobody from reading what the files say."""
        try:
            for key in keys:
                self.refresh(key)
        except (Unavailable, Denied) as error:
            self._say(f"{error}; the files were read instead")
            return False
        return True

    def _is_in_step(self, row: Row, changed: int) -> bool:
        key = row_key(row)
        if changed_ns(self._tree, key) != changed:
            return False
        # A stream grows in its version, which the folder of the name does not tell.
        return not row.artifact.streaming

    def _write(self, work: Callable[[apsw.Connection], _Result]) -> _Result:
        """One transaction. In a file that turns out to be damaged it is done once more, in a new one."""
        with translated(self._path):
            database = self._database
            try:
                with database.writing() as connection:
                    return work(connection)
            except DAMAGED:
                self._replace(database)
                with self._database.writing() as connection:
                    return work(connection)

    def _read(self, question: Callable[[Database], _Result]) -> _Result:
        with translated(self._path):
            database = self._database
            try:
                return question(database)
            except DAMAGED:
                self._replace(database)
                return question(self._database)

    @contextmanager
    def _forgiving(self) -> Iterator[None]:
        """Let a change of files go on where the catalog cannot follow."""
        try:
            yield
        except (Unavailable, Denied, Corrupt) as error:
            self._say(f"{error}; what is written now will be found by the next command that can write it")

    def _replace(self, damaged: Database) -> None:
        if damaged is self._database:
            set_aside(damaged, self._say)
            damaged.close()
            self._database = open_database(self._path, self._say)
            self._bind()

    def _bind(self) -> None:
        if not self._read(lambda database: is_bound(database, self._tree)):
            self._write(lambda connection: bind(connection, self._tree))

    def _say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._notice(text)


def _unwatched(_done: int, _total: int | None) -> None:
    """Progress that nobody watches."""


def _left_behind(database: Database) -> dict[int, ArtifactKey]:
    with database.reading() as connection:
        return left_behind(connection)


def _position(database: Database) -> str | None:
    with database.reading() as connection:
        return position(connection)
