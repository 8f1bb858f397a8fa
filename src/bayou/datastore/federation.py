"""Federation: what the repos of one place tell each other. Only here is anything of another namespace read, and only
what somebody asks for by name.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec

from bayou.config import Folder, Settings
from bayou.datastore.coordination import Notice
from bayou.datastore.remote import bucket
from bayou.domain.namespaces import check_namespace
from bayou.errors import ErrorKind, NotFound
from bayou.layout.keys import CATALOG_EXPORT
from bayou.layout.safety import check_path
from bayou.remotes import ObjectRemote
from bayou.sync.journal import Journal
from bayou.wire.documents import Void

if TYPE_CHECKING:
    from bayou.datastore.datastore import Datastore

Rows = list[dict[str, object]]


def offer(datastore: "Datastore", journal: Journal) -> bool:
    """Write the rows of our catalog for others, so that the push that follows delivers them. False: nothing is new.

    To be called before each push of a namespace; existing clients do the same.
    """
    tree = datastore.tree
    if not tree.namespace:
        return False
    target = tree.root / CATALOG_EXPORT
    new = Path(tree.temporaries(str(target))) / f".{uuid4()}.tmp"
    for folder in (new.parent, target.parent):
        folder.mkdir(parents=True, exist_ok=True)
    datastore.catalog.current(datastore.progress)
    datastore.catalog.export(new)
    if target.is_file() and _digest(target) == _digest(new):
        new.unlink()
        return False
    done = journal.changing([CATALOG_EXPORT])
    try:
        new.replace(target)
    finally:
        done()
    return True


def rows_of(settings: Settings, notice: Notice, namespaces: Iterable[str]) -> Mapping[str, Rows | None]:
    """What these namespaces export; None where there is nothing that can be read."""
    asked = [check_namespace(namespace) for namespace in namespaces]
    location = settings.location
    if isinstance(location, Folder):
        return {namespace: _read(location.path / namespace / CATALOG_EXPORT) for namespace in asked}

    async def fetch() -> Mapping[str, Rows | Void]:
        async with bucket(settings) as store:
            with ObjectRemote(store, settings.namespace, width=settings.pull_concurrency) as remote:
                return await remote.foreign_catalogs(asked)

    found = asyncio.run(fetch())
    for rows in found.values():
        if isinstance(rows, Void):
            notice(rows.why)
    return {namespace: None if isinstance(rows, Void) else rows for namespace, rows in found.items()}


def content_of(settings: Settings, namespace: str, path: str) -> bytes:
    """A file of another namespace."""
    location = settings.location
    found: bytes | None = None
    if isinstance(location, Folder):
        file = location.path / check_namespace(namespace) / check_path(path)
        found = file.read_bytes() if file.is_file() else None
    else:

        async def fetch() -> bytes | None:
            async with bucket(settings) as store:
                with ObjectRemote(store, settings.namespace) as remote:
                    fetched = await remote.foreign_content(namespace, path)
                    return None if fetched is None else await fetched.bytes()

        found = asyncio.run(fetch())
    if found is None:
        raise NotFound(f"the namespace {namespace!r} has no file {path!r}", kind=ErrorKind.CONTENT_MISSING)
    return found


def _read(file: Path) -> Rows | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Rows)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _digest(file: Path) -> bytes:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()
