"""From a folder to S3, on to Azure, to GCS, and back to a folder: the same files, whatever their names and sizes."""

from pathlib import Path

import pytest

from bayou.migration.ends import End
from bayou.remotes import ObjectRemote
from bayou.storage.connecting import connect
from bayou.storage.filesystem import FilesystemStore
from bayou.testing.machines import put_objects
from bayou.testing.migrations import carried, listed_in
from bayou.testing.servers.places import new_place

STATE = "data/aws/vpc/a/state"


async def test_there_and_back_again(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    odd = ("a b", "a+b", "a%2Bb", "100%", "ü-日本", "a&b=c?d#e", "'q'")
    files = {f"logs/{name}": name.encode() for name in odd}
    large = bytes(range(256)) * (9 << 12)  # 9 MiB: in parts
    files |= {f"{STATE}/1/raw": large, f"{STATE}/1/metadata.yaml": b"version: 1", f"{STATE}/latest": b"1"}
    first, last = tmp_path / "first", tmp_path / "last"
    for folder in (first, last):
        folder.mkdir()
    source = FilesystemStore(first)
    await put_objects(source, files)
    end = End(ObjectRemote(source), "first", is_folder=True)
    for name in ("ministack", "azurite", "fake_gcs"):
        store = connect(new_place(request.getfixturevalue(name), monkeypatch.setenv, prefix="p q"))
        target = End(ObjectRemote(store), name)
        done = await carried(end, target)
        assert (done.is_complete, done.copied) == (True, len(files)), done
        assert (await listed_in(target)).keys() == files.keys()
        again = await carried(end, target)
        assert (again.is_complete, again.copied) == (True, 0)
        await end.store.close()
        end = target
    target = End(ObjectRemote(FilesystemStore(last)), "last", is_folder=True)
    assert (await carried(end, target)).is_complete
    await end.store.close()
    assert {path: (last / path).read_bytes() for path in files} == files
