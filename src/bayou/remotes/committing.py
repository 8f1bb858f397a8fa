"""Committing: from a changeset to an index that says so, under the global lock, again until nobody interferes."""

from dataclasses import replace
from uuid import UUID

from bayou.errors import Conflict, ErrorKind, UsageError
from bayou.remotes import discovery, dual, sharded
from bayou.remotes.attempts import Attempt
from bayou.remotes.changes import Changeset, Commit, StillHeld
from bayou.remotes.looking import Format, Head, Place, look, remembered


async def commit(
    place: Place,
    changeset: Changeset,
    still_held: StillHeld,
    store: UUID | None = None,
    *,
    follows_ours: bool = False,
) -> Commit:
    """Make the index say what the changeset wants, where it still says what the changeset expects.

    Running it again after any failure is right: what was done is found done.
    """
    _check_address(place, changeset, store)
    attempt = Attempt(place, still_held, follows_ours)

    async def once() -> Commit:
        head = (None if attempt.doubted else _as_listed(place, changeset)) or await look(attempt.place, closely=True)
        commit_to = sharded.commit if head.format is Format.SHARDED else dual.commit
        done = await commit_to(attempt, changeset, head)
        undisturbed = not attempt.doubted and not done.imported and not done.repaired
        return replace(done, alone=undisturbed and head.token == changeset.on)

    return await attempt.until_undisturbed(once)


def _as_listed(place: Place, changeset: Changeset) -> Head | None:
    """A bucket without an index, as it was when this was planned: whoever came in between is met by the writes, each of
    which is on the condition that nothing is there. An object that came in between without one is found by a repair.
    """
    known, _ = remembered(place)
    if known is None or not known.is_new or known.token != changeset.on or not place.conditional:
        return None
    return replace(known, is_listed=True) if discovery.remembered_found(place) is not None else None


def _check_address(place: Place, changeset: Changeset, store: UUID | None) -> None:
    if changeset.namespace != place.namespace:
        here, there = place.namespace or "no namespace", changeset.namespace or "no namespace"
        message = f"this push was prepared for {there} and must not be committed to {here}"
        raise UsageError(message, remedy="Prepare it again for the namespace that is bound now.")
    if changeset.store is not None and store is not None and changeset.store != store:
        message = f"this push was prepared for the store {changeset.store}, and this is {store}"
        raise Conflict(message, kind=ErrorKind.PRECONDITION_FAILED, remedy="Run the sync again: it plans anew.")
