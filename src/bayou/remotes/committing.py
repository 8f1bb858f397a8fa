"""Committing: from a changeset to an index that says so, under the global lock, again until nobody interferes."""

from dataclasses import replace
from uuid import UUID

from bayou.errors import Conflict, ErrorKind, UsageError
from bayou.remotes import dual, sharded
from bayou.remotes.attempts import Attempt
from bayou.remotes.changes import Changeset, Commit, StillHeld
from bayou.remotes.looking import Format, Place, look


async def commit(place: Place, changeset: Changeset, still_held: StillHeld, store: UUID | None = None) -> Commit:
    """Make the index say what the changeset wants, where it still says what the changeset expects.

    Running it again after any failure is right: what was done is found done.
    """
    _check_address(place, changeset, store)
    attempt = Attempt(place, still_held)

    async def once() -> Commit:
        head = await look(attempt.place, closely=True)
        commit_to = sharded.commit if head.format is Format.SHARDED else dual.commit
        done = await commit_to(attempt, changeset, head)
        undisturbed = not attempt.doubted and not done.imported and not done.repaired
        return replace(done, alone=undisturbed and head.token == changeset.on)

    return await attempt.until_undisturbed(once)


def _check_address(place: Place, changeset: Changeset, store: UUID | None) -> None:
    if changeset.namespace != place.namespace:
        here, there = place.namespace or "no namespace", changeset.namespace or "no namespace"
        message = f"this push was prepared for {there} and must not be committed to {here}"
        raise UsageError(message, remedy="Prepare it again for the namespace that is bound now.")
    if changeset.store is not None and store is not None and changeset.store != store:
        message = f"this push was prepared for the store {changeset.store}, and this is {store}"
        raise Conflict(message, kind=ErrorKind.PRECONDITION_FAILED, remedy="Run the sync again: it plans anew.")
