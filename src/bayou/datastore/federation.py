"""Federation: what the repos of one place tell each other. Only here is anything of another namespace read, and only
what somebody asks for by name.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec

from bayou.config import Folder, Settings
from bayou.datastore.coordination import Notice
from bayou.datastore.remote import bucket, in_a_loop
from bayou.domain.namespaces import check_namespace
from bayou.layout.keys import CATALOG_EXPORT
from bayou.layout.safety import check_path
from bayou.remotes import ObjectRemote
from bayou.remotes.objects import each
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

    found = in_a_loop(fetch)
    for rows in found.values():
        if isinstance(rows, Void):
            notice(rows.why)
    return {namespace: None if isinstance(rows, Void) else rows for namespace, rows in found.items()}


def contents_of(
    settings: Settings, files: Collection[tuple[str, str]], *, at_most: int
) -> Mapping[tuple[str, str], bytes]:
    """Files of other namespaces, by namespace and path, without those that are missing or larger. Nothing is kept."""
    for namespace, path in files:
        check_namespace(namespace)
        check_path(path)
    location = settings.location
    if isinstance(location, Folder):
        found = {(space, path): location.path / space / path for space, path in files}
        return {
            at: file.read_bytes() for at, file in found.items() if file.is_file() and file.stat().st_size <= at_most
        }

    async def fetch() -> Mapping[tuple[str, str], bytes]:
        async with bucket(settings) as store:
            with ObjectRemote(store, settings.namespace, width=settings.pull_concurrency) as remote:

                async def one(at: tuple[str, str]) -> bytes | None:
                    fetched = await remote.foreign_content(*at)
                    return None if fetched is None or fetched.meta.size > at_most else await fetched.bytes()

                bodies = await each(settings.pull_concurrency, files, one)
                return {at: body for at, body in zip(files, bodies, strict=True) if body is not None}

    return in_a_loop(fetch)


def _read(file: Path) -> Rows | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Rows)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _digest(file: Path) -> bytes:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()
