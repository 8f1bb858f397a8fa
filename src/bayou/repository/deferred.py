"""Deferred writes: versions that stay out of `latest` until all of a run is known to be good, or are taken back."""

from collections.abc import Callable
from types import TracebackType
from typing import Self

from bayou.domain.artifacts import Artifact, ArtifactKey
from bayou.errors import BayouError
from bayou.repository.content import Given
from bayou.repository.deletions import remove_versions
from bayou.repository.drafts import Draft
from bayou.repository.holdings import Holdings, folder_of
from bayou.repository.saving import save
from bayou.repository.versions import committing, move_marker
from bayou.tree.names import position, read_artifact


class Deferred:
    """As a context manager it advances when all went well, and rolls back when anything was raised."""

    def __init__(self, holdings: Holdings) -> None:
        self._holdings = holdings
        self._written: list[tuple[ArtifactKey, int]] = []

    def save(self, key: ArtifactKey, given: Given, draft: Draft) -> Artifact:
        artifact = save(self._holdings, key, given, draft, advance=False)
        if not draft.is_ephemeral:
            self.take(key, artifact)
        return artifact

    def take(self, key: ArtifactKey, artifact: Artifact) -> None:
        """Answer for a version that was finalized without being advanced."""
        self._written.append((key, artifact.version))

    def advance(self) -> list[BayouError]:
        """Let each be the latest of its name. One that cannot be holds up no other; returns what went wrong."""
        return self._each(self._advance)

    def rollback(self) -> list[BayouError]:
        """Remove each. One that cannot be removed holds up no other; returns what went wrong."""
        return self._each(self._roll_back)

    def _advance(self, key: ArtifactKey, number: int) -> None:
        tree = self._holdings.tree
        with tree.lock(folder_of(key)):
            where = position(tree, key)
            if number <= (where.marker or 0) or number not in where.numbers:
                return  # a later one is the latest already, or somebody has deleted it
            with committing(self._holdings, key) as (change, settling):
                move_marker(change, key, number)
                artifact = read_artifact(tree, key, number)
                if artifact:
                    settling.wrote(key, artifact, None)

    def _roll_back(self, key: ArtifactKey, number: int) -> None:
        with self._holdings.tree.lock(folder_of(key)):
            remove_versions(self._holdings, key, [number])

    def _each(self, step: Callable[[ArtifactKey, int], None]) -> list[BayouError]:
        errors = []
        for key, number in self._written:
            try:
                step(key, number)
            except BayouError as error:
                errors.append(error)
        self._written.clear()
        return errors

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        failed = self.rollback() if error else self.advance()
        if failed and error is None:
            raise failed[0] if len(failed) == 1 else ExceptionGroup("some versions could not be advanced", failed)
