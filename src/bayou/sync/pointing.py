"""Pointing: let the `latest` markers in the cache say what was decided."""

from collections.abc import Iterable

from bayou.errors import BayouError
from bayou.storage.port import Version
from bayou.sync import markers
from bayou.sync.ends import Ends
from bayou.sync.installing import Expected, Installer
from bayou.sync.markers import COMING, GOING, NONE, Marker
from bayou.sync.objects import Arrived
from bayou.sync.planning import Planned
from bayou.sync.report import Report


async def point(ends: Ends, planned: Planned, decided: Iterable[Marker]) -> list[Marker]:
    """Move or remove these here, and let the base say so; what somebody moved meanwhile is left alone."""
    base, sequence = ends.journal.base, planned.scan.sequence
    decided = list(decided)
    moving = [m for m in decided if not m.is_ahead_here and (m.is_news_here or m.content is None)]
    same = [m for m in decided if m.content is not None and (m.is_ahead_here or not m.is_news_here)]
    base.agree(((marker.path, marker.sha256 or "") for marker in same), as_of=sequence)
    base.forget(marker.path for marker in decided if marker.content is None and marker.is_ahead_here)
    if not moving:
        return []
    versions = base.versions([marker.path for marker in moving])
    moved = []
    with ends.installs.change(*(marker.path for marker in moving)) as change:
        installer = Installer(ends, change, sequence)
        try:
            for marker in moving:
                path, expected = marker.path, Expected(marker.step.local, planned.local.files)
                if marker.content is None:
                    done = await installer.remove([path], expected)
                else:
                    known = versions.get(path, ("", ""))
                    version = Version(known[1] if known[0] == marker.sha256 else "")
                    arrived = Arrived(marker.sha256 or "", len(marker.content), version, marker.content)
                    done = await installer.install({path: arrived}, expected)
                moved += [marker] if done else []
        finally:
            await installer.finish()
    return moved


async def settle_here(ends: Ends, planned: Planned, report: Report) -> None:
    """Move the markers of this cache that are behind; those that are ahead are for a push to tell of."""
    # Also what only a push will list: a marker never goes back behind a version that is on its way.
    coming, going = (markers.moving(planned.plan.steps, actions) for actions in (COMING, GOING))
    decided = []
    for step in markers.markers_of(planned):
        try:
            path = step.unit.key
            marker = await markers.settle(ends, planned, step, coming.get(path, NONE), going.get(path, NONE))
        except BayouError as error:
            report.failed[step.unit.key] = str(error)
            continue
        if marker.content is not None and not marker.is_news_there:
            decided.append(marker)
    report.pulled += [marker.path for marker in await point(ends, planned, decided)]
