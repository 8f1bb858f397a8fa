"""A short turn of the hammer; `make soak` is the long one."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHORT = {
    "folder": ["--writers", "4", "--rounds", "15", "--every", "0.7", "--blows", "10"],
    "ministack": ["--writers", "3", "--rounds", "6", "--every", "0.5", "--blows", "6"],
}


@pytest.mark.parametrize("place", SHORT)
def test_nothing_that_was_acknowledged_is_lost_whatever_is_done_to_the_writers(place: str) -> None:
    hammer = [sys.executable, "-m", "tests.soak.hammer", place, *SHORT[place], "--models", "2", "--ttl", "1.5"]
    done = subprocess.run(hammer, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)  # noqa: S603
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 killed" not in done.stdout
