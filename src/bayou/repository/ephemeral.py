"""Ephemeral data: held in memory for one run, within a budget, and gone with it (repository spec 2.2)."""

import hashlib
from collections.abc import Iterable, Iterator
from threading import Lock
from typing import NamedTuple

import msgspec

from bayou.domain.artifacts import Artifact, ArtifactKey, Owner, check_owner, latest_of_chains
from bayou.domain.names import check_data_name
from bayou.errors import ErrorKind, NotFound, UsageError
from bayou.repository import content as contents
from bayou.repository.content import Given
from bayou.repository.drafts import Draft
from bayou.tree import Written


class Held(NamedTuple):
    key: ArtifactKey
    artifact: Artifact
    raw: bytes
    is_latest: bool


class Ephemeral:
    """What one run holds. Readers look here first, then on the disk; the next run begins with nothing."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._used = 0
        self._held: dict[ArtifactKey, dict[int, tuple[Artifact, bytes]]] = {}
        self._lock = Lock()

    def save(self, key: ArtifactKey, given: Given, draft: Draft, at: str) -> Artifact:
        check_data_name(key.name)
        content = contents.content(given)
        raw = self._within_budget(key, content.chunks())
        written = Written(len(raw), hashlib.sha256(raw).hexdigest())
        with self._lock:
            versions = self._held.get(key, {})
            if versions:
                check_owner(key.name, versions[max(versions)][0].owner, draft.owner)
            self._take(key, len(raw))
            artifact = draft.artifact(key, max(versions, default=0) + 1, content.content_type, written, at)
            self._held.setdefault(key, versions)[artifact.version] = artifact, raw
        return artifact

    def append(self, key: ArtifactKey, given: Given, writer: Owner) -> Artifact:
        added = self._within_budget(key, contents.content(given).chunks())
        with self._lock:
            versions = self._held.get(key)
            if not versions:
                raise NotFound(f"{key}: there is nothing to append to", kind=ErrorKind.DATA_MISSING)
            artifact, raw = versions[max(versions)]
            check_owner(key.name, artifact.owner, writer)
            if not artifact.streaming:
                raise UsageError(f"{key} is not streaming data", remedy="Write a new version, as streaming data.")
            self._take(key, len(added))
            artifact = msgspec.structs.replace(artifact, size=len(raw) + len(added), checksum=None)
            versions[artifact.version] = artifact, raw + added
        return artifact

    def find(self, key: ArtifactKey, version: int | None = None) -> Held | None:
        """A version by its number, or the latest one; None where it has to be looked for on the disk."""
        with self._lock:
            versions = self._held.get(key)
            number = max(versions) if versions and version is None else version
            found = versions.get(number) if versions and number else None
            return Held(key, *found, is_latest=number == max(versions)) if found and versions else None

    def __iter__(self) -> Iterator[Held]:
        """All of it, for queries."""
        with self._lock:
            held = [(key, dict(versions)) for key, versions in self._held.items()]
        for key, versions in held:
            heads = latest_of_chains(((n, artifact.chain) for n, (artifact, _) in versions.items()), None)
            for number, (artifact, raw) in versions.items():
                yield Held(key, artifact, raw, is_latest=number in heads)

    def _take(self, key: ArtifactKey, size: int) -> None:
        if self._used + size > self._budget:
            raise self._exceeded(key)
        self._used += size

    def _within_budget(self, key: ArtifactKey, chunks: Iterable[bytes]) -> bytes:
        """All of it, read no further than there is room for."""
        raw = bytearray()
        for chunk in chunks:
            raw += chunk
            if self._used + len(raw) > self._budget:
                raise self._exceeded(key)
        return bytes(raw)

    def _exceeded(self, key: ArtifactKey) -> UsageError:
        return UsageError(
            f"{key}: ephemeral data would take more than its budget of {self._budget} bytes",
            kind=ErrorKind.INVALID_CONTENT,
            remedy="Set SWAMP_EPHEMERAL_BUDGET to more, such as 1gb, or give it a lifetime that is kept on the disk.",
        )
