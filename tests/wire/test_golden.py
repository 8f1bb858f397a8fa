"""The golden data decides: what an existing client wrote is decoded, and encoded again to the same bytes."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bayou.wire import export, index, lock, manifest, meta, sidecar, times
from bayou.wire.documents import Void

GOLDEN = Path(__file__).parent.parent / "golden"
MONOLITHS = sorted(GOLDEN.glob("*/bucket/**/.datastore-index.json"))
LOCAL_COPIES = sorted(GOLDEN.glob("*/cache*/.datastore-index.json"))
METAS = sorted(GOLDEN.glob("*/bucket/**/_index/_meta.json"))
SHARDS = sorted(set(GOLDEN.glob("*/bucket/**/_index/*.json")) - set(METAS))
SIDECARS = sorted([*GOLDEN.glob("*/cache*/.datastore-sync-state.json"), *GOLDEN.glob("a4-sidecar-states/*.json")])
MANIFESTS = sorted(GOLDEN.glob("*/bucket/**/.namespace.json"))
EXPORTS = sorted(GOLDEN.glob("*/bucket/**/.catalog-export.json"))
LOCKS = sorted(GOLDEN.glob("f-lock/*.lock"))


def every(paths: list[Path]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    assert paths
    return pytest.mark.parametrize("path", paths, ids=[str(path.relative_to(GOLDEN)) for path in paths])


@every(MONOLITHS)
def test_a_monolith_is_written_as_it_was_read(path: Path) -> None:
    found = index.decode_monolith(path.read_bytes(), str(path))
    assert found.entries
    assert not found.skipped
    assert index.encode_monolith(found) == path.read_bytes()


@every(LOCAL_COPIES)
def test_a_local_copy_of_the_index_is_written_as_it_was_read(path: Path) -> None:
    found = index.decode_monolith(path.read_bytes(), str(path))
    assert found.entries
    # A cold pull leaves the compact text of the remote; everything else is pretty.
    encode = index.encode_local_copy if b"\n" in path.read_bytes() else index.encode_monolith
    assert encode(found) == path.read_bytes()


@every(SHARDS)
def test_a_shard_is_written_as_it_was_read(path: Path) -> None:
    found = index.decode_shard(path.read_bytes(), str(path))
    assert not isinstance(found, Void)
    assert found.entries
    assert not found.skipped
    assert index.encode_shard(found) == path.read_bytes()


@every(METAS)
def test_a_meta_is_written_as_it_was_read(path: Path) -> None:
    found = meta.decode(path.read_bytes(), str(path))
    assert not isinstance(found, Void)
    assert found.fingerprints is None
    assert meta.encode(found) == path.read_bytes()


@every(SIDECARS)
def test_a_sidecar_is_written_as_it_was_read(path: Path) -> None:
    found = sidecar.decode(path.read_bytes(), str(path))
    assert not isinstance(found, Void)
    assert sidecar.encode(found) == path.read_bytes()


@every(MANIFESTS)
def test_a_manifest_is_written_as_it_was_read(path: Path) -> None:
    found = manifest.decode(path.read_bytes(), str(path))
    assert found.namespace == path.parent.name
    assert manifest.encode(found) == path.read_bytes()


@every(EXPORTS)
def test_a_catalog_export_is_written_as_it_was_read(path: Path) -> None:
    rows = export.decode(path.read_bytes(), str(path))
    assert rows
    assert export.encode(rows) == path.read_bytes()


@every(LOCKS)
def test_a_lock_is_written_as_it_was_read(path: Path) -> None:
    found = lock.decode(path.read_bytes(), str(path))
    assert not isinstance(found, Void)
    assert found.nonce
    assert lock.encode(found) == path.read_bytes()


@every(sorted(GOLDEN.glob("*/cache*-mtimes.json")))
def test_a_file_time_is_cut_off_as_the_existing_client_does(path: Path) -> None:
    files = json.loads(path.read_bytes())
    assert files
    for file in files:
        # The text reads like this: 2026-11-18 19:38:49.168027685 +0000
        seconds, fraction = file["mtimeNs"].removesuffix(" +0000").split(".")
        milliseconds = times.to_milliseconds(seconds)
        assert milliseconds is not None
        assert times.to_text(milliseconds * 1_000_000 + int(fraction)) == file["mtimeMs"]


def test_an_entry_holds_the_file_time_of_the_client_that_uploaded_it() -> None:
    folder = GOLDEN / "a-v1-dual-write"
    entries = index.decode_monolith((folder / "bucket/.datastore-index.json").read_bytes(), "index").entries
    written = {file["path"]: file["mtimeMs"] for file in json.loads((folder / "cache-mtimes.json").read_bytes())}
    assert {path: entry.local_mtime for path, entry in entries.items()} == {path: written[path] for path in entries}
