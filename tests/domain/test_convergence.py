"""Machines that write offline, beside clients that know no better: all agree in the end, and nothing is lost."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hypothesis import example, given, note
from hypothesis import strategies as st

from bayou.domain.units import Kind
from bayou.testing.replicas import Replica
from bayou.testing.sharedbucket import Bucket, classify, content_of, metadata, number_of

ROUNDS = 6
RECORDS = {
    "outputs": "outputs/t/run/m-2026-01-01T00-00-{:02}-000Z.yaml",
    "runs": "workflow-runs/w/workflow-run-{}.yaml",
}

Thing = tuple[str, str]


def things(pairs: Iterable[tuple[str, bytes]], raws: Mapping[str, bytes]) -> set[Thing]:
    """What users would miss: versions and records by id, appended lines and other files by their bytes."""
    files = dict(pairs)
    found: set[Thing] = set()
    for path, body in files.items():
        kind = classify(path).kind
        if kind is Kind.VERSION and path.endswith("metadata.yaml"):
            known = json.loads(body)["id"]
            if files.get(path.replace("metadata.yaml", "raw")) == raws[known]:
                found.add(("version", known))
        elif kind is Kind.STREAM and path.endswith("raw"):
            found |= {("line", line) for line in body.decode().split()}
        elif kind in (Kind.OUTPUT, Kind.RUN):
            found.add(("record", json.loads(body)["id"]))
        elif kind is Kind.OTHER:
            found.add(("other", body.decode()))
    return found


class World:
    """Replicas, a bucket, existing clients that write to it as they always did, and a memory of what there ever was."""

    def __init__(self) -> None:
        self.bucket = Bucket()
        self.replicas = [Replica("a"), Replica("b"), Replica("c", is_lazy=True)]
        self.raws: dict[str, bytes] = {}
        self.counter = 0
        self.old_index: dict[str, str | None] = {}
        self.history: dict[tuple[tuple[str, bytes], ...], None] = {}
        self.published: set[Thing] = set()
        self.may_be_lost: set[Thing] = set()
        self.pending: list[list[tuple[str, str]]] = [[], [], []]
        self.dead: set[tuple[str, str]] = set()
        self.halves: dict[str, str] = {}
        self.has_legacy = True

    def new(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    def alive(self) -> set[Thing]:
        found = things(self.bucket.objects.items(), self.raws)
        for replica in self.replicas:
            found |= things(replica.files.items(), self.raws)
            found |= self.aside(replica)
        return found

    def aside(self, replica: Replica) -> set[Thing]:
        found: set[Thing] = set()
        for body in replica.aside:
            if body.startswith(b"{"):
                found.add(("version", json.loads(body)["id"]))
            else:
                found.add(("other", body.decode()))
                found |= {("line", line) for line in body.decode().split()}
        return found

    def act(self, action: Callable[[], None]) -> None:
        """Something that is not a sync: what it destroys is no fault of ours."""
        before = self.alive()
        action()
        self.may_be_lost |= before - self.alive()
        self.observe()

    def observe(self) -> None:
        self.published |= things(self.bucket.objects.items(), self.raws)
        for path in self.bucket.objects:
            unit = classify(path)
            if all(member in self.bucket.objects for member in unit.members):
                self.history.setdefault(tuple((member, self.bucket.objects[member]) for member in unit.members))

    # Machines with Bayou.

    def sync(self, who: int) -> bool:
        replica = self.replicas[who]
        before = self.alive()
        plans = replica.sync(self.bucket)
        for plan in plans:
            note(f"{replica.name}: " + ", ".join(f"{s.action} {s.unit.key} ({s.reason})" for s in plan.steps))
        self.check_lost(before)
        assert not replica.sync(self.bucket)
        self.dead |= set(self.pending[who])
        self.pending[who].clear()
        self.observe()
        return bool(plans)

    def check_lost(self, before: set[Thing]) -> None:
        lost = before - self.alive() - self.may_be_lost
        superseded = {thing for thing in lost if thing[0] == "other" and thing in self.published}
        assert lost == superseded

    def write_version(self, who: int, name: int, body: int, *, advance: bool) -> None:
        replica = self.replicas[who]
        family = f"data/t/m/n{name}"
        held = (replica.files.keys() | replica.base.keys()) - replica.intents.keys()
        number = max((number_of(path) for path in held if path.startswith(f"{family}/")), default=0) + 1
        version = self.new("v")
        self.raws[version] = f"body{body}".encode()
        files = {
            f"{family}/{number}/raw": self.raws[version],
            f"{family}/{number}/metadata.yaml": metadata(version, number),
        }
        if advance:
            files[f"{family}/latest"] = str(number).encode()
        record = {"id": self.new("r"), "status": "succeeded", "artifacts": [{"dataId": version, "version": number}]}
        files[f"outputs/t/run/m-2026-01-01T00-00-00-{self.counter:03}Z.yaml"] = json.dumps(record).encode()
        self.write(who, files)

    def append(self, who: int) -> None:
        replica = self.replicas[who]
        numbers = [
            number_of(path) for path in replica.files if path.startswith("data/t/m/log/") and path.endswith("raw")
        ]
        number = max(numbers, default=0)
        known = max((number_of(path) for path in replica.base if path.startswith("data/t/m/log/")), default=0)
        folder = f"data/t/m/log/{number}"
        if number and f"{folder}/metadata.yaml" in replica.files:
            line = self.new(" line").encode()
            before = replica.files[f"{folder}/raw"]
            described = json.loads(replica.files[f"{folder}/metadata.yaml"]) | {"size": len(before + line)}
            self.write(who, {f"{folder}/raw": before + line, f"{folder}/metadata.yaml": json.dumps(described).encode()})
        elif not known:
            stream = metadata(self.new("s"), 1, streaming=True)
            self.write(who, {"data/t/m/log/1/raw": self.new("line").encode(), "data/t/m/log/1/metadata.yaml": stream})

    def write_record(self, who: int, folder: str, which: int) -> None:
        path = RECORDS[folder].format(which)
        body = self.replicas[who].files.get(path)
        if body is None and path in self.replicas[who].base:
            return
        record: dict[str, Any] = json.loads(body) if body else {"id": self.new("r"), "status": "pending", "steps": 0}
        record |= {"steps": record["steps"] + 1, "status": "succeeded" if record["steps"] > 1 else "running"}
        record["completedAt"] = f"2026-01-01T00:00:{self.counter:02}"
        self.write(who, {path: json.dumps(record).encode()})

    def write_file(self, who: int, folder: str, which: int) -> None:
        body = json.dumps({"id": self.new("d")}) if folder == "auto-definitions/t" else self.new("text")
        self.write(who, {f"{folder}/{which}.yaml": body.encode()})

    def write(self, who: int, files: Mapping[str, bytes]) -> None:
        self.act(lambda: self.replicas[who].write(files))

    def delete(self, who: int, pick: int) -> None:
        replica = self.replicas[who]
        choices = sorted({classify(path).key for path in replica.base.keys() | replica.files.keys()})
        if not choices:
            return
        key = choices[pick % len(choices)]
        paths = [path for path in replica.base.keys() | replica.files.keys() if classify(path).key == key]
        if not any(path in replica.files for path in paths):
            return
        kind = classify(paths[0]).kind
        gone = [path for path in paths if path in replica.base]
        intact = all(
            path not in replica.files or content_of(replica.files[path]) == replica.base[path] for path in gone
        )
        if gone and intact and kind not in (Kind.LATEST, Kind.STREAM):
            for path in gone:
                if kind is not Kind.VERSION or path.endswith("metadata.yaml"):
                    self.pending[who].append((path, replica.base[path]))
        self.may_be_lost |= things(((path, body) for path, body in replica.files.items() if path in paths), self.raws)
        described = [replica.files[p] for p in paths if p.endswith("metadata.yaml") and p in replica.files]
        self.may_be_lost |= {("version", json.loads(body)["id"]) for body in described}
        objects = [(p, self.bucket.objects[p]) for p in gone if self.bucket.holds(p) == replica.base[p]]
        self.may_be_lost |= things(objects, self.raws)

        def act() -> None:
            replica.delete(paths)
            marker = classify(paths[0]).marker
            if marker and replica.files.get(marker) == str(number_of(paths[0])).encode():
                family = marker.removesuffix("latest")
                left = {
                    number_of(p)
                    for p in replica.files.keys() | replica.base.keys() - replica.intents.keys()
                    if p.startswith(family)
                }
                left = {n for n in left if n}
                if left:
                    replica.write({marker: str(max(left)).encode()})
                else:
                    replica.delete([marker])

        self.act(act)

    def vanish(self, who: int, pick: int, *, evict: bool) -> None:
        replica = self.replicas[who]
        choices = sorted(p for p, body in replica.files.items() if replica.base.get(p) == content_of(body))
        if choices:
            path = choices[pick % len(choices)]
            members = classify(path).members
            if any(replica.base.get(m) != content_of(replica.files[m]) for m in members if m in replica.files):
                return  # what was not pushed yet is nowhere else
            paths = [*members] if classify(path).kind is Kind.STREAM else [path]
            self.act(lambda: replica.evict(paths) if evict else replica.vanish(paths))

    def lose_journal(self, who: int) -> None:
        self.pending[who].clear()
        self.act(self.replicas[who].lose_journal)

    def upload_half(self, name: int, number: int) -> None:
        """Another machine begins to upload a version, raw first, where it finds nothing in its way."""
        folder = f"data/t/m/n{name}/{number}"
        if self.bucket.holds(f"{folder}/raw") is None and self.bucket.holds(f"{folder}/metadata.yaml") is None:
            self.halves[folder] = self.new("v")
            self.raws[self.halves[folder]] = self.new("half").encode()
            self.bucket.objects[f"{folder}/raw"] = self.raws[self.halves[folder]]

    def upload_the_rest(self, pick: int) -> None:
        """Whoever's raw lies there owns the number, unless an existing client took it."""
        if not self.halves:
            return
        folder = sorted(self.halves)[pick % len(self.halves)]
        version = self.halves.pop(folder)
        files = {
            f"{folder}/raw": self.raws[version],
            f"{folder}/metadata.yaml": metadata(version, number_of(f"{folder}/raw")),
        }
        if not self.has_legacy:
            assert self.bucket.objects[f"{folder}/raw"] == self.raws[version]
            assert f"{folder}/metadata.yaml" not in self.bucket.objects
        if self.bucket.objects.get(f"{folder}/raw") == self.raws[version] and folder not in {
            path.removesuffix("/metadata.yaml") for path in self.bucket.objects
        }:
            self.act(lambda: self.bucket.put(files))

    def sweep(self) -> None:
        before = self.alive()
        self.bucket.sweep()
        self.check_lost(before)

    # Existing clients.

    def remember_index(self) -> None:
        self.old_index = dict(self.bucket.index)

    def overwrite_index(self) -> None:
        def act() -> None:
            self.bucket.index = dict(self.old_index)

        self.act(act)

    def overwrite_version(self, name: int, number: int) -> None:
        version = self.new("v")
        self.raws[version] = b"theirs"
        folder = f"data/t/m/n{name}/{number}"
        files = {f"{folder}/raw": b"theirs", f"{folder}/metadata.yaml": metadata(version, number)}
        self.act(lambda: self.bucket.put(files | {f"data/t/m/n{name}/latest": str(number).encode()}))

    def overwrite_file(self, which: int) -> None:
        self.act(lambda: self.bucket.put({f"files/{which}.yaml": self.new("theirs").encode()}))

    def remove(self, pick: int) -> None:
        choices = sorted({classify(path).key for path in self.bucket.index})
        if choices:
            key = choices[pick % len(choices)]
            paths = [path for path in self.bucket.index if classify(path).key == key]
            # A path without its object tells that something was deleted there, not which of two contents it was.
            for files in (self.bucket.objects, *(replica.files for replica in self.replicas)):
                self.may_be_lost |= things(((path, files[path]) for path in paths if path in files), self.raws)
            self.act(lambda: self.bucket.remove(paths))

    def bring_back(self, pick: int) -> None:
        """A client that still has an old copy pushes it."""
        if self.history:
            old = dict([*self.history][pick % len(self.history)])
            self.act(lambda: self.bucket.put(old))

    # The end.

    def settle(self) -> None:
        held: set[Thing] = set()
        for replica in self.replicas:
            whole = {p: b for p, b in replica.files.items() if all(m in replica.files for m in classify(p).members)}
            held |= things(whole.items(), self.raws)
        self.exchange_until_quiet()
        self.act(self.bucket.repair)
        self.exchange_until_quiet()
        for replica in self.replicas:
            self.check_agreement(replica)
        self.check_nothing_is_missed(held)
        for path, content in self.dead:
            assert self.bucket.index.get(path) != content
        for path in self.bucket.index:
            if classify(path).kind is Kind.LATEST:
                assert path.replace("latest", f"{int(self.bucket.objects[path])}/raw") in self.bucket.index

    def exchange_until_quiet(self) -> None:
        for _ in range(ROUNDS):
            active = [self.sync(who) for who in range(len(self.replicas))]
            if not any(active):
                return
        raise AssertionError("no end")

    def check_agreement(self, replica: Replica) -> None:
        assert not replica.plan(self.bucket).steps
        assert replica.base == self.bucket.index
        for path, body in replica.files.items():
            if all(member in replica.files for member in classify(path).members):
                assert content_of(body) == self.bucket.index.get(path)

    def check_nothing_is_missed(self, held: set[Thing]) -> None:
        listed = {path: self.bucket.objects[path] for path in self.bucket.index}
        kept = things(listed.items(), self.raws).union(*(self.aside(replica) for replica in self.replicas))
        missed = held - kept - self.may_be_lost
        assert missed == {thing for thing in missed if thing[0] == "other" and thing in self.published}

    def check_references(self) -> None:
        """Each record names each version by the number that it has in the end."""
        numbers: dict[str, set[int]] = {}
        for path in self.bucket.index:
            if path.endswith("metadata.yaml"):
                numbers.setdefault(json.loads(self.bucket.objects[path])["id"], set()).add(number_of(path))
        for path in self.bucket.index:
            if classify(path).kind is Kind.OUTPUT:
                for named in json.loads(self.bucket.objects[path]).get("artifacts", ()):
                    there = numbers.get(named["dataId"], {named["version"]})
                    assert named["version"] in there


WHO = st.integers(0, 2)
SMALL = st.integers(0, 1)
PICK = st.integers(0, 30)


def op(name: str, *args: st.SearchStrategy[Any], **kwargs: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.just(name), st.tuples(*args), st.fixed_dictionaries(kwargs))


BAYOU = (
    op("sync", WHO),
    op("sync", WHO),
    op("write_version", WHO, SMALL, SMALL, advance=st.booleans()),
    op("write_version", WHO, SMALL, SMALL, advance=st.booleans()),
    op("append", WHO),
    op("write_record", WHO, st.sampled_from(sorted(RECORDS)), SMALL),
    op("write_file", WHO, st.sampled_from(["files", "definitions-evaluated/t", "auto-definitions/t"]), SMALL),
    op("delete", WHO, PICK),
    op("vanish", WHO, PICK, evict=st.booleans()),
    op("lose_journal", WHO),
    op("sweep"),
    op("upload_half", SMALL, st.integers(1, 3)),
    op("upload_the_rest", PICK),
)
LEGACY = (
    op("remember_index"),
    op("overwrite_index"),
    op("overwrite_version", SMALL, st.integers(1, 3)),
    op("overwrite_file", SMALL),
    op("remove", PICK),
    op("bring_back", PICK),
)


def play(operations: list[Any], *, has_legacy: bool) -> World:
    world = World()
    world.has_legacy = has_legacy
    for name, args, kwargs in operations:
        note(f"{name} {args} {kwargs}")
        getattr(world, name)(*args, **kwargs)
    return world


@given(st.lists(st.one_of(BAYOU), min_size=8, max_size=40))
def test_replicas_converge_and_lose_nothing(operations: list[Any]) -> None:
    world = play(operations, has_legacy=False)
    world.settle()
    world.check_references()


Operation = tuple[str, tuple[Any, ...], dict[str, Any]]
OVERWRITTEN: Operation = ("overwrite_version", (0, 1), {})
SET_BACK: Operation = ("overwrite_index", (), {})


@example(
    # Its number is used again after a deletion, while somebody else's bytes lie there under an entry that was set back.
    [
        OVERWRITTEN,
        ("sync", (0,), {}),
        ("remember_index", (), {}),
        ("delete", (0, 0), {}),
        OVERWRITTEN,
        SET_BACK,
        ("write_version", (0, 0, 0), {"advance": False}),
    ]
)
@example(
    # The same, under no entry at all.
    [
        OVERWRITTEN,
        ("sync", (0,), {}),
        ("delete", (0, 0), {}),
        OVERWRITTEN,
        SET_BACK,
        ("write_version", (0, 0, 0), {"advance": False}),
    ]
)
@example(
    # Ours was deleted by somebody who writes no tombstones, and who then uploads half of another version under an entry
    # that was set back.
    [
        ("write_version", (0, 0, 0), {"advance": False}),
        ("sync", (0,), {}),
        ("remember_index", (), {}),
        ("remove", (0,), {}),
        ("upload_half", (0, 1), {}),
        SET_BACK,
    ]
)
@example(
    # The same, and everybody has what the index says, so that nobody looks at it until the doctor comes.
    [
        ("write_version", (0, 0, 0), {"advance": False}),
        ("sync", (0,), {}),
        ("sync", (1,), {}),
        ("sync", (2,), {}),
        ("remember_index", (), {}),
        ("remove", (0,), {}),
        ("upload_half", (0, 1), {}),
        SET_BACK,
    ]
)
@given(st.lists(st.one_of(*BAYOU, *LEGACY), min_size=8, max_size=40))
def test_replicas_converge_and_lose_nothing_beside_existing_clients(operations: list[Any]) -> None:
    play(operations, has_legacy=True).settle()
