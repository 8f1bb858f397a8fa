"""A meeting: two computers that changed and deleted things offline, one of which has told the bucket already. What the
other one's sync has to do is all that a sync can do; tests cut it off at every point.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from bayou.layout.places import CONFLICTS
from bayou.testing.computers import MODEL, TYPE, Computer, name_of

STREAM = name_of("stream")
OTHER = "7d9b2c1e-0a51-4c3e-9a55-1f4f0d6a1c99"
RECORD = f"outputs/{TYPE}/create/{MODEL}-2026-11-02T08-15-30-{{}}Z.yaml"


def record(identity: str, status: str, version_id: str = "") -> bytes:
    named = f"artifacts:\n- dataId: {version_id}\n  version: 2\n" if version_id else ""
    return f"id: {identity}\nstatus: {status}\n{named}".encode()


async def meet(one: Computer, two: Computer) -> None:
    """Afterwards `two` has pushed, and `one` has everything to do."""
    one.write_version(1, b"first")
    one.write_version(1, b"gone", name="old")
    one.write_version(1, b"line", name="stream", version_id="stream", streaming=True)
    for name in ("both", "theirs", "ours", "deleted-here", "deleted-there"):
        one.write(f"logs/{name}", b"0")
    one.write(RECORD.format("001"), record("r1", "running"))
    await one.sync()
    await two.sync()

    one.write_version(2, b"one's second", version_id="one")
    one.write_version(3, b"one's third")
    one.write(RECORD.format("002"), record("r2", "succeeded", "one"))
    one.write_version(1, b"line, one's", name="stream", version_id="stream", streaming=True)
    one.write("logs/both", b"one's")
    one.write("logs/ours", b"changed by one")
    one.write("logs/new", b"new")
    one.delete("logs/deleted-here")
    one.delete_version(1, name="old")

    two.write_version(2, b"two's second", version_id="two")
    two.write_version(1, b"other", model=OTHER)
    two.write_version(1, b"line, two's", name="stream", version_id="stream", streaming=True)
    two.write(RECORD.format("001"), record("r1", "succeeded"))
    two.write("logs/both", b"two's")
    two.write("logs/theirs", b"changed by two")
    two.delete("logs/deleted-there")
    await two.sync()


STATE = name_of()
OLD = name_of("old")


def check_end(one: Computer, two: Computer) -> None:
    """What holds after both have synced, however often and wherever they were cut off."""
    files = one.files()
    assert two.files() == files
    assert files[f"{STATE}/2/raw"] == b"two's second"
    own = {body: path.split("/")[-2] for path, body in files.items() if path.startswith(STATE)}
    assert own[b"one's second"] < own[b"one's third"] == files[f"{STATE}/latest"].decode()
    numbers = {body for path, body in files.items() if path.startswith(STATE) and path.endswith("raw")}
    assert numbers == {b"first", b"two's second", b"one's second", b"one's third"}
    number = own[b"one's second"]
    assert f"version: {number}".encode() in files[RECORD.format("002")]
    assert b"succeeded" in files[RECORD.format("001")]
    streams = {body for path, body in files.items() if path.startswith(STREAM) and path.endswith("raw")}
    assert streams == {b"line, two's", b"line, one's"}
    assert not any(path.startswith(OLD) for path in files)
    logs = {path.removeprefix("logs/"): body for path, body in files.items() if path.startswith("logs/")}
    assert logs == {"both": b"two's", "theirs": b"changed by two", "ours": b"changed by one", "new": b"new"}
    kept = one.journal.place.cache / CONFLICTS / "logs/both"
    assert kept.read_bytes() == b"one's"
    assert [kept.path for kept in one.journal.reports.conflicts()] == ["logs/both"]
    for computer in (one, two):
        assert computer.journal.status().dirty == 0


class Stage:
    """The caches of a meeting, kept as they were, so that it can be played again and again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.played = 0

    def caches(self) -> tuple[Path, Path]:
        self.played += 1
        place = self.root / str(self.played)
        for name in ("one", "two"):
            shutil.copytree(self.root / "kept" / name, place / name, symlinks=True)
        return place / "one", place / "two"

    def end(self) -> None:
        shutil.rmtree(self.root / str(self.played))


def whole(listed: Mapping[str, object], store_has: Mapping[str, object]) -> bool:
    """Whether nobody sees a name without its bytes, or half a version."""
    folders = {path.rpartition("/")[0] for path in listed if path.endswith(("/raw", "/metadata.yaml"))}
    both = all(f"{folder}/{part}" in listed for folder in folders for part in ("raw", "metadata.yaml"))
    return both and listed.keys() <= store_has.keys()
