"""What tests of a journal stand on: a machine whose processes die on command, and the smallest push there can be."""

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from bayou.sync.journal import Journal
from bayou.sync.machine import Machine, Owner
from bayou.sync.scan import Scan


@dataclass
class FakeMachine:
    """Its clocks stand still until they are moved. Each journal opened on it is a process of its own."""

    boot: int = 1
    now_ns: int = 10**15
    dead: set[int] = field(default_factory=set)
    hidden: set[int] = field(default_factory=set)
    """Processes that cannot be seen from here."""
    started: int = 0

    def process(self) -> tuple[Machine, int]:
        """A new process on it, and its number."""
        self.started += 1
        pid = self.started
        return self._machine(pid), pid

    def pass_time(self, seconds: float) -> None:
        self.now_ns += int(seconds * 1e9)

    def reboot(self) -> None:
        self.boot += 1
        self.now_ns = 10**9

    def _machine(self, pid: int) -> Machine:
        return Machine(
            process=lambda: Owner(str(self.boot), "here", pid, 1),
            lives=self._lives,
            monotonic_ns=lambda: self.now_ns,
            pause=lambda _: None,
        )

    def _lives(self, owner: Owner) -> bool | None:
        if owner.boot != str(self.boot) or owner.pid in self.dead:
            return False
        return None if owner.pid in self.hidden else True


def content_of(content: bytes) -> str:
    return sha256(content).hexdigest()


def ship(journal: Journal, cache: Path, remote: MutableMapping[str, bytes], scan: Scan) -> None:
    """Do what a push does after its scan: upload, delete, let the base say so, acknowledge."""
    base = dict(journal.base.files())
    shipped: dict[str, str] = {}
    unshipped: set[str] = set()
    for path, content in scan.local.files.items():
        if base.get(path) == content:
            continue
        try:
            body = (cache / journal.namespace / path).read_bytes()
        except FileNotFoundError:
            body = b""
        if content_of(body) == content:
            remote[path] = body
            shipped[path] = content
        else:
            unshipped.add(path)
    gone = [path for path in scan.evidence.deleted if path not in scan.local.files]
    for path in gone:
        remote.pop(path, None)
    journal.base.agree(shipped.items(), as_of=scan.sequence)
    journal.base.forget(gone)
    journal.acknowledge(scan, unshipped)


def push(
    journal: Journal,
    cache: Path,
    remote: MutableMapping[str, bytes],
    *,
    between: Callable[[], None] = lambda: None,
) -> Scan:
    """Scan and ship; `between` is what others do meanwhile."""
    scan = journal.scan()
    between()
    ship(journal, cache, remote, scan)
    return scan
