"""An existing client, as far as two clients on one cache can get in each other's way: how it marks and how it pushes.

Written from the facts of the sync spec (2.2, 2.3, 3, 4.6, 4.9), with its faults: what it read of the sidecar it never
reads again, it overwrites what others wrote there, and it deletes what it misses.
"""

import json
import os
import uuid
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

from bayou.layout.internal import legacy_internal
from bayou.layout.places import SIDECAR

_MOST_PATHS = 200
_FINGERPRINTS = {"s3": "remoteIndexETag", "gcs": "remoteIndexGeneration"}


class FolderRemote(MutableMapping[str, bytes]):
    """The other side as a folder, for several processes. What lies there is what the index lists."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __getitem__(self, path: str) -> bytes:
        try:
            return (self._root / path).read_bytes()
        except FileNotFoundError:
            raise KeyError(path) from None

    def __setitem__(self, path: str, content: bytes) -> None:
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._root.parent / f"{uuid.uuid4()}.upload"
        temporary.write_bytes(content)
        temporary.replace(target)

    def __delitem__(self, path: str) -> None:
        try:
            (self._root / path).unlink()
        except FileNotFoundError:
            raise KeyError(path) from None

    def __iter__(self) -> Iterator[str]:
        return iter(
            (Path(folder) / name).relative_to(self._root).as_posix()
            for folder, _, names in os.walk(self._root)
            for name in names
        )

    def __len__(self) -> int:
        return sum(1 for _ in self)


class ExistingClient:
    """One instance, which is one process as a rule."""

    def __init__(self, cache: Path, remote: MutableMapping[str, bytes], *, kind: str = "s3") -> None:
        self._cache = cache
        self._remote = remote
        self._fingerprint = _FINGERPRINTS[kind]
        self._is_loaded = False
        self._state: dict[str, Any] | None = None

    @property
    def unpushed(self) -> set[str]:
        """What this instance alone may remember: the paths, or "" for anything."""
        state = self._load()
        return set() if state is None else {*state["dirtyPaths"], *([""] if state["bulkInvalidated"] else [])}

    def mark_dirty(self, path: str | None = None) -> None:
        state = self._load()
        if path is None:
            if state is not None and state["localDirty"] and state["bulkInvalidated"]:
                return
            self._save({**self._fresh(), "localDirty": True, "bulkInvalidated": True})
            return
        if state is not None and (state["bulkInvalidated"] or path in state["dirtyPaths"]):
            return
        state = self._fresh()
        if len(state["dirtyPaths"]) >= _MOST_PATHS:
            self._save({**state, "localDirty": True, "bulkInvalidated": True, "dirtyPathsOverflowed": True})
        else:
            self._save({**state, "localDirty": True, "dirtyPaths": [*state["dirtyPaths"], path]})

    def push(self) -> int:
        """How many files it pushed or deleted."""
        state = self._load()
        if state is not None and not state["localDirty"] and state[self._fingerprint]:
            return 0
        listed = set(self._remote)
        candidates: set[str] = set()
        deleted: set[str] = set()
        if state is not None and state["dirtyPaths"] and not state["bulkInvalidated"]:
            for path in state["dirtyPaths"]:
                found, gone = self._scoped(path, listed)
                candidates |= found
                deleted |= gone
        else:
            candidates = set(self._walk(self._cache))
            if state is not None and state.get("dirtyPathsOverflowed"):
                deleted = listed - candidates
        if state is not None and state["lazyPullActive"]:
            deleted = set()
        count = 0
        for path in sorted(candidates):
            content = (self._cache / path).read_bytes()
            if self._remote.get(path) != content:
                self._remote[path] = content
                count += 1
        for path in deleted:
            count += self._remote.pop(path, None) is not None
        if self._is_complete():
            self._save(
                {**self._fresh(), "localDirty": False, "dirtyPaths": [], "bulkInvalidated": False}
                | {"dirtyPathsOverflowed": False, self._fingerprint: uuid.uuid4().hex}
            )
        return count

    def pull(self, *, metadata_only: bool = False) -> None:
        for path, content in self._remote.items():
            if not (metadata_only and path.endswith("/raw")) and not (self._cache / path).exists():
                (self._cache / path).parent.mkdir(parents=True, exist_ok=True)
                (self._cache / path).write_bytes(content)
        self._save({**self._fresh(), "lazyPullActive": metadata_only})

    def _scoped(self, path: str, listed: set[str]) -> tuple[set[str], set[str]]:
        place = self._cache / path
        below = {entry for entry in listed if entry.startswith(f"{path}/")}
        if place.is_dir():
            found = set(self._walk(place))
            return found, below - found
        if place.is_file():
            return {path}, set()
        return set(), below | (listed & {path})

    def _walk(self, folder: Path) -> Iterator[str]:
        for parent, _, names in os.walk(folder):
            for name in names:
                path = (Path(parent) / name).relative_to(self._cache).as_posix()
                if not legacy_internal(path):
                    yield path

    def _is_complete(self) -> bool:
        if (self._load() or {}).get("lazyPullActive"):
            return False
        return all((self._cache / path).is_file() for path in self._remote)

    def _load(self) -> dict[str, Any] | None:
        if not self._is_loaded:
            self._state, self._is_loaded = self._read(), True
        return self._state

    def _read(self) -> dict[str, Any] | None:
        try:
            state = json.loads((self._cache / SIDECAR).read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        if not isinstance(state, dict) or state.get("version") not in (1, 2):
            return None
        if not isinstance(state.get(self._fingerprint), str) or not isinstance(state.get("localDirty"), bool):
            return None
        if not isinstance(state.get("lastVerifiedAt"), str):
            return None
        if state["version"] == 1:
            state = {**state, "version": 2, "dirtyPaths": [], "bulkInvalidated": False}
        return {"dirtyPaths": [], "bulkInvalidated": False, "lazyPullActive": False} | state

    def _fresh(self) -> dict[str, Any]:
        state = self._load() or {
            "version": 2,
            self._fingerprint: "",
            "lastVerifiedAt": "",
            "localDirty": False,
            "dirtyPaths": [],
            "bulkInvalidated": False,
            "lazyPullActive": False,
        }
        return {name: value for name, value in state.items() if name != "commitSeq"}

    def _save(self, state: dict[str, Any]) -> None:
        self._state, self._is_loaded = state, True
        temporary = self._cache / f".{uuid.uuid4()}.tmp"
        temporary.write_bytes(json.dumps(state, indent=2).encode())
        temporary.replace(self._cache / SIDECAR)
