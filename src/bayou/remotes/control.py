"""Control-plane records: opaque bytes under names below `_control/` of the namespace (sync spec 4.16)."""

from bayou.errors import Conflict, ErrorKind, UsageError
from bayou.layout.keys import Keyspace, Role
from bayou.remotes.objects import read
from bayou.storage.port import ABSENT, Store

_OURS = "bayou"
"""What Bayou itself keeps there is no record of anybody: neither shown nor touched."""


class Records:
    """The records of one namespace, which is fixed for every call (sync spec W-49)."""

    def __init__(self, store: Store, keys: Keyspace) -> None:
        self._store = store
        self._keys = keys

    async def get(self, name: str) -> bytes | None:
        blob = await read(self._store, self._key(name))
        return None if blob is None else blob.content

    async def put(self, name: str, content: bytes) -> None:
        await self._store.put(self._key(name), content)

    async def delete(self, name: str) -> None:
        await self._store.delete(self._key(name))

    async def put_if_absent(self, name: str, content: bytes) -> bool:
        """Create a record, or say that there is one. Whoever claims something puts into it who he is.

        If an answer is lost, the record is read back, and the very bytes that were sent are taken for our own (W-48).
        """
        key = self._key(name)
        if await read(self._store, key) is not None:
            return False  # on a store that ignores conditions this is all the protection there is
        try:
            await self._store.put(key, content, when=ABSENT)
        except Conflict:
            return False
        return True

    async def list(self, prefix: str = "") -> list[str]:
        """The names that begin like this."""
        folder = prefix.rpartition("/")[0]
        below = self._keys.data(f"_control/{folder}" if folder else "_control")
        located = [self._keys.locate(meta.key) async for page in self._store.list(below) for meta in page]
        names = (found.name for found in located if found.role is Role.CONTROL)
        return [name for name in names if name.startswith(prefix) and not _is_ours(name)]

    def _key(self, name: str) -> str:
        if _is_ours(name):
            message = f"{name!r} is Bayou's own"
            raise UsageError(message, kind=ErrorKind.INVALID_NAME, remedy="Use a name that does not begin with bayou/.")
        return self._keys.control(name)


def _is_ours(name: str) -> bool:
    return name == _OURS or name.startswith(f"{_OURS}/")
