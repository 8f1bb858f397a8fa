"""`bayou pipeline`: jobs are found, run from a URL, and say by their exit code what they left behind."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from bayou.storage.filesystem import FilesystemStore
from bayou.testing.lakes import fill, lake


def bayou(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("bayou")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)  # noqa: S603 - ours


def test_the_list_of_jobs_takes_no_spark(tmp_path: Path) -> None:
    code = (
        "import sys; from bayou.cli.start import run; assert run(['pipeline', 'list', '--json']) == 0;"
        "assert 'pyspark' not in sys.modules and 'bayou.pipelines.source' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)  # noqa: S603 - ours
    assert done.returncode == 0, done.stderr
    assert {"stats", "scrub", "index"} <= {one["job"] for one in json.loads(done.stdout)}


def test_a_scrub_that_leaves_damage_says_so_and_reports_it_twice(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    asyncio.run(fill(FilesystemStore(folder), lake(models=2)))
    (folder / "data/aws/vpc/id-1/state-0/1/raw").write_bytes(b"rotten")
    arguments = ("--url", "store", "--master", "local[1]", "--report", "scrub.html", "--json")
    done = bayou("pipeline", "run", "scrub", *arguments, cwd=tmp_path)
    assert done.returncode == 4, done.stderr
    document = json.loads(done.stdout)
    assert (document["corrupt"], document["damaged"], document["dryRun"]) == (1, 1, False)
    assert "id-1/state-0/1/raw" in (tmp_path / "scrub.html").read_text()


def test_a_report_that_has_no_folder_is_refused_before_spark_starts(tmp_path: Path) -> None:
    done = bayou("pipeline", "run", "stats", "--url", "store", "--report", "no/such/stats.html", cwd=tmp_path)
    assert done.returncode == 2
    assert "'no/such'" in done.stderr
    assert "starting Spark" not in done.stderr


def test_a_java_that_does_not_start_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "release").write_text('JAVA_VERSION="17.0.1"\n')
    (tmp_path / "bin/java").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin/java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    done = bayou("pipeline", "run", "stats", "--url", "store", cwd=tmp_path)
    assert f"The Java of {tmp_path} was used" in done.stderr
    assert "Traceback" not in done.stderr
