"""Save versions: whole ones from content, and ones that are streamed straight into their place."""

from contextlib import ExitStack, closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from bayou.domain.artifacts import Artifact, ArtifactKey
from bayou.errors import BayouError, Conflict, NotFound, UsageError
from bayou.layout.artifacts import Part
from bayou.repository import content as contents
from bayou.repository.content import BYTES, Given
from bayou.repository.deletions import trim
from bayou.repository.drafts import Draft
from bayou.repository.ephemeral import Ephemeral
from bayou.repository.holdings import Holdings, folder_of
from bayou.repository.versions import abandoned_on_failure, checked, claim, committing, discard, path_of, publish, put
from bayou.tree import Written
from bayou.tree.names import Position


def save(holdings: Holdings, key: ArtifactKey, given: Given, draft: Draft, *, advance: bool = True) -> Artifact:
    """Write a new version. What may be long is streamed into its place while nobody has to wait for it."""
    content = contents.content(given)
    if draft.is_ephemeral:
        return _memory(holdings, key).save(key, content, draft, holdings.now())
    if content.whole is None:
        with Allocation(holdings, key, draft, content_type=content.content_type) as allocation:
            for chunk in content.chunks():
                allocation.write(chunk)
            return allocation.finalize(advance=advance)
    with holdings.tree.lock(folder_of(key)):
        where = checked(holdings.tree, key, draft.owner)
        artifact = put(
            holdings,
            key,
            where,
            content,
            lambda number, written: draft.artifact(key, number, content.content_type, written, holdings.now()),
            advance=advance,
        )
        _trim(holdings, key, draft, where)
        return artifact


class Allocation:
    """A version that has a number and a file, and that nobody sees until it is finalized.

    Write to it, or let a program write to `path`. Left without `finalize` it is abandoned, and its folder removed.
    """

    def __init__(self, holdings: Holdings, key: ArtifactKey, draft: Draft, *, content_type: str = BYTES) -> None:
        if draft.is_ephemeral:
            raise UsageError(f"{key}: ephemeral data has no file", remedy="Save it as a whole, or give it a lifetime.")
        self.key = key
        self._holdings = holdings
        self._draft = draft
        self._content_type = content_type
        with ExitStack() as opened:
            with holdings.tree.lock(folder_of(key)):
                where = checked(holdings.tree, key, draft.owner)
                self._change = opened.enter_context(holdings.tree.change(folder_of(key)))
                self.version = claim(self._change, key, where)
            self._raw = path_of(key, self.version, Part.RAW)
            with abandoned_on_failure(self._change, key, self.version):
                self._writing = opened.enter_context(closing(self._change.begin(self._raw)))
            self._opened = opened.pop_all()
        self._finalized = False

    @property
    def path(self) -> Path:
        return self._holdings.tree.locate(self._raw)

    def write(self, chunk: bytes) -> int:
        return self._writing.write(chunk)

    def finalize(self, *, advance: bool = True) -> Artifact:
        """Make it a version: the latest one, unless a later one came to be in the meantime, or it is not to advance."""
        holdings, key = self._holdings, self.key
        try:
            written = self._finished()
            artifact = self._draft.artifact(key, self.version, self._content_type, written, holdings.now())
            with holdings.tree.lock(folder_of(key)):
                where = checked(holdings.tree, key, self._draft.owner)
                self._check_there(holdings.tree.size(self._raw) == written.size)
                with committing(holdings, key) as (change, settling):
                    publish(change, key, artifact, where, advance=advance)
                    self._finalized = True
                    settling.wrote(key, artifact, None)
                _trim(holdings, key, self._draft, where)
        finally:
            self.abandon()
        return artifact

    def _finished(self) -> Written:
        try:
            return self._writing.finish()
        except NotFound:
            self._check_there(False)
            raise

    def _check_there(self, there: bool) -> None:  # noqa: FBT001 - what it says is all that it takes
        # Metadata without the bytes that it speaks of would be the one thing that must never be seen.
        if not there:
            raise Conflict(
                f"{self.key}: somebody removed or changed version {self.version} while it was being written",
                remedy="Write it again.",
            )

    def abandon(self) -> None:
        """Leave nothing of it, unless it is finalized."""
        if not self._finalized:
            discard(self._change, self.key, self.version)
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.abandon()


def _memory(holdings: Holdings, key: ArtifactKey) -> Ephemeral:
    if holdings.ephemeral is None:
        raise UsageError(
            f"{key}: ephemeral data lives as long as a run, and there is none",
            remedy="Write it within a run, or give it a lifetime that is kept on the disk.",
        )
    return holdings.ephemeral


def _trim(holdings: Holdings, key: ArtifactKey, draft: Draft, before: Position) -> None:
    """What cannot be dropped now goes with a later gc: it is no reason to say that a version was not saved."""
    keep = draft.garbage_collection
    if holdings.auto_gc and isinstance(keep, int) and len(before.numbers) >= keep:
        with suppress(BayouError):
            trim(holdings, key, keep)
