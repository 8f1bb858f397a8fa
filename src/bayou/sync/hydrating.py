"""Hydrating: fetch content that both sides know and that is not on this machine.

What is asked for is written down first, so that whoever syncs next goes on where this one stopped. A file is here
verified against the content that was agreed on, or it is not here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bayou.domain.scopes import EVERYTHING, Scope
from bayou.errors import BayouError, Unavailable
from bayou.layout.artifacts import Part, VersionFile
from bayou.layout.meanings import meaning
from bayou.layout.scoping import covers
from bayou.remotes import packs
from bayou.remotes.objects import each
from bayou.remotes.packs import Packed, unpacked
from bayou.storage.arriving import bring
from bayou.sync import disk
from bayou.sync.ends import Ends
from bayou.sync.here import content_here
from bayou.sync.installing import Delivery, Expected, Installer
from bayou.sync.journal import Journal
from bayou.sync.pulling import temporary
from bayou.sync.report import Report
from bayou.wire.packs import Pack

_AT_ONCE = 5000


def absent(journal: Journal, scope: Scope = EVERYTHING, *, wanted: bool = False) -> list[str]:
    """What both sides know and is not here; with `wanted` only what somebody asked for."""
    return [
        known.path
        for known in journal.base.absent()
        if known.content is not None and (known.is_wanted or not wanted) and covers(scope, known.path)
    ]


async def hydrate(ends: Ends, paths: Sequence[str], report: Report) -> None:
    """Fetch what of these is not here. One that fails is in the report, and stays wanted; the rest is not held up.

    Where the store does not answer any more all of it ends, with what arrived until then in place.
    """
    lacking = list(_lacking(ends, paths))
    ends.journal.base.want(lacking)
    report.expect(len(lacking))
    known = await packs.known(ends.remote.place, len(lacking))
    for first in range(0, len(lacking), _AT_ONCE):
        await _fetch_all(ends, lacking[first : first + _AT_ONCE], known, report)


def _lacking(ends: Ends, paths: Sequence[str]) -> Iterator[str]:
    """Those that both sides know and that are not here. What is here after all is noted on the way."""
    for first in range(0, len(paths), _AT_ONCE):
        chunk = paths[first : first + _AT_ONCE]
        known, arrived = ends.journal.base.get(chunk), []
        for path in chunk:
            row = known.get(path)
            if row is None or row.content is None:
                continue
            if disk.look(str(ends.file(path))) is None:
                yield path
            elif not row.is_here and content_here(ends.tree.root, path) == row.content:
                arrived.append(path)
        ends.journal.base.set_here(arrived, is_here=True)


async def _fetch_all(ends: Ends, chunk: Sequence[str], held: Sequence[Pack], report: Report) -> None:
    sequence = ends.journal.changes.position.sequence
    known = ends.journal.base.get(chunk)
    contents = {path: row.content for path, row in known.items() if row.content is not None}
    packed = await packs.packed(ends.remote.place, held, contents)
    with ends.installs.change(*contents) as change:
        installer, expected = Installer(ends, change, sequence), _StillWanted(contents, {})

        async def fetch(path: str) -> None:
            try:
                await _fetch(installer, path, packed, expected, report)
            except Unavailable:
                raise
            except BayouError as error:
                report.failed[path] = str(error)

        try:
            await each(ends.pulls, sorted(contents), fetch)
        finally:
            await installer.finish()


async def _fetch(installer: Installer, path: str, packed: Packed, expected: Expected, report: Report) -> None:
    ends, content = installer.ends, expected.content[path]
    came = await unpacked(packed, content, report.moved)
    came = came or await bring(ends.store, ends.key(path), lambda: temporary(ends), report.moved)
    if came is None:
        report.failed[path] = "the index lists it, and there is no such object"
        return
    if came.content != content:
        report.failed[path] = (
            f"its object is not what was agreed on (sha256 {content} expected, {came.content} found):"
            " a pull tells whether it was changed"
        )
        came.discard()
        return

    def settled(why: str | None) -> None:
        if why is None:
            report.pulled.append(path)
            report.done()
        else:
            report.failed[path] = why

    await installer.deliver(Delivery({path: came}, expected, (), settled))


@dataclass(frozen=True, slots=True)
class _StillWanted(Expected):
    """What is not here is to come, unless its version was deleted meanwhile."""

    def holds(self, ends: Ends, paths: Sequence[str]) -> bool:
        for path in paths:
            match meaning(path):
                case VersionFile(model, name, version, Part.RAW):
                    metadata = VersionFile(model, name, version, Part.METADATA).path
                    if disk.look(str(ends.file(metadata))) is None:
                        return False
        # `Expected` by its name: `super()` knows nothing of the class that `slots` makes anew.
        return Expected.holds(self, ends, paths)
