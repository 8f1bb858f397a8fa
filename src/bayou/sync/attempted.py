"""Attempted: what this machine put at paths that may change, and perhaps did not live to list.

An upload replaces what the index says and nothing else, so bytes that nobody listed are in everybody's way. Those of
our own are not in ours: an earlier push of the same file was cut off after its upload.
"""

from collections.abc import Iterable, Mapping

from bayou.domain.content import ContentId
from bayou.sync.reports import Reports

_PREFIX = "put/"
_SIZE = 32
_MOST = 8
"""Attempts at one path that are remembered."""


def attempted(reports: Reports) -> dict[str, frozenset[ContentId]]:
    return {path: frozenset(_split(value)) for path, value in reports.notes(_PREFIX).items()}


def attempt(reports: Reports, contents: Mapping[str, ContentId]) -> None:
    """These are about to be put. Said before it is done, all in one."""
    known = reports.notes(_PREFIX) if contents else {}
    said = {path: dict.fromkeys([*_split(known.get(path, b"")), content]) for path, content in contents.items()}
    reports.set_notes(_PREFIX, {path: bytes.fromhex("".join([*all_][-_MOST:])) for path, all_ in said.items()})


def settle(reports: Reports, paths: Iterable[str]) -> None:
    """The index says what lies there now."""
    reports.set_notes(_PREFIX, dict.fromkeys(paths))


def _split(value: bytes) -> list[ContentId]:
    return [value[start : start + _SIZE].hex() for start in range(0, len(value), _SIZE)]
