"""The front: `with` and `async with`, threads and loops, interrupts, and what others are told."""

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bayou.domain.models import Model
from bayou.errors import BayouError, Unavailable
from bayou.layout.keys import Keyspace
from bayou.locks import FileCells, LockBusy, LockLost, Locks, Scope, StoreCells, Waiting
from bayou.locks.bodies import Identity, State
from bayou.locks.nesting import CURRENT, HELD, HOLDER_PID, Announcement, Family, inherited
from bayou.storage import ANY, Body, Condition, Version
from bayou.testing.legacylocks import LegacyFileLock
from bayou.testing.memory import MemoryStore

KEYS = Keyspace()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def open_locks(root: Path) -> Iterator[Callable[..., Locks]]:
    opened: list[Locks] = []

    def make(**settings: object) -> Locks:
        opened.append(Locks(lambda: FileCells(root), KEYS, **{"ttl": 30, "timeout": 0} | settings))  # type: ignore[arg-type]
        return opened[-1]

    yield make
    for locks in opened:
        locks.close()


def lock_file(root: Path) -> Path:
    return root / ".datastore.lock"


def test_a_hold_lasts_as_long_as_its_block_and_ends_on_an_exception_too(
    open_locks: Callable[..., Locks], root: Path
) -> None:
    locks = open_locks()
    with locks.commit() as hold:
        assert lock_file(root).exists()
        hold.check()
        hold.confirm(anew=True)
        assert hold.tokens == (json.loads(lock_file(root).read_bytes())["nonce"],)
    assert not lock_file(root).exists()
    assert not hold.seems_held
    with pytest.raises(ZeroDivisionError), locks.commit():
        raise ZeroDivisionError
    assert not lock_file(root).exists()


def test_the_same_from_a_loop(open_locks: Callable[..., Locks], root: Path, shell: Model) -> None:
    async def main() -> None:
        locks = open_locks()
        async with locks.models([shell]) as run, locks.commit() as commit:
            assert await run.still_held()
            assert await commit.still_held(anew=True)
            assert lock_file(root).exists()
        assert not lock_file(root).exists()
        async with locks.structure():
            pass

    asyncio.run(main())


def test_two_threads_of_one_process_keep_each_other_out(open_locks: Callable[..., Locks]) -> None:
    locks = open_locks(timeout=30)
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(3):
            with locks.commit():
                inside += 1
                most = max(most, inside)
                time.sleep(0.01)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_block_within_a_block_does_not_wait_for_itself(
    open_locks: Callable[..., Locks], shell: Model, vpc: Model
) -> None:
    locks, other = open_locks(), open_locks()
    with locks.models([shell]) as outer, other.models([shell, vpc]) as inner:
        assert len(outer.leases) == len(inner.leases) == 1
        with locks.commit(), other.commit() as borrowed:
            assert borrowed.leases == []
            assert borrowed.seems_held
            borrowed.confirm()
        with locks.structure():
            pass
    with locks.models([shell]) as again:
        assert again.seems_held
    assert CURRENT.get() == Family()


def test_a_loss_is_told_at_once_and_found_at_the_next_check(open_locks: Callable[..., Locks], root: Path) -> None:
    with open_locks(ttl=0.3).commit() as hold:
        told = threading.Event()
        hold.lost.add_done_callback(lambda _: told.set())
        lock_file(root).unlink()
        thief = LegacyFileLock(lock_file(root))
        assert thief.try_acquire()
        assert told.wait(20)
        assert not hold.seems_held
        assert "ci@legacy-host" in str(hold.lost.result())
        with pytest.raises(LockLost):
            hold.check()
        with pytest.raises(LockLost):
            hold.confirm()
    assert thief.inspect()  # it was not ours to release


def test_a_loss_can_be_awaited(open_locks: Callable[..., Locks], root: Path) -> None:
    async def main() -> None:
        async with open_locks(ttl=0.3).commit() as hold:
            lock_file(root).unlink()
            error = await asyncio.wait_for(asyncio.wrap_future(hold.lost), 20)
            assert error.kind == "lock_lost"
            assert not await hold.still_held()

    asyncio.run(main())


def test_a_wait_shows_the_holder_and_ends_with_the_time(open_locks: Callable[..., Locks], root: Path) -> None:
    told: list[Waiting] = []
    assert LegacyFileLock(lock_file(root)).try_acquire()
    with pytest.raises(LockBusy), open_locks(notice=told.append).commit(timeout=0.3):
        pass
    assert [(waiting.lock_key, waiting.holder) for waiting in told] == [
        (".datastore.lock", f"ci@legacy-host (pid {os.getpid()})")
    ]


def test_an_interrupt_ends_a_wait_and_leaves_nothing_behind(open_locks: Callable[..., Locks], root: Path) -> None:
    theirs = LegacyFileLock(lock_file(root))
    assert theirs.try_acquire()
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt), open_locks(timeout=60).commit():
        pass
    theirs.release()
    time.sleep(0.7)
    assert not lock_file(root).exists()


def test_an_interrupt_in_the_moment_of_success_gives_the_lock_back(
    open_locks: Callable[..., Locks], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bayou.locks.hold.ANNOUNCEMENT.add", interrupt)
    with pytest.raises(KeyboardInterrupt), open_locks().commit():
        pass
    assert not lock_file(root).exists()


def test_a_cancelled_task_leaves_nothing_behind(open_locks: Callable[..., Locks], root: Path) -> None:
    async def main() -> None:
        theirs = LegacyFileLock(lock_file(root))
        assert theirs.try_acquire()
        locks = open_locks(timeout=60)
        task = asyncio.create_task(locks.commit().__aenter__())
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        theirs.release()
        await asyncio.sleep(0.7)
        assert not lock_file(root).exists()

    asyncio.run(main())


def test_a_lock_that_cannot_be_given_back_is_trouble_and_no_failure() -> None:
    class Deaf(MemoryStore):
        is_deaf = False

        async def put(self, key: str, body: Body, *, when: Condition = ANY) -> Version:
            if self.is_deaf:
                raise Unavailable("no answer")
            return await super().put(key, body, when=when)

    store, trouble = Deaf(), list[BayouError]()
    with Locks(lambda: StoreCells(store), KEYS, trouble=trouble.append) as locks, locks.commit():
        store.is_deaf = True
    assert [error.message for error in trouble] == ["no answer"]


def test_children_learn_what_is_held_from_the_environment(
    open_locks: Callable[..., Locks], shell: Model, vpc: Model
) -> None:
    locks = open_locks()
    assert HOLDER_PID not in os.environ
    with locks.models([shell]) as outer:
        assert os.environ[HOLDER_PID] == str(os.getpid())
        with locks.models([vpc]) as inner:
            assert inherited(os.environ) == Family(frozenset({*outer.tokens, *inner.tokens}))
            assert inner.environment()[HELD] == os.environ[HELD]
        assert inherited(os.environ) == Family(frozenset(outer.tokens))
    assert HOLDER_PID not in os.environ
    assert HELD not in os.environ


def test_what_a_parent_said_is_passed_on_and_restored() -> None:
    environ = {HELD: "by:7,theirs", HOLDER_PID: "7"}
    announcement = Announcement(environ)
    announcement.add(["ours"])
    announcement.add(["also"])
    assert environ == {HELD: f"by:{os.getpid()},also,ours,theirs", HOLDER_PID: str(os.getpid())}
    announcement.take_back(["ours"])
    assert inherited(environ) == Family(frozenset({"also", "theirs"}))
    announcement.take_back(["also"])
    assert environ == {HELD: "by:7,theirs", HOLDER_PID: "7"}


def test_an_existing_client_is_waited_for_by_nobody_inside_of_it_however_deep() -> None:
    environ = {HOLDER_PID: "7"}
    announcement = Announcement(environ)
    announcement.add([])  # the lock that it wanted is that of the existing client
    assert inherited(environ).parents == {7}
    announcement.add(["ours"])  # one that is not
    assert inherited(environ) == Family(frozenset({"ours"}), frozenset({7}))
    environ[HOLDER_PID] = "8"  # started by us, and holds locks of its own
    assert inherited(environ) == Family(frozenset({"ours"}), frozenset({7, 8}))


def test_whose_family_a_holder_is() -> None:
    who = Identity("me@here", "here", 9)

    def state(nonce: str, pid: int, host: str) -> State:
        body = {"holder": "x", "hostname": host, "pid": pid, "acquiredAt": "", "ttlMs": 30000, "nonce": nonce}
        store = MemoryStore()
        cells = StoreCells(store)
        asyncio.run(cells.create("k", json.dumps(body).encode()))
        return State(asyncio.run(cells.read("k")), "k")

    ours = inherited({HELD: "by:7,a,b", HOLDER_PID: "7"})
    assert ours.holds(state("b", 1, "far"), who)
    assert not ours.holds(state("c", 7, "here"), who)  # another thread of our parent, as we know exactly what it holds
    legacy = inherited({HOLDER_PID: "7"})
    assert legacy.holds(state("c", 7, "here"), who)
    assert not legacy.holds(state("c", 7, "far"), who)
    assert not legacy.holds(state("c", 8, "here"), who)
    assert not inherited({HOLDER_PID: "x"}).holds(state("c", 7, "here"), who)


# Looking, and ending by force.


def test_status_shows_what_is_held_by_whom_without_any_lock(
    open_locks: Callable[..., Locks], shell: Model, root: Path
) -> None:
    locks, observer = open_locks(), open_locks()
    (overall,) = observer.status()
    assert (overall.scope, overall.lock_key, overall.is_held) == (Scope.GLOBAL, ".datastore.lock", False)
    with locks.models([shell]) as run, locks.commit():
        model, overall = observer.status()
        assert (model.scope, model.lock_key, model.nonce) == (Scope.MODEL, KEYS.model_lock(shell), run.tokens[0])
        assert (model.pid, model.ttl, model.is_held) == (os.getpid(), 30.0, True)
        assert model.holder is not None
        assert model.holder.endswith(f"@{model.hostname}")
        assert model.age is not None
        assert model.age < 20
        assert overall.is_held
        assert [info.scope for info in observer.status(walk=True)] == [Scope.MODEL, Scope.GLOBAL]
    assert LegacyFileLock(root / "data/echo/m/.lock").try_acquire()
    assert len(observer.status()) == 1
    assert observer.status(walk=True)[0].lock_key == "data/echo/m/.lock"


def test_a_hold_is_ended_by_its_nonce_and_by_no_other(open_locks: Callable[..., Locks], root: Path) -> None:
    locks, observer = open_locks(ttl=1), open_locks()
    assert not observer.release_by_force(".datastore.lock", "x")
    with locks.commit() as hold:
        assert not observer.release_by_force(".datastore.lock", "x")
        assert hold.seems_held
        assert observer.release_by_force(".datastore.lock", hold.tokens[0])
        assert not lock_file(root).exists()
        hold.lost.result(20)
        assert not observer.release_by_force(".datastore.lock", hold.tokens[0])
    lock_file(root).write_bytes(b"not json")
    (info,) = observer.status()
    assert (info.is_held, info.holder, info.nonce) == (True, None, None)
    assert observer.release_by_force(".datastore.lock", None)
    assert not lock_file(root).exists()


def test_a_sweep_of_a_folder_removes_the_notes(open_locks: Callable[..., Locks], shell: Model, root: Path) -> None:
    locks = open_locks()
    with locks.models([shell]):
        assert locks.sweep([shell]) == 0
    notes = root / "_control/bayou/leases/models"
    assert [path for path in notes.rglob("*") if path.is_file()]
    assert locks.sweep([]) == 0
    assert locks.sweep([shell]) == 1
    assert [path for path in root.rglob("*") if path.is_file()] == []


def test_the_thread_ends_with_the_front(root: Path) -> None:
    before = threading.active_count()
    with Locks(lambda: FileCells(root), KEYS) as locks, locks.commit():
        assert threading.active_count() > before
    assert not [thread for thread in threading.enumerate() if thread.name == "bayou-locks"]
