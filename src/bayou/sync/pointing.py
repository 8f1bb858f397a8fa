"""Pointing: let the `latest` markers in the cache say what was decided."""

from collections.abc import Callable, Iterable

from bayou.domain.content import ContentId
from bayou.domain.plan import Step
from bayou.errors import BayouError
from bayou.layout.artifacts import LATEST, Part
from bayou.remotes.objects import each
from bayou.storage.arriving import Arrived
from bayou.storage.port import Version
from bayou.sync import markers
from bayou.sync.ends import Ends
from bayou.sync.installing import CHANGED, Delivery, Expected, Installer
from bayou.sync.markers import COMING, GOING, NONE, Marker
from bayou.sync.planning import Planned
from bayou.sync.report import Report


async def point(ends: Ends, planned: Planned, decided: Iterable[Marker], report: Report) -> list[Marker]:
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
    with ends.installs.change(*(marker.path for marker in moving)) as change:
        installer = Installer(ends, change, sequence)
        moved: list[Marker] = []
        for marker in moving:
            await installer.deliver(_delivery(planned, marker, versions.get(marker.path), moved.append, report))
        await installer.finish()
    return moved


def _delivery(
    planned: Planned,
    marker: Marker,
    known: tuple[ContentId, str] | None,
    moved: Callable[[Marker], None],
    report: Report,
) -> Delivery:
    def settled(why: str | None) -> None:
        if why is None:
            moved(marker)
        elif why != CHANGED:  # else somebody moved it himself
            report.failed[marker.path] = why

    expected = Expected(marker.step.local, planned.local.files)
    if marker.content is None:
        return Delivery({}, expected, [marker.path], settled)
    version = Version(known[1] if known is not None and known[0] == marker.sha256 else "")
    arrived = Arrived(marker.sha256 or "", len(marker.content), version, marker.content)
    return Delivery({marker.path: arrived}, expected, (), settled)


async def settle_here(ends: Ends, planned: Planned, report: Report) -> None:
    """Move the markers of this cache that are behind; those that are ahead are for a push to tell of."""
    # Also what only a push will list: a marker never goes back behind a version that is on its way.
    coming, going = (markers.moving(planned.plan.steps, actions) for actions in (COMING, GOING))
    steps = markers.markers_of(planned)
    listed = markers.versions_of(ends, planned, steps)

    async def settle(step: Step) -> Marker | None:
        path = step.unit.key
        try:
            return await markers.settle(ends, step, (listed[path] | coming.get(path, NONE)) - going.get(path, NONE))
        except BayouError as error:
            report.failed[path] = str(error)
            return None

    settled = [marker for marker in await each(ends.pulls, steps, settle) if marker is not None]
    decided = [m for m in settled if m.content is not None and not m.is_news_there and _has_arrived(ends, m)]
    report.pulled += [marker.path for marker in await point(ends, planned, decided, report)]


def _has_arrived(ends: Ends, marker: Marker) -> bool:
    """Whether the version that it names is here. One that did not arrive keeps its marker for the next pull: a name
    never comes without its bytes.
    """
    number = int(marker.content or b"0")
    version = f"{marker.path.removesuffix(LATEST)}{number}"
    return not marker.is_news_here or ends.tree.size(f"{version}/{Part.METADATA}") is not None
