"""A large file moves in bounded memory (design: a 5 GiB file in under 200 MiB; benchmarks/large_file.py moves one)."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bayou.config.locations import S3, Location
from bayou.testing.servers import Server

SIZE = 512 << 20
MOST = 200 << 20
linux_only = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="measures memory through /proc")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    with path.open("wb") as file:
        file.truncate(SIZE)
    return path


def peak(direction: str, where: str, file: Path) -> int:
    """The memory that moving a file takes on top of what a process that uses the store takes anyway."""
    script = Path(__file__).with_name("move_large_file.py")
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, script, direction, where, file],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        check=True,
    )
    return int(json.loads(done.stdout)["peak"])


@linux_only
def test_a_bucket(rclone: Server, new_location: Callable[[Server], Location], source: Path) -> None:
    location = new_location(rclone)
    assert isinstance(location, S3)
    where = json.dumps([location.bucket, location.region, location.endpoint])
    assert peak("push", where, source) < MOST
    assert peak("pull", where, source) < MOST


@linux_only
def test_a_folder(tmp_path: Path, source: Path) -> None:
    (tmp_path / "store").mkdir()
    where = str(tmp_path / "store")
    assert peak("push", where, source) < MOST
    assert peak("pull", where, source) < MOST
