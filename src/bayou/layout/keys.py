"""Keys: where things are in a bucket. A namespace is the outermost segment of all that belongs to it (sync spec 1.1).

The prefix of the configuration is not in here: a wrapper of the store puts it in front of every key.
"""

from dataclasses import dataclass
from enum import StrEnum

from bayou.domain.models import Model
from bayou.domain.namespaces import SOLO, check_namespace
from bayou.layout.artifacts import model_folder
from bayou.layout.internal import never_crosses
from bayou.layout.relative import in_namespace
from bayou.layout.safety import check_path, spelling_fault

MONOLITH = ".datastore-index.json"
META = "_index/_meta.json"
MANIFEST = ".namespace.json"
CATALOG_EXPORT = ".catalog-export.json"
MODEL_LOCK = ".lock"
STORE_ID = "_control/bayou/store.json"
"""One for the whole bucket, whatever the namespace (design 4.2, promise 7)."""

_SHARDS = "_index/"
_CONTROL = "_control/"
_TOMBSTONES = "_control/bayou/tombstones/"
_JSON = ".json"
_SOLO_LOCK = ".datastore.lock"

# The tombstones of what no shard can hold need a file too. No partition key is spelled like this.
_UNPARTITIONED = "_unpartitioned"


class Role(StrEnum):
    """What an object is for. `name` of `Located` is given in brackets."""

    DATA = "data"
    """A file of the datastore (its path)."""
    MONOLITH = "monolith"
    META = "meta"
    SHARD = "shard"
    """(its partition key)"""
    TOMBSTONES = "tombstones"
    """(its partition key, or "" for what has none)"""
    CONTROL = "control"
    """A control-plane record (its name below `_control/`)."""
    MANIFEST = "manifest"
    GLOBAL_LOCK = "global-lock"
    MODEL_LOCK = "model-lock"
    """(the model's folder)"""
    STORE_ID = "store-id"
    INTERNAL = "internal"
    """Nobody's data, such as a temporary file or the lock of another namespace (its path)."""
    OUTSIDE = "outside"
    """Not in the namespace (the whole key)."""


_FIXED = {MONOLITH: Role.MONOLITH, META: Role.META, MANIFEST: Role.MANIFEST}
_FOLDERS_OF_JSON = ((_SHARDS, Role.SHARD), (_TOMBSTONES, Role.TOMBSTONES))


@dataclass(frozen=True, slots=True)
class Located:
    role: Role
    name: str = ""


@dataclass(frozen=True, slots=True)
class Keyspace:
    """The keys of one namespace."""

    namespace: str = SOLO

    def __post_init__(self) -> None:
        check_namespace(self.namespace)

    def data(self, path: str) -> str:
        return f"{self.namespace}/{path}" if self.namespace else path

    @property
    def monolith(self) -> str:
        return self.data(MONOLITH)

    @property
    def meta(self) -> str:
        return self.data(META)

    def shard(self, partition: str) -> str:
        """The key as it is: existing clients escape nothing."""
        return self.data(f"{_SHARDS}{partition}{_JSON}")

    def control(self, record: str) -> str:
        return self.data(f"{_CONTROL}{check_path(record)}")

    def tombstones(self, partition: str | None) -> str:
        return self.data(f"{_TOMBSTONES}{_UNPARTITIONED if partition is None else partition}{_JSON}")

    @property
    def manifest(self) -> str:
        return self.data(MANIFEST)

    @property
    def catalog_export(self) -> str:
        return self.data(CATALOG_EXPORT)

    @property
    def global_lock(self) -> str:
        """Beside the namespaces, not inside: existing clients look for it there."""
        return f".locks/{self.namespace}.lock" if self.namespace else _SOLO_LOCK

    def model_lock(self, model: Model) -> str:
        return self.data(f"{model_folder(model)}/{MODEL_LOCK}")

    def locate(self, key: str) -> Located:
        """What the object under this key is.

        The key alone cannot tell a folder of a solo store from another namespace in the same bucket: whoever lists a
        bucket looks for the manifests first.
        """
        if key == self.global_lock:
            return Located(Role.GLOBAL_LOCK)
        if key == STORE_ID:
            return Located(Role.STORE_ID)
        path = in_namespace(self.namespace, key)
        return Located(Role.OUTSIDE, key) if path is None else _located(path)


def namespace_of_manifest(key: str) -> str | None:
    """The namespace whose manifest this is, or None. Only the outermost segment of a key can be one."""
    namespace, _, rest = key.partition("/")
    return namespace if namespace and rest == MANIFEST else None


def partition_fault(partition: str) -> str | None:
    """Why no shard can be called that, or None.

    Nested names are let through, as existing clients rebuild metas with all that they find below `_index` (sync spec
    L3, L4). So is any length, since a name strings folders together; how long a key may be is for the store to say.
    """
    if f"{_SHARDS}{partition}{_JSON}" == META:
        return "it is the meta's own name"
    return spelling_fault(partition)


def _located(path: str) -> Located:
    if not path:
        return Located(Role.INTERNAL)  # the mark of the namespace's folder
    fixed = _FIXED.get(path)
    if fixed is not None:
        return Located(fixed)
    if path.endswith(_JSON):
        for folder, role in _FOLDERS_OF_JSON:
            if path.startswith(folder):
                name = path[len(folder) : -len(_JSON)]
                return Located(role, "" if name == _UNPARTITIONED else name)
    if path.startswith(_CONTROL):
        return Located(Role.CONTROL, path.removeprefix(_CONTROL))
    if path.startswith("data/") and path.endswith(f"/{MODEL_LOCK}"):
        return Located(Role.MODEL_LOCK, path.removesuffix(f"/{MODEL_LOCK}"))
    return Located(Role.INTERNAL if never_crosses(path) else Role.DATA, path)
