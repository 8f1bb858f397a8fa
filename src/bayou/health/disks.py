"""The disks of this machine that the datastore is on: how much room there is, and of which kind they are."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

from bayou.config.locations import Folder
from bayou.health.findings import Finding, notice, ok, problem
from bayou.health.patient import Patient
from bayou.locks import FileCells
from bayou.storage.probing import FOLDER

_MOUNTS = Path("/proc/self/mounts")
_MEMORY = frozenset({"tmpfs", "ramfs"})
_NETWORK = frozenset(
    {
        *("9p", "afs", "beegfs", "ceph", "cifs", "davfs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs"),
        *("nfs", "nfs4", "ocfs2", "smb3", "smbfs", "vboxsf", "virtiofs"),
    }
)
_FUSE = "fuse."  # of most of these nobody knows; sshfs, s3fs, gcsfuse and the like are what is met

_TIGHT, _LITTLE = 64 * 2**20, 2**30  # bytes
_FEW, _SOME = 1_000, 20_000  # inodes: a version takes four


def space(patient: Patient) -> Iterator[Finding]:
    """Room for data and for the names of files, of which a disk may run out first."""
    seen = set()
    for what, folder in _places(patient):
        try:
            device, found = folder.stat().st_dev, os.statvfs(folder)
        except OSError:
            continue  # what is missing is told where it is needed
        if device in seen:
            continue
        seen.add(device)
        size = found.f_bavail * found.f_frsize
        # A file system that makes inodes as it needs them says that it has none.
        inodes = found.f_favail if found.f_files else None
        details = {"path": str(folder), "bytesFree": size, "inodesFree": inodes}
        if size < _TIGHT or (inodes is not None and inodes < _FEW):
            yield problem(f"the disk of {what} is full: {_said(size, inodes)}", _FREE_SOME, details=details)
        elif size < _LITTLE or (inodes is not None and inodes < _SOME):
            yield notice(f"the disk of {what} is nearly full: {_said(size, inodes)}", _FREE_SOME, details=details)
        else:
            yield ok(f"{what}: {_said(size, inodes)}", **details)


_FREE_SOME = "Free some space: `bayou data gc` and `bayou runs gc` remove what has expired."


def kinds(patient: Patient) -> Iterator[Finding]:
    """SQLite shares memory between processes, which a network file system does not have."""
    datastore = patient.datastore
    if datastore is not None:
        kind = kind_of(datastore.catalog_path)
        if is_network(kind):
            yield problem(
                f"the catalog {datastore.catalog_path} is on a network file system ({kind})",
                "Keep the repo, or the folder that SWAMP_HOME names, on a local disk; the datastore may be shared.",
                details={"kind": kind},
            )
        else:
            yield ok(f"the catalog is on {kind or 'a disk of unknown kind'}", kind=kind)
    if isinstance(patient.settings.location, Folder):
        kind = kind_of(patient.settings.location.path)
        if kind in _MEMORY:
            yield notice(
                f"the datastore is in memory ({kind}): a restart of the machine ends it", details={"kind": kind}
            )
        elif is_network(kind):
            yield ok(f"the datastore is on a network file system ({kind}), which several machines may share", kind=kind)
        else:
            yield ok(f"the datastore is on {kind or 'a disk of unknown kind'}", kind=kind)


def links(patient: Patient) -> Iterator[Finding]:
    """Lock files are exchanged by links, which some network and FAT file systems lack."""
    location = patient.settings.location
    if not isinstance(location, Folder):
        return
    cells, key = FileCells(location.path), f"{FOLDER}/{uuid.uuid4()}"

    async def link() -> None:
        await cells.note(key, b"")
        await cells.discard(key)

    patient.ask(lambda _: link())
    yield ok("locks can be kept in the folder")


def kind_of(path: Path) -> str | None:
    """The kind of file system that a path is on; None where the system does not tell."""
    try:
        lines = _MOUNTS.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return None
    real = Path(os.path.realpath(path))
    found: tuple[int, str | None] = (-1, None)
    for line in lines:
        _, mounted, kind, *_ = line.split(" ")
        at = Path(mounted.encode("latin-1", "surrogateescape").decode("unicode_escape"))
        if real.is_relative_to(at) and len(at.parts) >= found[0]:  # of several at one place the last is seen
            found = (len(at.parts), kind)
    return found[1]


def is_network(kind: str | None) -> bool:
    return kind is not None and (kind in _NETWORK or kind.startswith(_FUSE))


def _places(patient: Patient) -> Iterator[tuple[str, Path]]:
    settings = patient.settings
    if isinstance(settings.location, Folder):
        yield "the datastore", settings.location.path
    if settings.cache is not None:
        yield "the cache", _existing(settings.cache)
    if settings.repo is not None:
        yield "the repo", settings.repo


def _existing(folder: Path) -> Path:
    return next(parent for parent in (folder, *folder.parents) if parent.exists())


def _said(size: int, inodes: int | None) -> str:
    free = f"{size / 2**30:.1f} GiB free"
    return free if inodes is None else f"{free}, room for {inodes} files"
