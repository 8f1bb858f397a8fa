"""Deciding: what becomes of a conflict whose one side was kept aside. It needs no network: it is a local change."""

from pathlib import Path

from bayou.errors import ErrorKind, NotFound
from bayou.layout.places import conflict
from bayou.sync.ends import installing
from bayou.sync.installing import lock_name
from bayou.sync.journal import Journal
from bayou.tree import Tree


def kept_at(journal: Journal, path: str) -> Path:
    """Where our side of a conflict over this path is."""
    inside = f"{journal.namespace}/{path}" if journal.namespace else path
    return journal.place.cache / conflict(inside)


def take_theirs(journal: Journal, path: str) -> None:
    """What is there stays; ours is dropped for good."""
    _check(journal, path)
    kept_at(journal, path).unlink(missing_ok=True)
    journal.reports.end_conflict(path)


def take_mine(journal: Journal, tree: Tree, path: str) -> None:
    """Ours takes the place of theirs again, as a change that the next push delivers."""
    _check(journal, path)
    kept = kept_at(journal, path)
    if not kept.is_file():
        raise NotFound(
            f"our side of the conflict over {path!r} is not at {kept} any more",
            kind=ErrorKind.CONTENT_MISSING,
            remedy=f"Decide for theirs: bayou conflicts take-theirs {path}.",
        )
    with tree.lock(lock_name(path)):
        # It is synced whatever folder it is in, so it is written as sync writes; but as a change that is ours.
        done = journal.changing([path])
        with installing(tree, journal).change(path) as change:
            change.adopt(path, str(kept))
        done()
    journal.changes.record([path])
    journal.reports.end_conflict(path)


def _check(journal: Journal, path: str) -> None:
    if path not in {kept.path for kept in journal.reports.conflicts()}:
        raise NotFound(
            f"there is no conflict over {path!r}",
            kind=ErrorKind.DATA_MISSING,
            remedy="List them: bayou conflicts list.",
        )
