"""Writers, pushes, crashes, reboots, lost journals and an existing client, in any order: no change is ever lost.

Whatever happened, in the end every change is on the other side, since it was shipped or stayed marked; what was deleted
on purpose is gone there, and nothing else is.
"""

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from bayou.layout.places import JOURNAL, SIDECAR
from bayou.sync.journal import Journal, Side
from bayou.sync.scan import Scan
from bayou.testing.existingclient import ExistingClient
from bayou.testing.localsync import FakeMachine, push, ship
from bayou.tree.marks import Close

PATHS = ("data/t/m/a/1/raw", "data/t/m/a/latest", "data/t/m/b/1/raw", "logs/x")
ACTORS = (0, 1, 2)
paths = st.sampled_from(PATHS)
actors = st.sampled_from(ACTORS)
folders = st.booleans()
MEMORY = Path("/dev/shm")


class Process:
    """One process of ours, which forgets everything when it dies."""

    def __init__(self, cache: Path, machine: FakeMachine) -> None:
        clocks, self.pid = machine.process()
        self.journal = Journal(cache, machine=clocks)
        self.journal.bind(Side("store"))
        self.changing: list[tuple[str, Close]] = []
        self.announced: list[str] = []
        self.scan: Scan | None = None


class Caches(RuleBasedStateMachine):
    """One cache, three processes of ours, at most one existing client at a time, and the other side."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = Path(tempfile.mkdtemp(prefix="bayou-sync-", dir=MEMORY if MEMORY.is_dir() else None))
        self.machine = FakeMachine()
        self.remote: dict[str, bytes] = {}
        self.counter = 0
        self.processes: dict[int, Process] = {}
        self.client: ExistingClient | None = None
        self.deleted: set[str] = set()
        self.vanished: set[str] = set()
        self.claimed: set[str] = set()
        """Marked by somebody for whom absence means deletion."""
        self.is_shared = False
        """With existing clients, here before. What the first one ever misses while it only reads is given up."""

    def teardown(self) -> None:
        try:
            self.converge()
        finally:
            for process in self.processes.values():
                process.journal.close()
            shutil.rmtree(self.cache)

    @initialize(is_shared=st.booleans())
    def begin(self, is_shared: bool) -> None:  # noqa: FBT001
        self.is_shared = is_shared
        if is_shared:
            ExistingClient(self.cache, self.remote).pull()
        for actor in ACTORS:
            self.processes[actor] = Process(self.cache, self.machine)

    # Writers.

    @rule(actor=actors, path=paths, folder=folders)
    def mark(self, actor: int, path: str, folder: bool) -> None:  # noqa: FBT001
        process = self.processes[actor]
        process.changing.append((path, process.journal.changing([marked(path, folder=folder)])))

    @rule(actor=actors)
    def write_what_is_marked(self, actor: int) -> None:
        for path, _ in self.processes[actor].changing:
            self.put(path)

    @rule(actor=actors)
    def close(self, actor: int) -> None:
        process = self.processes[actor]
        while process.changing:
            process.changing.pop()[1]()

    @rule(actor=actors, path=paths, folder=folders)
    def announce(self, actor: int, path: str, folder: bool) -> None:  # noqa: FBT001
        process = self.processes[actor]
        process.journal.mark_dirty(marked(path, folder=folder))
        process.announced.append(path)
        self.claimed.add(path)

    @rule(actor=actors)
    def write_what_was_announced(self, actor: int) -> None:
        process = self.processes[actor]
        while process.announced:
            self.put(process.announced.pop())

    @rule(actor=actors, path=paths)
    def delete(self, actor: int, path: str) -> None:
        journal = self.processes[actor].journal
        close = journal.removing([path])
        (self.cache / path).unlink(missing_ok=True)
        close()
        self.vanished.discard(path)
        if path not in self.remote or journal.base.get([path]):  # what nobody ever synced here cannot be deleted there
            self.deleted.add(path)

    @precondition(lambda self: not self.is_shared)
    @rule(path=paths)
    def vanish(self, path: str) -> None:
        """By accident: nothing tells of it."""
        if path in self.remote and path not in self.claimed and (self.cache / path).exists():
            (self.cache / path).unlink()
            self.vanished.add(path)

    # Pushes.

    @rule(actor=actors)
    def scan(self, actor: int) -> None:
        process = self.processes[actor]
        process.scan = process.journal.scan()

    @rule(actor=actors)
    def ship(self, actor: int) -> None:
        process = self.processes[actor]
        if process.scan is not None:
            ship(process.journal, self.cache, self.remote, process.scan)
            process.scan = None

    # What befalls them.

    @rule(actor=actors)
    def crash(self, actor: int) -> None:
        self.machine.dead.add(self.processes[actor].pid)
        self.processes[actor].journal.close()
        self.processes[actor] = Process(self.cache, self.machine)

    @rule()
    def reboot(self) -> None:
        self.machine.reboot()
        self.client = None
        for actor in ACTORS:
            self.crash(actor)

    @rule(is_damaged=st.booleans())
    def lose_journal(self, is_damaged: bool) -> None:  # noqa: FBT001
        """What was deleted and not shipped may come back. That is not loss."""
        self.deleted.clear()
        if is_damaged:
            for process in self.processes.values():
                process.journal.close()
            (self.cache / JOURNAL).write_bytes(b"no journal" * 500)
        else:
            for suffix in ("-wal", "-shm", ""):
                (self.cache / f"{JOURNAL}{suffix}").unlink(missing_ok=True)

    @precondition(lambda self: self.client is None and not any(p.announced for p in self.processes.values()))
    @rule(seconds=st.sampled_from([1, 301]))
    def pass_time(self, seconds: int) -> None:
        self.machine.pass_time(seconds)

    @precondition(lambda self: self.client is None)
    @rule(is_removed=st.booleans())
    def lose_sidecar(self, is_removed: bool) -> None:  # noqa: FBT001
        if is_removed:
            (self.cache / SIDECAR).unlink(missing_ok=True)
        else:
            (self.cache / SIDECAR).write_bytes(b"{")
        # An existing client that found it like this would not see what is marked, nor tell anybody (W-28).
        self.processes[0].journal.status()

    # Existing clients.

    @precondition(lambda self: self.is_shared and self.client is None)
    @rule()
    def client_starts(self) -> None:
        self.client = ExistingClient(self.cache, self.remote)

    @precondition(lambda self: self.client is not None)
    @rule(path=paths, folder=folders)
    def client_writes(self, path: str, folder: bool) -> None:  # noqa: FBT001
        assert self.client is not None
        self.client.mark_dirty(marked(path, folder=folder))
        self.put(path)

    @precondition(lambda self: self.client is not None)
    @rule()
    def client_pushes(self) -> None:
        assert self.client is not None
        self.client.push()

    @precondition(lambda self: self.client is not None)
    @rule()
    def client_ends(self) -> None:
        self.client = None

    # What must hold in the end.

    def converge(self) -> None:
        if not self.processes:
            return
        for actor in ACTORS:
            self.write_what_was_announced(actor)
            self.close(actor)
        journal = self.processes[0].journal
        for _ in range(3):
            self.machine.pass_time(301)
            push(journal, self.cache, self.remote)
        for path in PATHS:
            place = self.cache / path
            if place.exists():
                assert self.remote.get(path) == place.read_bytes(), f"the last change of {path} was lost"
        assert self.vanished <= self.remote.keys(), "what vanished was taken for deleted"
        assert not self.deleted & self.remote.keys(), "a deletion was lost"
        assert journal.snapshot()[1] == (), "something is marked for ever"

    def put(self, path: str) -> None:
        self.counter += 1
        place = self.cache / path
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.cache / "_control/new"
        temporary.write_bytes(str(self.counter).encode())
        temporary.replace(place)
        self.deleted.discard(path)
        self.vanished.discard(path)


def marked(path: str, *, folder: bool) -> str:
    return path.rpartition("/")[0] if folder else path


TestCaches = Caches.TestCase
TestCaches.settings = settings(stateful_step_count=20)
