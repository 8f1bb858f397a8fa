"""What the journal remembers for people and for the next run: outcomes, conflicts, and notes about the other side."""

from collections.abc import Mapping
from typing import Any

import apsw
import msgspec

from bayou.sync.database import Database
from bayou.sync.facts import fact, set_fact


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """How the last sync of its kind went."""

    finished_at: str
    pulled: int = 0
    pushed: int = 0
    deleted: int = 0
    conflicts: int = 0
    failed: dict[str, str] = {}
    """Reasons by path."""
    requests: int = 0
    seconds: float = 0.0
    error: str = ""
    """Why it ended early, if it did."""


class Kept(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A conflict: the remote stayed, and ours is kept aside until somebody decides."""

    path: str
    ours: str
    """The content that is kept."""
    theirs: str
    kept_at: str
    reason: str = ""


class Reports:
    def __init__(self, database: Database, namespace: str) -> None:
        self._database = database
        self._namespace = namespace
        self._prefix = f"{namespace}/" if namespace else ""

    def set_outcome(self, work: str, outcome: Outcome) -> None:
        """`work` is what was done: `push`, `pull`, `hydrate`."""
        row = (self._prefix + work, outcome.finished_at, msgspec.json.encode(outcome))
        self._run("INSERT OR REPLACE INTO outcome VALUES(?, ?, ?)", row)

    def outcomes(self) -> dict[str, Outcome]:
        rows = self._all("SELECT work, outcome FROM outcome ORDER BY finished_at DESC")
        return {work: msgspec.json.decode(said, type=Outcome) for work, said in self._ours(rows)}

    def set_conflict(self, kept: Kept) -> None:
        row = (self._prefix + kept.path, msgspec.json.encode(kept))
        self._run("INSERT OR REPLACE INTO conflict VALUES(?, ?)", row)

    def end_conflict(self, path: str) -> None:
        self._run("DELETE FROM conflict WHERE path = ?", (self._prefix + path,))

    def conflicts(self) -> list[Kept]:
        rows = self._all("SELECT path, conflict FROM conflict ORDER BY path")
        return [msgspec.json.decode(said, type=Kept) for _, said in self._ours(rows)]

    def set_note(self, name: str, value: bytes) -> None:
        """Remember something about the other side, such as the head of its index; for this side only."""

        def set_note(connection: apsw.Connection) -> None:
            connection.execute(
                "INSERT OR REPLACE INTO note SELECT side, ?, ? FROM bound WHERE namespace = ?",
                (name, value, self._namespace),
            )

        self._database.write(set_note)

    def note(self, name: str) -> bytes | None:
        found = self._all(
            "SELECT value FROM bound CROSS JOIN note USING(side) WHERE namespace = ? AND name = ?",
            (self._namespace, name),
        )
        return bytes(found[0][0]) if found else None

    def notes(self, prefix: str) -> dict[str, bytes]:
        """All notes whose names begin with this, by the rest of their names."""
        found = self._all(
            "SELECT name, value FROM bound CROSS JOIN note USING(side) WHERE namespace = ? AND name >= ? AND name < ?",
            (self._namespace, prefix, f"{prefix}\U0010ffff"),
        )
        return {name[len(prefix) :]: bytes(value) for name, value in found}

    def set_notes(self, prefix: str, notes: Mapping[str, bytes | None]) -> None:
        """Several at once, in one transaction; None forgets one."""

        def set_notes(connection: apsw.Connection) -> None:
            connection.executemany(
                "INSERT OR REPLACE INTO note SELECT side, ?, ? FROM bound WHERE namespace = ?",
                [(prefix + name, value, self._namespace) for name, value in notes.items() if value is not None],
            )
            connection.executemany(
                "DELETE FROM note WHERE name = ? AND side = (SELECT side FROM bound WHERE namespace = ?)",
                [(prefix + name, self._namespace) for name, value in notes.items() if value is None],
            )

        if notes:
            self._database.write(set_notes)

    def url(self) -> str:
        """Where the other side was when it was last asked who it is. It may be another one's since."""
        found = self._database.read(lambda connection: fact(connection, f"url {self._namespace}"))
        return str(found or "")

    def set_url(self, url: str) -> None:
        self._database.write(lambda connection: set_fact(connection, f"url {self._namespace}", url))

    def _ours(self, rows: list[Any]) -> list[Any]:
        cut = len(self._prefix)
        # Without a namespace nothing of a namespace is ours; outcomes have no folders, and paths none of that name.
        return [(name[cut:], *rest) for name, *rest in rows if name.startswith(self._prefix)]

    def _run(self, statement: str, row: tuple[object, ...]) -> None:
        self._database.write(lambda connection: connection.execute(statement, row).fetchall())

    def _all(self, statement: str, row: tuple[object, ...] = ()) -> list[Any]:
        return self._database.read(lambda connection: connection.execute(statement, row).fetchall())
