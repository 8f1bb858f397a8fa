"""Rename: the latest version is copied under the new name, and the old one says where it has gone."""

from uuid import uuid4

import msgspec

from bayou.domain.artifacts import Artifact, ArtifactKey, check_owner, renaming
from bayou.errors import Conflict, ErrorKind, NotFound
from bayou.layout.artifacts import Part
from bayou.repository import content as contents
from bayou.repository.deletions import remove_versions
from bayou.repository.holdings import Holdings, folder_of
from bayou.repository.reads import owner
from bayou.repository.versions import path_of, put
from bayou.tree import Tree, Written
from bayou.tree.names import Position, position, read_artifact


def rename(holdings: Holdings, old: ArtifactKey, name: str) -> Artifact:
    """Give the latest version another name; returns it. Reads of the old name's latest lead to it.

    Undone when the old name cannot be made to say so: a thing never has two names.
    """
    tree, new = holdings.tree, ArtifactKey(old.model, name)
    with tree.lock(folder_of(old), folder_of(new)):
        where = position(tree, old)
        target = position(tree, new)
        last = _checked(tree, old, where, new, target)
        copy = _copy(holdings, old, last, new, target)
        try:
            _leave_word(holdings, old, last, where, name)
        except BaseException:
            remove_versions(holdings, new, [copy.version])
            raise
        return copy


def _checked(tree: Tree, old: ArtifactKey, where: Position, new: ArtifactKey, target: Position) -> Artifact:
    """The version that gets another name, once it is clear that it can."""
    last = read_artifact(tree, old, where.latest) if where.latest else None
    if last is None or last.is_deleted:
        gone = (
            ""
            if last is None
            else f": it was renamed to {last.renamed_to!r}"
            if last.renamed_to
            else ": it was deleted"
        )
        raise NotFound(f"there is no {old}{gone}", kind=ErrorKind.DATA_MISSING)
    taken = read_artifact(tree, new, target.latest) if target.latest else None
    if taken is not None and not taken.is_deleted:
        raise Conflict(
            f"{new} exists already",
            kind=ErrorKind.ALREADY_EXISTS,
            remedy="Choose another name, or delete that one first.",
        )
    if last.owner is not None:
        check_owner(new.name, owner(tree, new, target), last.owner)
    return last


def _copy(holdings: Holdings, old: ArtifactKey, last: Artifact, new: ArtifactKey, where: Position) -> Artifact:
    raw = path_of(old, last.version, Part.RAW)

    def describe(number: int, written: Written) -> Artifact:
        at = holdings.now()
        size, checksum = written
        changed = {"name": new.name, "version": number, "created_at": at, "size": size, "checksum": checksum}
        return msgspec.structs.replace(last, id=str(uuid4()), **changed)

    with holdings.tree.open(raw) as file:
        if file is None:
            raise NotFound(
                f"the content of version {last.version} of {old} is not on this machine",
                kind=ErrorKind.CONTENT_MISSING,
                remedy="Read it first, so that it is fetched; then rename it.",
            )
        return put(holdings, new, where, contents.of_stream(file), describe)


def _leave_word(holdings: Holdings, old: ArtifactKey, last: Artifact, where: Position, name: str) -> None:
    at = holdings.now()
    word = contents.of_value({"renamedTo": name, "renamedAt": at})
    put(holdings, old, where, word, lambda number, _: renaming(last, number, at, name))
