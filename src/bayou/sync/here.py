"""What is here, looked at now: files that nobody marked, in units that somebody else changed.

A scan looks at what was marked and at nothing else. Before anything of this machine gives way to news, it is known for
sure what that would be: also where somebody edited a file and told nobody, or where one is simply gone.
"""

from collections.abc import Iterable
from pathlib import Path

from bayou.domain.content import ContentId
from bayou.errors import BayouError
from bayou.storage.oserrors import translated
from bayou.sync import disk
from bayou.sync.stats import Stamp, StatCache


def look(root: Path, stats: StatCache, paths: Iterable[str]) -> dict[str, ContentId | None]:
    """The content of each file, None where nothing is; nothing of what cannot be looked at, or is no file."""
    found: dict[str, ContentId | None] = {}
    stamps: list[tuple[str, Stamp]] = []
    for path in paths:
        try:
            with translated(path):
                seen = disk.look(f"{root}/{path}")
        except BayouError:
            continue
        if seen is None:
            found[path] = None
        elif seen.form is disk.Form.FILE:
            stamps.append((path, seen.stamp))
    found |= stats.known(stamps)
    for path, _ in stamps:
        if path not in found:
            try:
                with translated(path):
                    read = disk.read(f"{root}/{path}", _never)
            except BayouError:
                continue
            if read is not None:
                found[path] = read.content
    return found


def content_here(root: Path, path: str) -> ContentId | None:
    """What is in a file at this moment, by reading it."""
    read = disk.read(f"{root}/{path}", _never)
    return None if read is None else read.content


def _never() -> None:
    pass
