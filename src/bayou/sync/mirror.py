"""The mirror of the marks in `.datastore-sync-state.json`, through which existing clients on the same cache and we tell
each other what may have changed (sync spec 2.2, 2.3; design/008).

The journal is the truth and this is its picture. What somebody else put into it is taken into the journal before it is
overwritten, always: whatever was in place until the very moment of the overwriting is looked at afterwards. All of this
happens inside a transaction of the journal, so that our own processes take turns.

Every function takes the connection of that transaction.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import apsw
import msgspec

from bayou.layout.places import SIDECAR, TEMPORARY
from bayou.layout.safety import fault
from bayou.sync.exchange import replace_seen
from bayou.sync.facts import fact, row, rows, set_fact
from bayou.sync.machine import Machine
from bayou.sync.marking import SETTLING, is_bootstrapped, touch
from bayou.sync.schema import EVERYTHING
from bayou.wire import sidecar
from bayou.wire.documents import Void
from bayou.wire.sidecar import Sidecar
from bayou.wire.times import to_text

MOST_PATHS = 200
"""Beyond this existing clients set a flag that lets them delete; we say "anything" instead (sync spec 3, W-03)."""

_NEVER = to_text(0)
_NOTHING = Sidecar(
    version=2,
    # Either kind of client takes a sidecar without its own kind of fingerprint for none, and then deletes (W-26).
    remote_index_etag="",
    remote_index_generation="",
    last_verified_at=_NEVER,
    local_dirty=False,
    dirty_paths=(),
    bulk_invalidated=False,
    lazy_pull_active=False,
    dirty_paths_overflowed=False,
)


class Verified(msgspec.Struct, frozen=True):
    """What a complete sync read: by this existing clients on this cache know that they need not."""

    etag: str = ""
    generation: str = ""
    commit_seq: int | None = None


class Mirror:
    def __init__(self, cache: Path, machine: Machine) -> None:
        self._place = cache / SIDECAR
        self._temporary = cache / TEMPORARY
        self._machine = machine
        self._content: bytes | None = None
        self._says: Sidecar | None = None
        self._is_known = False
        self._is_recorded = False

    def forget(self) -> None:
        """Look again: the transaction that this was part of came to nothing."""
        self._is_known = False

    def keep(
        self, connection: apsw.Connection, *, added: Sequence[str] | None = None, verified: Verified | None = None
    ) -> None:
        """Bring the journal and its picture in step. `added`: all that was marked since they were."""
        content = self._read()
        if not self._is_known or content != self._content:
            self._learn(connection, content)
            added = None
        if added is not None and self._says is not None and verified is None:
            wanted = _with_paths(self._says, added)
        else:
            wanted = self._picture(connection, verified)
        while wanted != self._says:
            replaced = self._write(wanted)
            if replaced == self._content:
                self._know(connection, sidecar.encode(wanted), wanted)
                break
            self._learn(connection, replaced)
            self._content = sidecar.encode(wanted)
            wanted, self._says = self._picture(connection, verified), wanted
        else:
            if self._content is not None and not self._is_recorded:
                self._know(connection, self._content, self._says)

    def says_anything(self) -> bool:
        """Whether it says that anything may have changed, so that existing clients add no path to it."""
        return self._says is not None and self._says.bulk_invalidated

    def _learn(self, connection: apsw.Connection, content: bytes | None) -> None:
        """Take over what others said in it since we last did."""
        ours = fact(connection, "mirror")
        found = None if content is None else sidecar.decode(content, str(self._place))
        if content is None:
            if ours is not None:  # as people do who want all to be looked at
                self._touch(connection, EVERYTHING)
        elif _digest(content) != ours:
            set_fact(connection, "client_seen", self._machine.time_ns())
            self._import(connection, found)
        self._content, self._is_known, self._is_recorded = content, True, False
        self._says = found if isinstance(found, Sidecar) else None

    def _import(self, connection: apsw.Connection, found: Sidecar | Void | None) -> None:
        if not isinstance(found, Sidecar) or found.version == 1:
            self._touch(connection, EVERYTHING)
            return
        # Also where it claims to be clean: paths that were left in it keep existing clients from marking them (W-02).
        for path in found.dirty_paths:
            self._touch(connection, EVERYTHING if fault(path) else path)
        if found.bulk_invalidated or found.dirty_paths_overflowed or (found.local_dirty and not found.dirty_paths):
            self._touch(connection, EVERYTHING)
        if found.lazy_pull_active:
            set_fact(connection, "lazy_until_verified", 1)

    def _touch(self, connection: apsw.Connection, path: str) -> None:
        is_known = row(connection, "SELECT 1 FROM dirty WHERE path = ? AND NOT lingering", (path,))
        touch(
            connection,
            path,
            since=int(fact(connection, "mirrored_at") or self._changed_ns()),
            settles=self._machine.monotonic_ns() + SETTLING,
            bare=not is_known,  # what we said ourselves may only have been copied
        )

    def _picture(self, connection: apsw.Connection, verified: Verified | None) -> Sidecar:
        marked = rows(connection, "SELECT path FROM dirty WHERE NOT lingering LIMIT ?", (MOST_PATHS + 1,))
        paths = [path for (path,) in marked if path != EVERYTHING]
        before = self._says or _NOTHING
        if verified is not None:
            set_fact(connection, "lazy_until_verified", 0)
            before = msgspec.structs.replace(
                before,
                remote_index_etag=verified.etag,
                remote_index_generation=verified.generation,
                commit_seq=verified.commit_seq,
                last_verified_at=to_text(self._machine.time_ns()),
            )
        is_lazy = self._is_lazy(connection)
        return msgspec.structs.replace(
            before,
            version=2,
            remote_index_etag="" if is_lazy else before.remote_index_etag or "",
            remote_index_generation="" if is_lazy else before.remote_index_generation or "",
            commit_seq=None if is_lazy or marked else before.commit_seq,
            local_dirty=bool(marked),
            dirty_paths=tuple(paths[:MOST_PATHS]),
            bulk_invalidated=len(paths) < len(marked) or len(marked) > MOST_PATHS,
            lazy_pull_active=is_lazy,
            dirty_paths_overflowed=False,
        )

    def _is_lazy(self, connection: apsw.Connection) -> bool:
        """Whether existing clients must not take what is not here for deleted."""
        absent = row(
            connection,
            "SELECT 1 FROM bound CROSS JOIN base USING(side) WHERE here = 0 AND content IS NOT NULL LIMIT 1",
        )
        if self._says is None and not is_bootstrapped(connection):
            # A cache that was never compared with anything may hold any part of it.
            set_fact(connection, "lazy_until_verified", 1)
        is_lazy = bool(absent or fact(connection, "lazy_until_verified"))
        if not is_lazy:
            connection.execute("DELETE FROM fact WHERE name = 'lazy_since'")
        elif fact(connection, "lazy_since") is None:
            set_fact(connection, "lazy_since", self._machine.monotonic_ns())
        return is_lazy

    def _know(self, connection: apsw.Connection, content: bytes, says: Sidecar | None) -> None:
        self._content, self._says = content, says
        self._is_known = self._is_recorded = True
        digest = _digest(content)
        if fact(connection, "mirror") != digest:
            set_fact(connection, "mirror", digest)
            set_fact(connection, "mirrored_at", self._machine.time_ns())

    def _write(self, wanted: Sidecar) -> bytes | None:
        self._temporary.mkdir(parents=True, exist_ok=True)
        new = self._temporary / f".{uuid4()}.tmp"
        try:
            new.write_bytes(sidecar.encode(wanted))
            return replace_seen(new, self._place)
        finally:
            new.unlink(missing_ok=True)

    def _read(self) -> bytes | None:
        try:
            return self._place.read_bytes()
        except FileNotFoundError:
            return None

    def _changed_ns(self) -> int:
        try:
            return self._place.stat().st_mtime_ns
        except FileNotFoundError:
            return self._machine.time_ns()


def _with_paths(says: Sidecar, added: Sequence[str]) -> Sidecar:
    """What it says once these are marked too. Once it says "anything", nothing is to be added (sync spec 3)."""
    if says.local_dirty and says.bulk_invalidated and says.commit_seq is None:
        return says
    paths = says.dirty_paths + tuple(path for path in added if path != EVERYTHING and path not in says.dirty_paths)
    return msgspec.structs.replace(
        says,
        local_dirty=says.local_dirty or bool(added),
        dirty_paths=paths[:MOST_PATHS],
        bulk_invalidated=says.bulk_invalidated or EVERYTHING in added or len(paths) > MOST_PATHS,
        commit_seq=None if added else says.commit_seq,
    )


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
