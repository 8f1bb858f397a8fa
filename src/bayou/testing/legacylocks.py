"""The lock of the existing clients, as the sync spec (4.17, 7) and the repository spec (7.5) describe it, with all its
weaknesses: to find out whether we and they keep each other out.

Their clock is an argument, as their rule compares it with that of the store or of the holder.
"""

import asyncio
import json
import os
import random
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from bayou.errors import BayouError, Conflict, NotFound
from bayou.storage.port import ABSENT, Store, Version

Kind = Literal["s3", "gcs"]
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


class LegacyTimeoutError(Exception):
    """Somebody else held it all the time."""


class LegacyLock:
    """The lock of an object store. GCS deletes and renews by generation, S3 without any condition."""

    def __init__(  # noqa: PLR0913 - its settings
        self,
        store: Store,
        key: str = ".datastore.lock",
        kind: Kind = "s3",
        *,
        clock: Clock = utc_now,
        ttl_ms: int = 30_000,
        retry: float = 1.0,
        max_wait: float = 60.0,
        hostname: str = "legacy-host",
        pid: int = 4121,
    ) -> None:
        self.key = key
        self.is_held = False
        self._store = store
        self._kind = kind
        self._clock = clock
        self._ttl_ms = ttl_ms
        self._retry = retry
        self._max_wait = max_wait
        self._who = {"holder": f"ci@{hostname}", "hostname": hostname, "pid": pid}
        self._nonce = ""
        self._generation: Version | None = None
        self._heart: asyncio.Task[None] | None = None

    async def acquire(self) -> None:
        self._nonce = str(uuid.uuid4())
        loop = asyncio.get_running_loop()
        began = loop.time()
        while loop.time() - began < self._max_wait:
            try:
                self._generation = await self._store.put(self.key, self._body(), when=ABSENT)
            except Conflict:
                if await self._steal_if_stale():
                    await asyncio.sleep(random.uniform(0.2, 0.5))  # noqa: S311
                else:
                    await asyncio.sleep(self._retry)
            else:
                self.is_held = True
                self._heart = asyncio.create_task(self._beat())
                return
        raise LegacyTimeoutError(self.key)

    async def release(self) -> None:
        if self._heart is not None:
            self._heart.cancel()
        if not self.is_held:
            return
        self.is_held = False
        if self._kind == "gcs":
            await self._delete(self._generation)
        elif (await self.inspect() or {}).get("nonce") == self._nonce:
            await self._delete(None)

    async def inspect(self) -> dict[str, Any] | None:
        """The body, or None on any error at all (W-60)."""
        try:
            found = json.loads(await (await self._store.get(self.key)).bytes())
        except (BayouError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    async def force_release(self, nonce: str) -> bool:
        if (await self.inspect() or {}).get("nonce") != nonce:
            return False
        await self._delete(None)
        return True

    async def heartbeat(self) -> None:
        if not self.is_held:
            return
        if self._kind == "gcs" and self._generation is not None:
            try:
                self._generation = await self._store.put(self.key, self._body(), when=self._generation)
            except Conflict:
                self.is_held = False
        elif (await self.inspect() or {}).get("nonce") == self._nonce:
            await self._store.put(self.key, self._body())
        else:
            self.is_held = False

    async def _beat(self) -> None:
        while self.is_held:
            await asyncio.sleep(self._ttl_ms // 3 / 1000)
            await self.heartbeat()

    async def _steal_if_stale(self) -> bool:
        body = await self.inspect()
        try:
            found = await self._store.head(self.key)
        except NotFound:
            return False
        if body is None or (self._clock() - found.modified).total_seconds() * 1000 <= body["ttlMs"]:
            return False
        await self._delete(found.version)
        return True

    async def _delete(self, generation: Version | None) -> None:
        if self._kind == "gcs" and generation is not None:
            # Nothing comes in between on a store in memory, which is the only one that this kind is for.
            with suppress(NotFound):
                if (await self._store.head(self.key)).version == generation:
                    await self._store.delete(self.key)
        else:
            await self._store.delete(self.key)

    def _body(self) -> bytes:
        moment = self._clock().strftime("%Y-%m-%dT%H:%M:%S.") + f"{self._clock().microsecond // 1000:03d}Z"
        return json.dumps(
            {**self._who, "acquiredAt": moment, "ttlMs": self._ttl_ms, "nonce": self._nonce}, indent=2
        ).encode()


class LegacyRun:
    """A model run of the existing clients: wait for the global lock, take the models', look again (sync spec 4.17)."""

    def __init__(self, overall: LegacyLock, models: Sequence[LegacyLock], *, clock: Clock = utc_now) -> None:
        self._overall = overall
        self._models = sorted(models, key=lambda lock: lock.key)
        self._clock = clock

    async def begin(self) -> None:
        while True:
            await self._wait_for_global()
            for lock in self._models:
                await lock.acquire()
            if await self._overall.inspect() is None:
                return
            await self.end()

    async def commit(self, work: Callable[[], Any]) -> None:
        await self._overall.acquire()
        try:
            await work()
        finally:
            await self._overall.release()

    async def end(self) -> None:
        for lock in reversed(self._models):
            await lock.release()

    async def _wait_for_global(self) -> None:
        while (body := await self._overall.inspect()) is not None:
            age = self._clock() - datetime.fromisoformat(body["acquiredAt"])
            if age.total_seconds() * 1000 > body["ttlMs"]:
                await self._overall.force_release(body.get("nonce", ""))
            else:
                await asyncio.sleep(1.0)


class LegacyFileLock:
    """The lock file of the existing clients. It asks whether a pid lives without comparing hosts (weakness 55), and
    removes what it read a moment ago (weakness 56).
    """

    def __init__(
        self, path: Path, *, clock: Clock = utc_now, ttl_ms: int = 30_000, hostname: str = "legacy-host", pid: int = 0
    ) -> None:
        self.path = path
        self.is_held = False
        self._clock = clock
        self._ttl_ms = ttl_ms
        self._who = {"holder": f"ci@{hostname}", "hostname": hostname, "pid": pid or os.getpid()}
        self._nonce = ""

    def try_acquire(self) -> bool:
        """One attempt; a stale lock is removed, for the next one."""
        self._nonce = str(uuid.uuid4())
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            body = self.inspect()
            if body is not None and self._is_stale(body):
                self.path.unlink(missing_ok=True)
            return False
        with os.fdopen(fd, "wb") as file:
            file.write(self._body())
        self.is_held = True
        return True

    def heartbeat(self) -> None:
        if self.is_held and (self.inspect() or {}).get("nonce") == self._nonce:
            self.path.write_bytes(self._body())
        else:
            self.is_held = False

    def release(self) -> None:
        if self.is_held and (self.inspect() or {}).get("nonce") == self._nonce:
            self.path.unlink(missing_ok=True)
        self.is_held = False

    def inspect(self) -> dict[str, Any] | None:
        try:
            found = json.loads(self.path.read_bytes())
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def _is_stale(self, body: dict[str, Any]) -> bool:
        try:
            os.kill(body["pid"], 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        age = self._clock() - datetime.fromisoformat(body["acquiredAt"])
        return bool(age.total_seconds() * 1000 > body["ttlMs"])

    def _body(self) -> bytes:
        moment = self._clock().strftime("%Y-%m-%dT%H:%M:%S.") + f"{self._clock().microsecond // 1000:03d}Z"
        return json.dumps(
            {**self._who, "acquiredAt": moment, "ttlMs": self._ttl_ms, "nonce": self._nonce}, indent=2
        ).encode()
