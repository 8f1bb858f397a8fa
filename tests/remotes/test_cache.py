"""The cache of an index is derived: what keeps it from being kept keeps nobody from working."""

from pathlib import Path

import pytest

from bayou.errors import ErrorKind, Unavailable
from bayou.remotes.cache import Cache
from bayou.remotes.parts import Part


def test_a_file_that_cannot_be_used_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "folder.db").mkdir()
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "folder.db", tmp_path / "file/index.db"):
        cache = Cache(path)
        cache.keep(Part(b"{}", "digest"))
        assert cache.part("digest").body == b"{}"
        cache.close()


def test_a_disk_that_gets_full_meanwhile_is_named(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "index.db")
    cache._connection.pragma("max_page_count", 20)
    with pytest.raises(Unavailable, match="cache of the index") as full:
        cache.keep(Part(bytes(10**6), "digest"))
    assert full.value.kind is ErrorKind.STORE_FULL
    cache.close()
