"""Computers that write offline, beside clients that know no better: all agree in the end, and nothing is lost.

The same as `tests/domain/test_convergence.py` asks of the diff, here of all that carries it out: real caches with real
journals on one bucket, in both formats of its index.
"""

import asyncio
import hashlib
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from hypothesis import example, given, note, settings
from hypothesis import strategies as st

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.partitions import partition_key
from bayou.domain.scopes import EVERYTHING, scope_of
from bayou.domain.units import Kind
from bayou.layout.keys import Keyspace
from bayou.layout.places import CONFLICTS, JOURNAL
from bayou.sync.machine import Machine
from bayou.sync.marking import SETTLING
from bayou.testing.computers import Computer, metadata
from bayou.testing.legacy import LegacyWriter, legacy_view
from bayou.testing.machines import legacy_entry
from bayou.testing.memory import MemoryStore
from bayou.testing.sharedbucket import classify, number_of

KEYS = Keyspace()
MEMORY = Path("/dev/shm")
NAMES = "abc"
ROUNDS = 8
MODELS = ("m0", "m1")
SCOPE = scope_of([Model(ModelType("t"), "m0", "m0")])
RECORDS = {
    "outputs": "outputs/t/run/m0-2026-01-01T00-00-{:02}-000Z.yaml",
    "runs": "workflow-runs/w/workflow-run-{}.yaml",
}
ID = re.compile(rb"^\"?id\"?: \"?([\w-]+)", re.MULTILINE)

Thing = tuple[str, str]


def content_of(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def id_of(body: bytes) -> str:
    found = ID.search(body)
    assert found is not None, body
    return found[1].decode()


def things(pairs: Iterable[tuple[str, bytes]], raws: Mapping[str, bytes]) -> set[Thing]:
    """What users would miss: versions and records by id, appended lines and other files by their bytes."""
    files = dict(pairs)
    found: set[Thing] = set()
    for path, body in files.items():
        kind = classify(path).kind
        if kind is Kind.VERSION and path.endswith("metadata.yaml"):
            known = id_of(body)
            if files.get(path.replace("metadata.yaml", "raw")) == raws.get(known):
                found.add(("version", known))
        elif kind is Kind.STREAM and path.endswith("raw"):
            found |= {("line", line) for line in body.decode().split()}
        elif kind in (Kind.OUTPUT, Kind.RUN):
            found.add(("record", id_of(body)))
        elif kind is Kind.OTHER:
            found.add(("other", body.decode()))
    return found


class World:
    """Three computers, a bucket, existing clients that write to it as they always did, and a memory of it all."""

    def __init__(self, *, sharded: bool) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="bayou-world-", dir=MEMORY if MEMORY.is_dir() else None))
        self.runner = asyncio.Runner()
        self.passed = 0
        self.machine = Machine(pause=lambda _: None, monotonic_ns=lambda: time.monotonic_ns() + self.passed)
        self.store = MemoryStore()
        self.computers = [self.computer(who) for who in range(len(NAMES))]
        self.raws: dict[str, bytes] = {}
        self.counter = 0
        self.old_index: dict[str, Any] = {}
        self.history: dict[tuple[tuple[str, bytes], ...], None] = {}
        self.published: set[Thing] = set()
        self.may_be_lost: set[Thing] = set()
        self.pending: list[list[tuple[str, str]]] = [[] for _ in NAMES]
        self.dead: set[tuple[str, str]] = set()
        self.unhurt = True
        if sharded:
            self.computers[0].write("logs/first", b"first")
            self.raws["logs/first"] = b"first"
            self.run(self.computers[0].sync())
            self.migrate()

    def computer(self, who: int) -> Computer:
        return Computer(self.folder / NAMES[who], self.store, lazy=NAMES[who] == "c", machine=self.machine)

    def close(self) -> None:
        for computer in self.computers:
            computer.close()
        self.runner.close()
        shutil.rmtree(self.folder)

    def run(self, work: Any) -> Any:  # noqa: ANN401
        return self.runner.run(work)

    # What there is.

    def listed(self) -> dict[str, str | None]:
        """As an existing client sees it, who fails at an index that is not whole."""
        return {path: entry.get("sha256") for path, entry in self.run(legacy_view(self.store, KEYS)).items()}

    def objects(self) -> dict[str, bytes]:
        return {
            key: body
            for key, (body, _) in self.store.objects.items()
            if not key.startswith(("_", ".")) and not key.endswith("/.lock")
        }

    def alive(self) -> set[Thing]:
        objects = self.objects()
        found = things(((path, objects[path]) for path in self.listed() if path in objects), self.raws)
        for computer in self.computers:
            found |= things(computer.files().items(), self.raws) | self.aside(computer)
        return found

    def aside(self, computer: Computer) -> set[Thing]:
        found: set[Thing] = set()
        root = computer.journal.place.cache / CONFLICTS
        for file in root.rglob("*"):
            if file.is_file():
                body = file.read_bytes()
                if ID.search(body):
                    found |= {("version", id_of(body)), ("record", id_of(body))}
                elif not body.startswith(b"<"):
                    found.add(("other", body.decode()))
                    found |= {("line", line) for line in body.decode().split()}
        return found

    def base(self, who: int) -> dict[str, str]:
        return dict(self.computers[who].journal.base.files())

    def new(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    def act(self, action: Callable[[], object]) -> None:
        """Something that is not a sync: what it destroys is no fault of ours."""
        before = self.alive()
        action()
        self.may_be_lost |= before - self.alive()
        self.observe()

    def observe(self) -> None:
        objects = self.objects()
        self.published |= things(objects.items(), self.raws)
        for path in objects:
            unit = classify(path)
            if all(member in objects for member in unit.members):
                self.history.setdefault(tuple((member, objects[member]) for member in unit.members))

    # Computers.

    def sync(self, who: int, how: str = "sync", *, scoped: bool = False, eager: bool = False) -> bool:
        """One sync; whether it did anything."""
        computer = self.computers[who]
        before = self.alive()
        computer.lazy = NAMES[who] == "c" and not eager
        report = self.run(getattr(computer, how)(scope=SCOPE if scoped else EVERYTHING, accept_deletions=True))
        note(f"{NAMES[who]} {how}: {report}")
        assert report.stop is None
        self.check_lost(before)
        if how == "sync" and not scoped:
            self.dead |= set(self.pending[who])
            self.pending[who].clear()
        self.observe()
        moved = (report.pushed, report.pulled, report.deleted_here, report.deleted_there, report.listed)
        return any(moved) or bool(report.renumbered)

    def check_lost(self, before: set[Thing]) -> None:
        lost = before - self.alive() - self.may_be_lost
        superseded = {thing for thing in lost if thing[0] == "other" and thing in self.published}
        assert lost == superseded, lost

    def write(self, who: int, files: Mapping[str, bytes]) -> None:
        def write() -> None:
            for path, body in files.items():  # each as some command does it
                self.computers[who].write(path, body)

        self.act(write)

    def numbers(self, who: int, family: str) -> set[int]:
        computer = self.computers[who]
        held = (computer.files().keys() | self.base(who).keys()) - computer.journal.base.intents().keys()
        return {number_of(path) for path in held if path.startswith(f"{family}/")} - {0}

    def write_version(self, who: int, name: int, model: int, *, advance: bool) -> None:
        family = f"data/t/{MODELS[model]}/n{name}"
        number = max(self.numbers(who, family), default=0) + 1
        version = self.new("v")
        self.raws[version] = f"<body{model}>".encode()
        described = metadata(number, self.raws[version], name=f"n{name}", version_id=version)
        files = {f"{family}/{number}/raw": self.raws[version], f"{family}/{number}/metadata.yaml": described}
        if advance:
            files[f"{family}/latest"] = str(number).encode()
        record = f"id: {self.new('r')}\nstatus: succeeded\nartifacts:\n- dataId: {version}\n  version: {number}\n"
        files[f"outputs/t/run/{MODELS[model]}-2026-01-01T00-00-00-{self.counter:03}Z.yaml"] = record.encode()
        self.write(who, files)

    def append(self, who: int) -> None:
        files = self.computers[who].files()
        family = "data/t/m0/log"
        number = max((number_of(p) for p in files if p.startswith(f"{family}/") and p.endswith("/raw")), default=0)
        folder = f"{family}/{number}"
        if number and f"{folder}/metadata.yaml" in files:
            body = files[f"{folder}/raw"] + self.new(" line").encode()
            described = metadata(
                number, body, name="log", version_id=id_of(files[f"{folder}/metadata.yaml"]), streaming=True
            )
            self.write(who, {f"{folder}/raw": body, f"{folder}/metadata.yaml": described})
        elif not self.numbers(who, family):
            body = self.new("line").encode()
            described = metadata(1, body, name="log", version_id=self.new("s"), streaming=True)
            self.write(who, {f"{family}/1/raw": body, f"{family}/1/metadata.yaml": described})

    def write_record(self, who: int, folder: str, which: int) -> None:
        path = RECORDS[folder].format(which)
        body = self.computers[who].files().get(path)
        if body is None and path in self.base(who):
            return
        identity = id_of(body) if body else self.new("r")
        steps = body.count(b"step") + 1 if body else 1
        status = "succeeded" if steps > 2 else "running"
        record = f"id: {identity}\nstatus: {status}\ncompletedAt: 2026-01-01T00:00:{self.counter:03}\n"
        record += "".join(f"step{number}: done\n" for number in range(steps))
        self.write(who, {path: record.encode()})

    def write_file(self, who: int, folder: str, which: int) -> None:
        body = f"id: {self.new('d')}\n" if folder == "auto-definitions/t" else self.new("text")
        suffix = "" if folder == "logs" else ".yaml"
        self.write(who, {f"{folder}/m{which}{suffix}": body.encode()})

    def delete(self, who: int, pick: int) -> None:
        computer, base = self.computers[who], self.base(who)
        files = computer.files()
        choices = sorted({classify(path).key for path in base.keys() | files.keys()})
        if not choices:
            return
        key = choices[pick % len(choices)]
        paths = [path for path in base.keys() | files.keys() if classify(path).key == key]
        if not any(path in files for path in paths):
            return
        unit = classify(paths[0])
        gone = [path for path in paths if path in base]
        intact = all(path not in files or content_of(files[path]) == base[path] for path in gone)
        if gone and intact and unit.kind not in (Kind.LATEST, Kind.STREAM):
            self.pending[who] += [
                (path, base[path]) for path in gone if unit.kind is not Kind.VERSION or path.endswith("metadata.yaml")
            ]
        self.may_be_lost |= things(((path, files[path]) for path in paths if path in files), self.raws)
        described = [files[p] for p in paths if p.endswith("metadata.yaml") and p in files]
        self.may_be_lost |= {("version", id_of(body)) for body in described}
        objects = self.objects()
        same = [(p, objects[p]) for p in gone if p in objects and content_of(objects[p]) == base[p]]
        self.may_be_lost |= things(same, self.raws)

        def act() -> None:
            if unit.marker is None:
                computer.delete(unit.key)
                return
            with computer.tree.removal(unit.key) as change:
                change.remove_folder(unit.key)
            number = number_of(paths[0])
            if files.get(unit.marker) == str(number).encode():
                left = self.numbers(who, unit.marker.removesuffix("/latest"))
                if left:
                    computer.write(unit.marker, str(max(left)).encode())
                else:
                    computer.delete(unit.marker)

        self.act(act)

    def vanish(self, who: int, pick: int, *, evict: bool) -> None:
        computer, base, files = self.computers[who], self.base(who), self.computers[who].files()
        choices = sorted(path for path, body in files.items() if base.get(path) == content_of(body))
        if not choices:
            return
        path = choices[pick % len(choices)]
        unit = classify(path)
        if any(base.get(m) != content_of(files[m]) for m in unit.members if m in files):
            return  # what was not pushed yet is nowhere else
        paths = [p for p in (unit.members if unit.kind is Kind.STREAM else [path]) if p in files]

        def act() -> None:
            if evict:
                computer.journal.base.want(paths, wanted=False)
                computer.journal.base.set_here(paths, is_here=False)
            for each in paths:
                (computer.tree.root / each).unlink()

        self.act(act)

    def lose_journal(self, who: int) -> None:
        self.pending[who].clear()

        def act() -> None:
            self.computers[who].close()
            for suffix in ("", "-wal", "-shm"):
                (self.computers[who].journal.place.cache / f"{JOURNAL}{suffix}").unlink(missing_ok=True)
            self.computers[who] = self.computer(who)

        self.act(act)

    def start_again(self, who: int) -> None:
        self.computers[who].close()
        self.computers[who] = self.computer(who)

    def migrate(self) -> None:
        if self.store.objects:
            self.run(self.computers[0].ends.remote.migrate(lambda: True))

    # Existing clients.

    def is_index(self, key: str) -> bool:
        return key == KEYS.monolith or key.startswith("_index/")

    def remember_index(self) -> None:
        self.old_index = {key: value for key, value in self.store.objects.items() if self.is_index(key)}

    def set_index_back(self) -> None:
        """A client that read the index long ago writes what it knows of the parts that it touches."""
        listed = self.old_index.keys() & self.store.objects.keys() - {KEYS.meta}
        if KEYS.meta in self.old_index and self.old_index[KEYS.meta][0][:12] != self.store.objects[KEYS.meta][0][:12]:
            return  # of another format by now
        self.act(lambda: self.store.objects.update({key: self.old_index[key] for key in listed}))

    def theirs(self, files: Mapping[str, bytes], gone: Iterable[str] = (), fails: Iterable[str] = ()) -> None:
        if self.is_sharded():  # where they cannot say anything of what has no partition
            files = {path: body for path, body in files.items() if partition_key(path)}
            gone = [path for path in gone if partition_key(path)]

        async def commit() -> None:
            for path, body in files.items():
                await self.store.put(path, body)
            for path in gone:
                await self.store.delete(path)
            entries = {path: legacy_entry(path, body) for path, body in files.items()}
            await LegacyWriter(self.store, KEYS, fails=fails).commit(entries, gone)

        self.act(lambda: self.run(commit()))

    def overwrite_version(self, name: int, number: int, *, silent: bool) -> None:
        version = self.new("v")
        self.raws[version] = b"<theirs>"
        folder = f"data/t/m0/n{name}/{number}"
        described = metadata(number, b"<theirs>", name=f"n{name}", version_id=version)
        files = {f"{folder}/raw": b"<theirs>", f"{folder}/metadata.yaml": described}
        files[f"data/t/m0/n{name}/latest"] = str(number).encode()
        self.theirs(files, fails=["shards"] if silent and not self.is_sharded() else ())

    def upload_half(self, name: int, number: int) -> None:
        """A push that ends after its first upload, and never goes on."""
        raw = f"data/t/m0/n{name}/{number}/raw"
        if not self.objects().keys() & set(classify(raw).members):
            self.run(self.store.put(raw, self.new("<half").encode()))

    def overwrite_file(self, which: int) -> None:
        self.theirs({f"logs/m{which}": self.new("theirs").encode()})

    def remove(self, pick: int) -> None:
        listed = self.listed()
        choices = sorted({classify(path).key for path in listed})
        if choices:
            key = choices[pick % len(choices)]
            paths = [path for path in listed if classify(path).key == key]
            # A path without its object tells that something was deleted there, not which of two contents it was.
            for files in (self.objects(), *(computer.files() for computer in self.computers)):
                self.may_be_lost |= things(((path, files[path]) for path in paths if path in files), self.raws)
            self.theirs({}, paths)

    def bring_back(self, pick: int) -> None:
        """A client that still has an old copy pushes it."""
        if self.history:
            self.theirs(dict([*self.history][pick % len(self.history)]))

    def is_sharded(self) -> bool:
        meta = self.store.objects.get(KEYS.meta)
        return meta is not None and b'"version":2' in meta[0]

    # The end.

    def settle(self) -> None:
        held: set[Thing] = set()
        for computer in self.computers:
            files = computer.files()
            whole = {p: b for p, b in files.items() if all(m in files for m in classify(p).members)}
            held |= things(whole.items(), self.raws)
        for computer in self.computers:
            computer.journal.status()
        self.passed += SETTLING  # whoever marked before a journal was lost has written by now
        self.exchange_until_quiet()
        if self.repair():
            self.exchange_until_quiet()
        listed = self.listed()
        for who in range(len(NAMES)):
            self.check_agreement(who, listed)
        self.check_nothing_is_missed(held, listed)
        for path, content in self.dead:
            assert listed.get(path) != content, path
        objects = self.objects()
        for path, said in listed.items():
            assert content_of(objects[path]) == said, path
            if classify(path).kind is Kind.LATEST:
                assert path.replace("latest", f"{int(objects[path])}/raw") in listed

    def exchange_until_quiet(self) -> None:
        for _ in range(ROUNDS):
            active = [self.sync(who) for who in range(len(NAMES))]
            if not any(active):
                return
        raise AssertionError("no end")

    def repair(self) -> bool:
        """What `doctor` does about entries that contradict their objects for longer than any upload takes."""
        listed, objects = self.listed(), self.objects()
        gone = {path for path in listed if any(member not in objects for member in classify(path).members)}
        wrong = {p: objects[p] for p, c in listed.items() if p in objects and content_of(objects[p]) != c}
        markers = {path for path in listed if classify(path).kind is Kind.LATEST} - gone
        gone |= {
            path
            for path in markers
            if (raw := path.replace("latest", f"{int(objects[path])}/raw")) not in listed or raw in gone
        }
        if gone or wrong:
            self.theirs({path: body for path, body in wrong.items() if path not in gone}, gone)
        return bool(gone or wrong)

    def check_agreement(self, who: int, listed: Mapping[str, str | None]) -> None:
        computer = self.computers[who]
        assert self.base(who) == listed
        files = computer.files()
        for path, body in files.items():
            if all(member in files for member in classify(path).members):
                assert content_of(body) == listed.get(path), path
        known = computer.journal.base.get(listed)
        assert {path for path in listed if known[path].is_here} == files.keys() & listed.keys()
        if NAMES[who] != "c":
            assert listed.keys() <= files.keys()
        status = computer.journal.status()
        assert status.dirty == 0, status
        computer.asked()
        assert not self.sync(who)
        assert len(computer.asked()) == 1 or not listed

    def check_nothing_is_missed(self, held: set[Thing], listed: Iterable[str]) -> None:
        objects = self.objects()
        kept = things(((path, objects[path]) for path in listed), self.raws)
        kept = kept.union(*(self.aside(computer) for computer in self.computers))
        missed = held - kept - self.may_be_lost
        assert missed == {thing for thing in missed if thing[0] == "other" and thing in self.published}, missed


WHO = st.integers(0, 2)
SMALL = st.integers(0, 1)
PICK = st.integers(0, 30)


def op(name: str, *args: st.SearchStrategy[Any], **kwargs: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.just(name), st.tuples(*args), st.fixed_dictionaries(kwargs))


SYNC = op("sync", WHO, st.sampled_from(["sync", "sync", "push", "pull"]), scoped=st.sampled_from([False, False, True]))
BAYOU = (
    SYNC,
    SYNC,
    SYNC,
    op("sync", st.just(2), st.just("pull"), eager=st.booleans()),
    op("write_version", WHO, SMALL, SMALL, advance=st.booleans()),
    op("write_version", WHO, SMALL, SMALL, advance=st.booleans()),
    op("append", WHO),
    op("write_record", WHO, st.sampled_from(sorted(RECORDS)), SMALL),
    op("write_file", WHO, st.sampled_from(["logs", "definitions-evaluated/t", "auto-definitions/t"]), SMALL),
    op("write_file", WHO, st.just("logs"), SMALL),
    op("delete", WHO, PICK),
    op("delete", WHO, PICK),
    op("vanish", WHO, PICK, evict=st.booleans()),
    op("lose_journal", WHO),
    op("start_again", WHO),
    op("migrate"),
)
LEGACY = (
    op("remember_index"),
    op("set_index_back"),
    op("overwrite_version", SMALL, st.integers(1, 3), silent=st.booleans()),
    op("upload_half", SMALL, st.integers(1, 3)),
    op("overwrite_file", SMALL),
    op("remove", PICK),
    op("bring_back", PICK),
)
# An example takes a second where one of the diff takes a few milliseconds: 20 every day, 80 in CI.
EXAMPLES = settings(max_examples={100: 20, 1000: 80}.get(settings().max_examples, settings().max_examples // 10))


def play(operations: list[Any], *, sharded: bool) -> None:
    world = World(sharded=sharded)
    try:
        for name, args, kwargs in operations:
            note(f"{name} {args} {kwargs}")
            getattr(world, name)(*args, **kwargs)
        world.settle()
    finally:
        world.close()


@EXAMPLES
@given(st.lists(st.one_of(BAYOU), min_size=4, max_size=24), st.booleans())
def test_computers_converge_and_lose_nothing(operations: list[Any], sharded: bool) -> None:  # noqa: FBT001
    play(operations, sharded=sharded)


@example(
    # A second conflict over a file, while nobody has decided about the first.
    [
        ("write_file", (0, "logs", 0), {}),
        ("overwrite_file", (0,), {}),
        ("sync", (0,), {}),
        ("write_file", (0, "logs", 0), {}),
        ("overwrite_file", (0,), {}),
        ("sync", (0,), {}),
    ],
    False,
)
@example([("upload_half", (0, 1), {})], False)  # in a bucket without an index, of which all is taken for listed
@example(
    # Deleted by somebody who writes no tombstones; then half of another version under an entry that was set back.
    [
        ("write_version", (0, 0, 0), {"advance": True}),
        ("sync", (0,), {}),
        ("remember_index", (), {}),
        ("remove", (1,), {}),
        ("upload_half", (0, 1), {}),
        ("set_index_back", (), {}),
    ],
    True,
)
@EXAMPLES
@given(st.lists(st.one_of(*BAYOU, *LEGACY), min_size=4, max_size=24), st.booleans())
def test_computers_converge_and_lose_nothing_beside_existing_clients(
    operations: list[Any],
    sharded: bool,  # noqa: FBT001
) -> None:
    play(operations, sharded=sharded)
