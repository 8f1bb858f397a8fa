"""What `make demo` shows is what it says."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.server
def test_the_demo_shows_what_it_promises() -> None:
    command = [sys.executable, "-m", "demo"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=240)  # noqa: S603 - ours
    assert done.returncode == 0, done.stderr
    for twice in (  # on a folder and on a real S3 server
        "honours create-if-absent: yes, replace-if-match: yes",
        "16 writers claim one name: 1 wins",
        "it says 40,",
    ):
        assert done.stdout.count(twice) == 2
    for line in (
        "update   failed: the name server refused it",
        "latest state of prod-vpc: version 1, VpcId vpc-1",
        'attributes.status == "failed"  ->  web-02/health\n',
        'name == "zone" && version > 0  ->  nothing',
        'did you mean "attributes"?',
        "upgrade succeeded; kept result version 1",
        "3 found",
        "its own bytes were found there",
        "1048576 bytes, equal: True",
        "up and down again, 128 MiB, streamed",
        "hydration full",
        "there is data already: its content is fetched when it is asked for",
        "notes/2 now: its number was taken",
        "in repo one, newest first: ['seen by two', 'seen by one']",
        "in repo two, newest first: ['seen by two', 'seen by one']",
        'get web-01 health --verify\n      {"status":"ok"}',
        "without asking anybody: 1 paths wait",
        "its index names 36 files in 21 partitions",
        "the index has the same bytes: True",
        "36 of 36 objects have the content that the index says",
        "so 0 parts are read the next time",
        "36 of 36 objects are what the index says, 0 are not",
        "the report is one page",
        "the server is stopped",
    ):
        assert line in done.stdout
