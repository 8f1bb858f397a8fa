"""Many processes and threads on one catalog, and the programs that a rebuild starts."""

import subprocess
import sys
import threading

import pytest

from bayou.catalog import Catalog, looking
from bayou.catalog.looking import Task, look_at_all
from bayou.catalog.reading import Known
from bayou.testing.catalogs import Files, contents, key_of, rebuilt

HAMMER = """
import sys
from pathlib import Path
from bayou.catalog import Catalog
from bayou.testing.catalogs import Files, key_of
me, files = int(sys.argv[2]), Files(Path(sys.argv[1]))
with Catalog.open(files.path, files.tree, notice=lambda text: sys.exit(text)) as catalog:
    for turn in range(25):
        key = key_of(f"state-{me}-{turn % 3}")
        with catalog.changing(key) as settling:
            settling.wrote(key, files.write(key), b'{"a":1}')
        assert [row.artifact.version for row in catalog.latest("", "web", key.name)] == [turn // 3 + 1]
        assert catalog.count("is_latest = 1") >= 1
        if turn % 8 == me:
            catalog.sweep()
"""


def test_eight_processes_write_and_ask_at_once(files: Files) -> None:
    command = [sys.executable, "-c", HAMMER, str(files.root)]
    running = [subprocess.Popen([*command, str(number)], stderr=subprocess.PIPE, text=True) for number in range(8)]  # noqa: S603 - ourselves
    failures = [process.communicate(timeout=120)[1] for process in running]
    assert failures == [""] * 8
    with Catalog.open(files.path, files.tree) as catalog:
        assert catalog.count() == 8 * 25
        assert contents(catalog) == rebuilt(files, files.root / "new.db")


def test_threads_share_a_catalog(files: Files, catalog: Catalog) -> None:
    failures: list[BaseException] = []

    def hammer(me: int) -> None:
        try:
            for _ in range(15):
                key = key_of(f"state-{me}")
                with catalog.changing(key) as settling:
                    settling.wrote(key, files.write(key), b'{"a":1}')
                assert len(list(catalog.rows("name = ?", (key.name,)))) >= 1
        except BaseException as error:  # noqa: BLE001 - told to the test
            failures.append(error)

    threads = [threading.Thread(target=hammer, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert catalog.count() == 4 * 15


FORK = """
import os, sys
from pathlib import Path
from bayou.catalog import Catalog
from bayou.testing.catalogs import Files, key_of
files = Files(Path(sys.argv[1]))
with Catalog.open(files.path, files.tree) as catalog:
    files.write(key_of("parent"))
    catalog.sweep()
    child = os.fork()
    if not child:
        with catalog.changing(key_of("child")):
            files.write(key_of("child"))
        os._exit(0 if catalog.count() == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert catalog.count() == 2
"""


def test_a_forked_process_has_connections_of_its_own(files: Files) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", FORK, str(files.root)], check=True, timeout=60)  # noqa: S603 - ourselves


def tasks(files: Files, count: int) -> list[Task]:
    for number in range(count):
        files.write(key_of(f"state-{number:03}"))
    files.age()
    known = {9: Known(0, hydrated=True, streaming=False)}  # else it would come in a part
    return [Task(str(key_of().model.type), key_of().model.id, f"state-{number:03}", known) for number in range(count)]


def test_workers_find_what_we_would(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tasks(files, 260)
    alone = [answer for _, answers in look_at_all(files.tree, asked) for answer in answers.each]
    started: list[object] = []
    make = looking._Worker

    def counted(*arguments: object) -> object:
        started.append(arguments)
        return make(*arguments)

    monkeypatch.setattr(looking, "_FEW", 10)
    monkeypatch.setattr(looking, "_count", lambda: 2)
    monkeypatch.setattr(looking, "_Worker", counted)
    found = list(look_at_all(files.tree, asked))
    assert [task for tasks, _ in found for task in tasks] == asked
    assert [answer for _, answers in found for answer in answers.each] == alone
    assert started


@pytest.mark.parametrize("fault", ["no program", "killed"])
def test_what_workers_cannot_do_is_done_here(files: Files, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    asked = tasks(files, 150)
    monkeypatch.setattr(looking, "_FEW", 10)
    monkeypatch.setattr(looking, "_count", lambda: 2)
    if fault == "no program":
        monkeypatch.setattr(sys, "executable", "/bin/false")
    else:
        ask = looking._Worker.ask

        def killing(worker: looking._Worker, asked: list[Task]) -> object:
            worker._process.kill()
            return ask(worker, asked)

        monkeypatch.setattr(looking._Worker, "ask", killing)
    answers = [answer for _, given in look_at_all(files.tree, asked) for answer in given.each]
    assert [answer.found is not None and len(answer.found.read) for answer in answers] == [1] * 150


def test_a_rebuild_through_workers_gives_the_same_rows(
    files: Files, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks(files, 120)
    catalog.sweep()
    before = contents(catalog)
    monkeypatch.setattr(looking, "_count", lambda: 2)
    monkeypatch.setattr(looking, "_FEW", 5)
    catalog.rebuild()
    assert contents(catalog) == before
