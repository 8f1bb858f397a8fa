"""Hydrating: fetch content that both sides know and that is not on this machine.

What is asked for is written down first, so that whoever syncs next goes on where this one stopped. A file is here
verified against the content that was agreed on, or it is not here.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bayou.domain.scopes import EVERYTHING, Scope
from bayou.errors import BayouError, Unavailable
from bayou.layout.artifacts import Part, VersionFile
from bayou.layout.meanings import meaning
from bayou.layout.scoping import covers
from bayou.remotes import packs
from bayou.remotes.objects import each
from bayou.remotes.packs import Packed
from bayou.sync import disk
from bayou.sync.ends import Ends
from bayou.sync.here import content_here
from bayou.sync.installing import UNPACKED, Expected, Installer, by_name
from bayou.sync.journal import Journal
from bayou.sync.objects import bring, unpacked
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
        here: set[str] = set()

        async def unpack(paths: Sequence[str]) -> None:
            with suppress(BayouError):  # whatever it is, it meets each of them by itself, and is reported there
                here.update(await _unpack(installer, paths, packed, expected, report))

        async def fetch(path: str) -> None:
            try:
                await _fetch(installer, path, expected, report)
            except Unavailable:
                raise
            except BayouError as error:
                report.failed[path] = str(error)

        try:
            await each(UNPACKED, by_name(packed.files, str), unpack)
            await each(ends.pulls, [path for path in contents if path not in here], fetch)
        finally:
            await installer.finish()


async def _unpack(
    installer: Installer, paths: Sequence[str], packed: Packed, expected: Expected, report: Report
) -> Iterable[str]:
    """Install what comes out of packs: all of it at once, as these are files of one name. What does not come, or meets
    something that was changed here, is left to be fetched by itself.
    """
    came = {path: await unpacked(packed, expected.content[path], report.moved) for path in paths}
    arrived = {path: one for path, one in came.items() if one is not None}
    if not arrived or not await installer.install(arrived, expected):
        return ()
    report.pulled += arrived
    report.done(len(arrived))
    return arrived


async def _fetch(installer: Installer, path: str, expected: Expected, report: Report) -> None:
    ends, content = installer.ends, expected.content[path]
    came = await bring(ends.store, ends.key(path), lambda: temporary(ends), report.moved)
    if came is None:
        report.failed[path] = "the index lists it, and there is no such object"
        return
    try:
        if came.content != content:
            report.failed[path] = (
                f"its object is not what was agreed on (sha256 {content} expected, {came.content} found):"
                " a pull tells whether it was changed"
            )
        elif await installer.install({path: came}, expected):
            report.pulled.append(path)
            report.done()
        else:
            report.failed[path] = "it changed here while it was fetched"
    finally:
        if isinstance(came.body, Path):
            came.body.unlink(missing_ok=True)


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
