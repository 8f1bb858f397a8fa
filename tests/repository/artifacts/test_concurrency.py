"""Writers in several processes, some of which are killed: nothing is lost, nothing shared, nothing half there."""

import hashlib
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bayou.domain.artifacts import OwnerType
from bayou.errors import Conflict
from bayou.repository import reads
from bayou.repository.saving import save
from bayou.testing.bench import Bench, bench_in
from bayou.tree.names import position

WRITER = Path(__file__).with_name("write_many.py")


@contextmanager
def writer(root: Path, who: str, count: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(WRITER), str(root), who, str(count)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own Python
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def said(process: subprocess.Popen[str]) -> dict[int, str]:
    """The versions that it knows to be saved, and what is in them."""
    assert process.stdout is not None
    lines = [line for line in process.stdout.read().split("\n")[:-1] if line]
    return {int(line.split(" ", 1)[0]): line.split(" ", 1)[1] for line in lines}


def check(root: Path, saved: list[dict[int, str]]) -> None:
    """What holds after any writers, however they ended."""
    with bench_in(root) as bench:
        together = {version: text for one in saved for version, text in one.items()}
        assert len(together) == sum(map(len, saved)), "two writers were told the same number"
        found = reads.versions(bench.tree, bench.key())
        assert set(together) <= set(found)
        for number in found:
            artifact = reads.version(bench.tree, bench.key(), number)
            raw = bench.path("state", number, "raw").read_bytes()
            assert artifact is not None
            assert (artifact.size, artifact.checksum) == (len(raw), hashlib.sha256(raw).hexdigest())
            if number in together:
                assert raw == f"{together[number]} ".encode() * 50
        where = position(bench.tree, bench.key())
        assert where.latest is not None
        assert where.latest >= max(together)
        assert (list(bench.rows()), bench.latest_rows()) == (found, [where.latest])
        assert save(bench.holdings, bench.key(), "next", bench.draft()).version > max(found)


def test_writers_in_several_processes_share_no_number_and_lose_nothing(tmp_path: Path) -> None:
    root = tmp_path / "ds"
    with writer(root, "a", 25) as a, writer(root, "b", 25) as b, writer(root, "c", 25) as c:
        saved = [said(process) for process in (a, b, c)]
        assert [process.wait(60) for process in (a, b, c)] == [0, 0, 0]
    assert [len(one) for one in saved] == [25, 25, 25]
    check(root, saved)


@pytest.mark.parametrize("seed", range(4))
def test_writers_that_are_killed_leave_nothing_half_there(tmp_path: Path, seed: int) -> None:
    root, chance = tmp_path / "ds", random.Random(seed)  # noqa: S311 - no secret
    saved = []
    with writer(root, "survivor", 40) as survivor:
        for round_ in range(3):
            with writer(root, f"victim{round_}", 1000) as victim:
                assert victim.stdout is not None
                first = victim.stdout.readline()  # it has begun
                time.sleep(chance.uniform(0, 0.02))
                victim.kill()
                version, text = first.rstrip().split(" ", 1)
                saved.append({int(version): text, **said(victim)})
        saved.append(said(survivor))
        assert survivor.wait(60) == 0
    check(root, saved)


@pytest.mark.parametrize("what", ["save", "stream", "append", "rename", "delete version", "delete", "deferred"])
def test_wherever_a_writer_dies_what_it_did_is_whole_and_the_next_goes_on(tmp_path: Path, what: str) -> None:
    script = Path(__file__).with_name("die_everywhere.py")
    subprocess.run([sys.executable, str(script), str(tmp_path), what], check=True, timeout=120)  # noqa: S603 - our own Python
    roots = sorted(tmp_path.iterdir(), key=lambda root: int(root.name))
    assert len(roots) > 10
    outcomes = []
    for root in roots:
        with bench_in(root) as bench:
            seen = []
            for name in ("state", "other"):
                found = reads.versions(bench.tree, bench.key(name))
                where = position(bench.tree, bench.key(name))
                assert list(bench.rows(name)) == found, root
                assert bench.latest_rows(name) == ([where.latest] if where.latest else []), root
                for number in found:
                    artifact = reads.version(bench.tree, bench.key(name), number)
                    raw = bench.path(name, number, "raw").read_bytes()
                    assert artifact is not None
                    assert artifact.checksum in {None, hashlib.sha256(raw).hexdigest()}, root
                    seen.append((name, number, raw if artifact.renamed_to is None else b""))
            outcomes.append(seen)
            before = position(bench.tree, bench.key()).highest
            assert save(bench.holdings, bench.key(), "next", bench.draft()).version == before + 1
            latest = reads.latest(bench.tree, bench.key())
            assert latest is not None
            assert latest.artifact.version == before + 1
    whole = {b"one", b"two", b"three", b"two-more", b""}
    assert {raw for seen in outcomes for *_, raw in seen} <= whole
    assert outcomes[0] == [("state", 1, b"one"), ("state", 2, b"two")]
    assert outcomes[-1] != outcomes[0]


APPEND = """
import sys
from pathlib import Path
from bayou.repository.streams import append
from bayou.testing.bench import bench_in
with bench_in(Path(sys.argv[1])) as bench:
    for number in range(30):
        append(bench.holdings, bench.key(), f"{sys.argv[2]} {number}\\n", bench.owner)
"""


def test_what_several_processes_append_is_all_there(tmp_path: Path) -> None:
    root = tmp_path / "ds"
    with bench_in(root) as bench:
        save(bench.holdings, bench.key(), "", bench.draft(streaming=True))
        running = [subprocess.Popen([sys.executable, "-c", APPEND, str(root), who]) for who in "abc"]  # noqa: S603 - our own Python
        assert [process.wait(60) for process in running] == [0, 0, 0]
        lines = bench.path("state", 1, "raw").read_text().splitlines()
        assert [line for line in lines if line[0] == "a"] == [f"a {number}" for number in range(30)]
        assert len(lines) == 90
        found = reads.latest(bench.tree, bench.key())
        assert found is not None
        assert found.artifact.size == bench.path("state", 1, "raw").stat().st_size


def test_readers_never_go_back_in_time_and_never_miss_a_file(tmp_path: Path) -> None:
    root = tmp_path / "ds"
    with bench_in(root) as bench:
        save(bench.holdings, bench.key(), "first", bench.draft())
        seen = 0
        with writer(root, "a", 40) as process:
            while process.poll() is None:
                found = reads.latest(bench.tree, bench.key())
                assert found is not None
                assert found.artifact.version >= seen
                seen = found.artifact.version
                assert len(bench.path("state", seen, "raw").read_bytes()) == found.artifact.size
        assert seen > 1


def test_threads_with_trees_of_their_own_share_no_number(tmp_path: Path) -> None:
    root, numbers = tmp_path / "ds", list[int]()

    def write() -> None:
        with bench_in(root) as bench:
            for _ in range(10):
                numbers.append(save(bench.holdings, bench.key(), "x", bench.draft()).version)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 41))


def test_of_two_that_want_a_new_name_one_gets_it(tmp_path: Path) -> None:
    root, outcomes = tmp_path / "ds", list[str]()

    def write(bench: Bench, ref: str) -> None:
        owner = bench.owner.__class__(owner_type=OwnerType.MANUAL, owner_ref=ref)
        try:
            save(bench.holdings, bench.key(), ref, bench.draft(owner=owner))
            outcomes.append(ref)
        except Conflict:
            outcomes.append("refused")

    with bench_in(root) as one, bench_in(root) as two:
        threads = [threading.Thread(target=write, args=(bench, ref)) for bench, ref in ((one, "x"), (two, "y"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert "refused" in outcomes
    assert len(set(outcomes)) == 2
    assert len(outcomes) == 2
