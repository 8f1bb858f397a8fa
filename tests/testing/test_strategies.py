"""What the strategies promise to those who use them."""

import hashlib
import json
import tempfile
from pathlib import Path

import yaml
from hypothesis import given

from bayou.domain.entries import Entry
from bayou.layout.artifacts import LatestMarker, Part, VersionFile
from bayou.layout.internal import never_crosses
from bayou.layout.meanings import meaning
from bayou.layout.safety import fault
from bayou.testing.strategies import cache_trees, index_of, indexes, safe_paths


@given(cache_trees())
def test_a_cache_tree_can_be_written_to_disk_and_synced(tree: dict[str, bytes]) -> None:
    assert all(fault(path) is None and not never_crosses(path) for path in tree)
    with tempfile.TemporaryDirectory() as folder:
        for path, content in tree.items():
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        found = {path.relative_to(folder).as_posix() for path in Path(folder).rglob("*") if path.is_file()}
    assert found == tree.keys()


@given(cache_trees())
def test_every_version_of_a_cache_tree_is_whole(tree: dict[str, bytes]) -> None:
    for path, content in tree.items():
        match meaning(path):
            case VersionFile(model, name, version, Part.RAW):
                assert VersionFile(model, name, version, Part.METADATA).path in tree
            case VersionFile(model, name, version, Part.METADATA):
                raw = tree[VersionFile(model, name, version, Part.RAW).path]
                metadata = yaml.safe_load(content)
                assert (metadata["name"], metadata["version"]) == (name, version)
                assert (metadata["size"], metadata["checksum"]) == (len(raw), hashlib.sha256(raw).hexdigest())
            case LatestMarker(model, name):
                assert VersionFile(model, name, int(content), Part.RAW).path in tree
            case _:
                pass


@given(cache_trees())
def test_the_index_of_a_tree_describes_it(tree: dict[str, bytes]) -> None:
    index = index_of(tree)
    assert index.keys() == tree.keys()
    assert all(entry.key == path and entry.size == len(tree[path]) for path, entry in index.items())


@given(indexes(safe_paths()))
def test_an_index_has_an_entry_for_each_path(index: dict[str, Entry]) -> None:
    assert all(entry.key == path for path, entry in index.items())
    assert json.loads(json.dumps(list(index))) == list(index)
