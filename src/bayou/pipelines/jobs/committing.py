"""Committing: what executors found becomes one commit of the driver, under the global lock, as with every writer."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from bayou.locks import Hold, Waiting
from bayou.pipelines.jobs.context import Context
from bayou.pipelines.locking import locks_of
from bayou.remotes import Change, Changeset, Commit, ObjectRemote
from bayou.storage.probing import Ability, probe

T = TypeVar("T")
Changes = Callable[[ObjectRemote], Awaitable[tuple[Sequence[Change], int]]]


def commit_to(
    context: Context, namespace: str, changes: Changes, *, structural: bool = False
) -> tuple[Commit | None, int]:
    """Commit what `changes` makes of the index as it is under the lock; and give back what else it says.

    `structural` is for what no run may meet: it waits until nobody holds a model.
    """

    async def work(remote: ObjectRemote, hold: Hold) -> tuple[Commit | None, int]:
        made, other = await changes(remote)
        if not made:
            return None, other
        head = await remote.head()
        changeset = Changeset(namespace, tuple(made), on=head.token)
        return await remote.commit(changeset, lambda: hold.seems_held), other

    return _locked(context, namespace, work, structural=structural)


def rebuild(context: Context, namespace: str) -> None:
    async def work(remote: ObjectRemote, hold: Hold) -> None:
        await remote.rebuild(lambda: hold.seems_held)

    _locked(context, namespace, work)


def _locked(
    context: Context,
    namespace: str,
    work: Callable[[ObjectRemote, Hold], Awaitable[T]],
    *,
    structural: bool = False,
) -> T:
    abilities = context.on_driver(probe)
    several = abilities.several_writers

    async def working(hold: Hold) -> T:
        async with context.reach.store() as store:
            with ObjectRemote(store, namespace, conditional=several is not Ability.NO) as remote:
                return await work(remote, hold)

    def waiting(whom: Waiting) -> None:
        context.say(f"waiting for {whom.holder}, who holds {whom.lock_key}")

    with (
        locks_of(context.reach, namespace, several, waiting) as locks,
        locks.structure() if structural else locks.commit() as hold,
    ):
        return asyncio.run(working(hold))
