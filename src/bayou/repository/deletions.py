"""Delete versions and names for good, or write a version that says that something was deleted."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from bayou.domain.artifacts import JSON, Artifact, ArtifactKey, Owner, check_owner, deletion, latest_of_chains
from bayou.domain.models import Model
from bayou.domain.retention import KeepNewest, versions_to_drop
from bayou.errors import BayouError, Corrupt, ErrorKind, NotFound
from bayou.layout.artifacts import LATEST, Part, model_folder, version_folder
from bayou.repository import content as contents
from bayou.repository.holdings import Holdings, folder_of
from bayou.repository.reads import versions
from bayou.repository.versions import committing, locked_latest, move_marker, path_of, put
from bayou.tree import Written
from bayou.tree.names import look, position, read_artifact


class Target(NamedTuple):
    """What is to be deleted: one version, or a name with all of them."""

    key: ArtifactKey
    version: int | None = None

    def __str__(self) -> str:
        return str(self.key) if self.version is None else f"version {self.version} of {self.key}"


class Deleted(NamedTuple):
    """What became of a batch."""

    versions: dict[Target, list[int]]
    failures: dict[Target, BayouError]


def delete(holdings: Holdings, key: ArtifactKey, version: int | None = None) -> list[int]:
    """Delete one version, or the name with all of them; says which versions these were. `latest` follows."""
    _check_there(holdings, [Target(key, version)])
    return _delete(holdings, Target(key, version))


def delete_each(holdings: Holdings, targets: Iterable[Target]) -> Deleted:
    """Delete many. What is not there is refused before anything is deleted; one that fails does not stop the rest."""
    targets = list(dict.fromkeys(targets))
    _check_there(holdings, targets)
    deleted = Deleted({}, {})
    for target in targets:
        try:
            deleted.versions[target] = _delete(holdings, target)
        except BayouError as error:
            deleted.failures[target] = error
    return deleted


def names_with(holdings: Holdings, model: Model, prefix: str = "") -> list[Target]:
    """The names of a model that begin like this, for `delete_each`."""
    names = sorted(name for name in holdings.tree.names(model_folder(model)) if name.startswith(prefix))
    targets = (Target(ArtifactKey(model, name)) for name in names if name != ".lock")
    return [target for target in targets if versions(holdings.tree, target.key)]


def mark_deleted(holdings: Holdings, key: ArtifactKey, writer: Owner, *, method: str) -> Artifact:
    """Write a version that says that the thing itself is gone. It repeats what was last known of it."""
    with locked_latest(holdings, key) as found:
        if found is None or found.artifact.is_deleted:
            raise _missing([Target(key)])
        check_owner(key.name, found.artifact.owner, writer)
        at = holdings.now()
        last = {**_attributes(holdings, found.key, found.artifact), "deletedAt": at, "deletedByMethod": method}

        def describe(number: int, written: Written) -> Artifact:
            marker = deletion(found.artifact, number, at)
            return msgspec.structs.replace(marker, owner=writer, size=written.size, checksum=written.sha256)

        return put(holdings, found.key, position(holdings.tree, found.key), contents.of_value(last), describe)


def hide(holdings: Holdings, key: ArtifactKey) -> None:
    """Let nothing be the latest of this name, until it is written again. All versions stay (weakness 35)."""
    with holdings.tree.lock(folder_of(key)):
        _check_there(holdings, [Target(key)])
        with committing(holdings, key) as (change, _):
            move_marker(change, key, 0)


def trim(holdings: Holdings, key: ArtifactKey, keep: int) -> list[int]:
    """Remove the oldest versions, so that this many remain, and the latest of each step. For who holds the lock."""
    found = look(holdings.tree, key)
    if found is None or len(found.finished) <= keep:
        return []
    chains = []
    for number in found.finished:
        try:
            artifact = read_artifact(holdings.tree, key, number)
        except Corrupt:
            continue
        if artifact:
            chains.append((number, artifact.chain))
    heads = latest_of_chains(chains, found.marker)
    advanced = {number: None for number in found.finished if found.marker is None or number <= found.marker}
    gone = versions_to_drop(advanced, KeepNewest(keep), holdings.moment(), keep=heads)
    remove_versions(holdings, key, gone)
    return gone


def remove_versions(holdings: Holdings, key: ArtifactKey, numbers: Sequence[int]) -> None:
    """Remove these, and let `latest` be the highest below it that remains. For who holds the lock of the name."""
    if not numbers:
        return
    tree, folder = holdings.tree, folder_of(key)
    gone = [version_folder(key.model, key.name, number) for number in numbers]
    with holdings.catalog.changing(key):
        with tree.removal(*gone) as removal:
            for version in gone:
                removal.remove_folder(version)
        where = position(tree, key)
        if not where.numbers:
            with tree.removal(folder) as removal:
                removal.remove_folder(folder)
        elif where.marker != (where.latest or 0):
            with tree.change(f"{folder}/{LATEST}") as change:
                move_marker(change, key, where.latest or 0)


def remove_name(holdings: Holdings, key: ArtifactKey) -> None:
    """Remove all of it at one moment. For who holds the lock of the name."""
    folder = folder_of(key)
    with holdings.catalog.changing(key), holdings.tree.removal(folder) as removal:
        removal.remove_folder(folder)


def _delete(holdings: Holdings, target: Target) -> list[int]:
    key, version = target
    with holdings.tree.lock(folder_of(key)):
        found = versions(holdings.tree, key)
        if version is None:
            remove_name(holdings, key)
            return found
        remove_versions(holdings, key, [version])
        return [version] if version in found else []


def _check_there(holdings: Holdings, targets: Sequence[Target]) -> None:
    missing = []
    for target in targets:
        found = versions(holdings.tree, target.key)
        if not found or (target.version is not None and target.version not in found):
            missing.append(target)
    if missing:
        raise _missing(missing)


def _missing(targets: Sequence[Target]) -> NotFound:
    return NotFound(f"there is no {', no '.join(map(str, targets))}", kind=ErrorKind.DATA_MISSING)


def _attributes(holdings: Holdings, key: ArtifactKey, artifact: Artifact) -> dict[str, object]:
    if artifact.content_type != JSON:
        return {}
    raw = holdings.tree.read(path_of(key, artifact.version, Part.RAW))
    try:
        value = msgspec.json.decode(raw or b"null")
    except (msgspec.DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
