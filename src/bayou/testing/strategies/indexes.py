"""Index entries and whole indexes."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache

from hypothesis import strategies as st
from msgspec.structs import replace

from bayou.domain.entries import Entry

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@cache
def times() -> st.SearchStrategy[str]:
    """Times as every client writes them: UTC, milliseconds, `Z`."""
    return st.integers(0, 2**42).map(_text)


def _text(milliseconds: int) -> str:
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def entries(path: str) -> st.SearchStrategy[Entry]:
    """Entries for this path, also such as discovery makes: without a hash and without a local time."""
    return _entries_of_nothing().map(lambda entry: replace(entry, key=path))


@cache
def _entries_of_nothing() -> st.SearchStrategy[Entry]:
    hashes = st.binary(max_size=8).map(lambda content: hashlib.sha256(content).hexdigest())
    return st.builds(Entry, st.just(""), st.integers(0, 2**53 - 1), times(), st.none() | times(), st.none() | hashes)


@st.composite
def indexes(draw: st.DrawFn, paths: st.SearchStrategy[str], *, max_size: int = 12) -> dict[str, Entry]:
    """Entries by path, for paths of the given strategy."""
    found = draw(st.dictionaries(paths, _entries_of_nothing(), max_size=max_size))
    return {path: replace(entry, key=path) for path, entry in found.items()}


def index_of(tree: Mapping[str, bytes], time: str = "2026-01-01T00:00:00.000Z") -> dict[str, Entry]:
    """The index of a cache tree that was pushed as it is."""
    return {
        path: Entry(path, len(content), time, time, hashlib.sha256(content).hexdigest())
        for path, content in tree.items()
    }
