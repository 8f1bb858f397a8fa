"""Namespaces: let several repos share one bucket or folder, each in a part of it that nobody else touches."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from bayou.config import Settings, Source, marker
from bayou.datastore.coordination import Notice
from bayou.datastore.relocating import Relocated, Relocation, root_of
from bayou.datastore.remote import bucket, connected
from bayou.domain.namespaces import SOLO, check_namespace
from bayou.errors import Conflict, ErrorKind, NotFound, UsageError
from bayou.layout.keys import MANIFEST
from bayou.remotes import namespaces
from bayou.storage import Store
from bayou.sync import contamination
from bayou.sync.contamination import Contamination
from bayou.wire.manifest import Manifest, encode_file

_Result = TypeVar("_Result")
_SOME = 5


@dataclass(frozen=True, slots=True)
class Namespacing:
    settings: Settings
    notice: Notice

    def list(self) -> tuple[Manifest, ...]:
        """Who registered which, of all that share this place."""

        async def all_of(store: Store) -> tuple[Manifest, ...]:
            found = [await namespaces.manifest(store, name) for name in await namespaces.namespaces(store)]
            return tuple(manifest for manifest in found if manifest is not None)

        return self._with_store(all_of)

    def set(self, namespace: str, *, migrate: bool = False) -> Relocated | None:
        """Register the namespace for this repo, then say it in the marker; what there was before moves if asked.

        Nothing is changed where it belongs to another repo, or where something speaks against the move.
        """
        check_namespace(namespace)
        self._check_configured()
        if self.settings.namespace not in (SOLO, namespace):
            raise UsageError(
                f"this repo has the namespace {self.settings.namespace!r} already",
                remedy="Give it up first: bayou namespace unset --migrate.",
            )
        bound = replace(self, settings=replace(self.settings, namespace=namespace))
        if migrate:
            bound.plan()
        repo_id, now = self._repo_id(), time.time_ns()
        manifest = self._with_store(lambda store: namespaces.register(store, namespace, repo_id, now))
        self._write(namespace)
        if self.settings.cache is not None:
            file = self.settings.cache / namespace / MANIFEST
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(encode_file(manifest))
        return bound.migrate() if migrate else None

    def unset(self, *, migrate: bool = False) -> Relocated | None:
        """Let this repo have the place to itself again, unless others share it; what it has moves if asked."""
        before = self.settings.namespace
        self._check_configured()
        if before == SOLO:
            raise UsageError("this repo has no namespace")
        others = [manifest.namespace for manifest in self.list() if manifest.namespace != before]
        if others:
            raise Conflict(
                f"others share this datastore: {', '.join(others[:_SOME])}",
                remedy="Keep the namespace, or connect the repo with a place of its own: bayou setup URL.",
            )
        moved = self.migrate(reverse=True) if migrate else None
        self._write(SOLO)
        if migrate:
            self._with_store(lambda store: namespaces.unregister(store, before, self._repo_id()))
            with suppress(FileNotFoundError):
                (root_of(self.settings) / before / MANIFEST).unlink()
        return moved

    def plan(self, *, reverse: bool = False) -> Relocated:
        """What `migrate` would move."""
        return asyncio.run(self._relocation(reverse=reverse).plan())

    def migrate(self, *, reverse: bool = False) -> Relocated:
        """Move what this repo has outside of any namespace into its own, or back."""
        return asyncio.run(self._relocation(reverse=reverse).run())

    def foreign(self) -> Contamination:
        """What of other namespaces lies inside of ours."""

        async def find() -> Contamination:
            async with connected(self.settings, self.notice, writes=False) as ends:
                return await contamination.find(ends)

        return asyncio.run(find())

    def repair(self) -> tuple[Contamination, int]:
        """Remove it; says what it was, and how many objects went."""

        async def remove() -> tuple[Contamination, int]:
            async with connected(self.settings, self.notice, writes=True) as ends, ends.locks.structure() as hold:
                found = await contamination.find(ends)
                return found, await contamination.remove(ends, found, hold)

        return asyncio.run(remove())

    def _relocation(self, *, reverse: bool) -> Relocation:
        if self.settings.namespace == SOLO:
            raise UsageError("this repo has no namespace", remedy="Give it one: bayou namespace set NAME.")
        return Relocation(self.settings, self.notice, reverse)

    def _repo_id(self) -> str:
        if not self.settings.repo_id:
            raise UsageError("the marker of this repo has no repoId, so nothing can be registered for it")
        return self.settings.repo_id

    def _check_configured(self) -> None:
        origin = self.settings.origins["location"]
        if self.settings.repo is None or origin.source is not Source.MARKER:
            raise UsageError(
                "the .swamp.yaml of this repo names no datastore that others could share",
                kind=ErrorKind.INVALID_CONFIG,
                remedy="Connect it with one first: bayou setup URL.",
            )

    def _write(self, namespace: str) -> None:
        found = None if self.settings.repo is None else marker.read(self.settings.repo)
        if found is None:
            raise NotFound("this repo has no marker", kind=ErrorKind.REPO_MISSING)
        block = dict(found.block().block("datastore").values)
        block.pop("namespace", None)
        more = {"namespace": namespace} if namespace else {}
        marker.save(found, {**found.values, "datastore": {**block, **more}})

    def _with_store(self, work: Callable[[Store], Awaitable[_Result]]) -> _Result:
        async def run() -> _Result:
            async with bucket(self.settings) as store:
                return await work(store)

        return asyncio.run(run())
