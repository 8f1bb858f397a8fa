"""Whoever dies between the files and the rows leaves a note, and whoever comes next follows it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bayou.catalog import Catalog
from bayou.testing.catalogs import Files, contents, key_of, rebuilt

WRITER = """
import sys, time
from pathlib import Path
from bayou.catalog import Catalog
from bayou.testing.catalogs import Files, key_of
files = Files(Path(sys.argv[1]))
with Catalog.open(files.path, files.tree) as catalog, catalog.changing(key_of("state")):
    files.write(key_of("state"))
    print("written", flush=True)
    time.sleep(60)
"""


@contextmanager
def writer(files: Files) -> Iterator[subprocess.Popen[str]]:
    """A process that has written files, and not left `changing` yet."""
    command = [sys.executable, "-c", WRITER, str(files.root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - ourselves
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "written\n"
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("asked", ["open", "current", "replay"])
def test_a_killed_writer_is_followed_by_the_next_process(files: Files, asked: str) -> None:
    with Catalog.open(files.path, files.tree) as catalog:
        with writer(files) as process:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        assert catalog.count() == 0
        match asked:
            case "open":
                Catalog.open(files.path, files.tree).close()
            case "current":
                catalog.current()
            case _:
                catalog.replay()
        assert catalog.count() == 1
        assert contents(catalog) == rebuilt(files, files.root / "new.db")
        ((left,),) = catalog._read(lambda database: list(database._writer.execute("SELECT count(*) FROM intent")))
        assert left == 0


def test_a_killed_writer_is_gone_before_anybody_waits_for_it(files: Files) -> None:
    with writer(files) as process, Catalog.open(files.path, files.tree) as catalog:
        os.kill(process.pid, signal.SIGKILL)
        os.waitid(
            os.P_PID, process.pid, os.WEXITED | os.WNOWAIT
        )  # it has ended, and is still in the table of processes
        catalog.replay()
        assert catalog.count() == 1


def test_nobody_replays_the_intent_of_a_living_writer(files: Files) -> None:
    with writer(files), Catalog.open(files.path, files.tree) as catalog:
        catalog.replay()
        assert catalog.count() == 0


def test_a_process_does_not_replay_its_own(files: Files, catalog: Catalog) -> None:
    with catalog.changing(key_of()):
        files.write(key_of())
        with Catalog.open(files.path, files.tree) as other:
            assert other.count() == 0
    assert catalog.count() == 1


def test_a_process_number_that_came_round_again_is_not_its_owner(files: Files, catalog: Catalog) -> None:
    with catalog.changing(key_of()):
        files.write(key_of())
        with catalog._database.writing() as connection:
            connection.execute("UPDATE intent SET started = started - 1")
        catalog.replay()
        assert catalog.count() == 1


def test_a_failure_leaves_the_rows_in_step(files: Files, catalog: Catalog) -> None:
    with pytest.raises(ZeroDivisionError), catalog.changing(key_of(), key_of("other")) as settling:  # noqa: PT012 - it is what changes files that fails
        settling.wrote(key_of(), files.write(key_of()))
        files.write(key_of("other"))
        files.delete(key_of())
        raise ZeroDivisionError
    assert [row.artifact.name for row in catalog.rows()] == ["other"]
