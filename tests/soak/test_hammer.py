"""A short turn of the hammer; `make soak` is the long one."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("place", ["folder", "ministack"])
def test_nothing_that_was_acknowledged_is_lost_whatever_is_done_to_the_writers(place: str) -> None:
    hammer = [sys.executable, str(Path(__file__).with_name("hammer.py")), place]
    short = ["--writers", "4", "--rounds", "20", "--models", "2", "--ttl", "1.5", "--every", "0.7", "--blows", "12"]
    done = subprocess.run([*hammer, *short], capture_output=True, text=True, check=False, timeout=300)  # noqa: S603
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 killed" not in done.stdout
