"""What a run of a synced datastore exchanges with the others: its models are pulled before, and pushed after.

A place that cannot be reached stops no run. What it produced waits in the cache, is shown by `bayou status`, and is
delivered by the next sync. What else keeps it from being pushed, such as credentials that ended meanwhile, is an error
that says so: somebody has to do something.
"""

from functools import partial
from typing import TYPE_CHECKING

from bayou.datastore.coordination import Exchange
from bayou.datastore.remote import Local, joined
from bayou.domain.scopes import Scope
from bayou.errors import BayouError, LockTimeout, Unavailable
from bayou.locks import Hold
from bayou.sync.report import Report
from bayou.sync.syncing import Job, Sync

if TYPE_CHECKING:
    from bayou.datastore.datastore import Datastore

_SHOWN = 3


def exchange(datastore: "Datastore", local: Local, *, lazy: bool) -> Exchange:
    seconds = datastore.settings.sync_timeout_ms / 1000

    async def before(scope: Scope, hold: Hold) -> None:
        hold.check()
        await _sync(Job(pushes=False, scope=scope, lazy=lazy, seconds=seconds), "the newest state was not fetched")
        datastore.catalog.catch_up()

    async def after(scope: Scope, hold: Hold) -> None:
        await _fence(hold)
        # At the commit in any case: a lock that somebody ended by force was proven a moment before.
        job = Job(pulls=False, scope=scope, seconds=seconds, fence=partial(_fence, hold, anew=True))
        report = await _sync(job, "what was produced waits on this machine")
        for path, why in list(report.failed.items())[:_SHOWN] if report else ():
            datastore.notice(f"{path} waits on this machine: {why}")
        if report is not None and report.stop is not None:
            datastore.notice(f"nothing was pushed ({report.stop.value}): `bayou sync` says what to do")

    async def _sync(job: Job, otherwise: str) -> Report | None:
        try:
            async with joined(local, writes=job.pushes) as found:
                return await Sync(found.ends).run(job)
        except (Unavailable, LockTimeout) as error:
            datastore.notice(f"{otherwise}, the next sync makes up for it: {error}")
            return None
        except BayouError as error:
            error.message = f"{otherwise}, the next sync makes up for it: {error.message}"
            raise

    return Exchange(before, after)


async def _fence(hold: Hold, *, anew: bool = False) -> None:
    if not await hold.still_held(anew=anew):
        hold.check()
