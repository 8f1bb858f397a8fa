"""What is left after the hammer, and what is wrong with it."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.soak.places import Computer
from tests.soak.writer import NAME

import bayou
from bayou.datastore.upkeep import Upkeep
from bayou.layout.directories import DEFAULT
from bayou.sync.verifying import Kind

ROUNDS = 8
"""Of syncs, after which all must be quiet."""


class Ack(NamedTuple):
    model: str
    version: int
    token: str
    digest: str


class Written(NamedTuple):
    version: int
    id: str
    token: str
    after: str
    writer: str
    digest: str

    def __str__(self) -> str:
        return f"{self.version} of {self.writer}: {self.token[:6]} after {self.after[:6] or '-'} (id {self.id[:6]})"


@dataclass
class Story:
    """What happened."""

    acks: list[Ack] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)
    heard: Counter[str] = field(default_factory=Counter)
    """The same, in its own words."""
    kills: int = 0
    pauses: int = 0

    def hear(self, name: str, line: str) -> None:
        match line.split():
            case ["ack", model, version, token, digest]:
                self.acks.append(Ack(model, int(version), token, digest))
            case ["waited", seconds]:
                self.waits.append(float(seconds))
            case ["round", number]:
                self.done[name] = int(number)
            case [word, *more]:
                self.told[word] += 1
                self.heard[" ".join([word, *more])] += 1

    @property
    def harm(self) -> int:
        """How often somebody may not have known of what another one wrote, or left a number behind."""
        return self.kills + self.pauses + sum(self.told[why] for why in ("unsynced", "lost", "overtaken", "gave-up"))


class Left(NamedTuple):
    """What one computer has in the end."""

    files: Mapping[str, str]
    """Paths with the hashes of what is in them."""
    versions: Mapping[str, Sequence[Written]]
    """By model."""
    wrong: Sequence[str]


def settle(computers: Sequence[Computer], ttl: float) -> list[str]:
    """Let the dead be replaced and their runs be ended, and all caches come to agree; what is wrong with that."""
    for computer in computers:
        with computer.opened(ttl) as datastore:
            with datastore.coordination.alone():  # every lock is free, or its holder is dead and replaced
                datastore.runs.reconcile()
            held = [info.lock_key for info in datastore.coordination.locks.status(walk=True) if info.is_held]
            if held:
                return [f"locks are held: {held}"]
            if not datastore.is_synced:
                return []
    for _ in range(ROUNDS):
        if not sum(_moves(computer, ttl) for computer in computers):
            return []
    return [f"after {ROUNDS} rounds of syncs there is still something to do"]


def _moves(computer: Computer, ttl: float) -> bool:
    with computer.opened(ttl) as datastore:
        report = datastore.sync().report
    return bool(report.pushed or report.pulled or report.listed or report.deleted_here or report.deleted_there)


def look(computer: Computer, ttl: float) -> Left:
    """What is there, and what by itself is wrong with it."""
    with computer.opened(ttl) as datastore:
        models = {model.name or model.id: str(model) for model in datastore.models.all()}
        versions = {
            name: [_written(record) for record in reversed(datastore.versions(model, NAME))]
            for name, model in models.items()
        }
        wrong = [*_records(datastore, versions), *_catalog(datastore)]
        if datastore.is_synced:
            wrong += _sync(datastore)
        root = datastore.tree.root
        files = {
            file.relative_to(root).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
            for folder in DEFAULT
            for file in (root / folder).rglob("*")
            if file.is_file()
        }
    return Left(files, versions, wrong)


def judge(story: Story, left: Sequence[Left], rounds: int) -> list[str]:
    """What is wrong with what is left, seen together with what happened."""
    wrong = [one for each in left for one in each.wrong]
    if any(done != rounds for done in story.done.values()):
        wrong.append(f"not all rounds were done: {story.done}")
    first = left[0]
    for number, other in enumerate(left[1:], 1):
        differing = [path for path, _ in set(first.files.items()) ^ set(other.files.items())]
        if differing:
            wrong.append(f"cache {number} differs from the first in {len(differing)} files, as {sorted(differing)[:6]}")
    return wrong + _acknowledged(story, first, keep_numbers=len(left) == 1) + _history(story, first)


def _acknowledged(story: Story, left: Left, *, keep_numbers: bool) -> list[str]:
    """A version may have got another number, where two caches had one of the same."""
    wrong = []
    for ack in story.acks:
        found = [one for one in left.versions.get(ack.model, ()) if (one.token, one.digest) == (ack.token, ack.digest)]
        if len(found) != 1:
            wrong.append(f"{ack} was acknowledged, and is there {len(found)} times")
        elif keep_numbers and found[0].version != ack.version:
            wrong.append(f"{ack} was acknowledged, and is version {found[0].version}")
    return wrong


def _history(story: Story, left: Left) -> list[str]:
    wrong = []
    forks = holes = 0
    for model, written in left.versions.items():
        numbers = {one.token: one.version for one in written}
        holes += written[-1].version - len(written)
        forks += sum(count - 1 for count in Counter(one.after for one in written).values())
        chain = ", ".join(map(str, written))
        wrong += [f"{model} has twins of {one}: {chain}" for one in written if numbers[one.token] != one.version]
        wrong += [
            f"{model}: {one} came after what is not there, or later: {chain}"
            for one in written
            if one.after and numbers.get(one.after, one.version) >= one.version
        ]
    if forks > story.harm:
        wrong.append(f"{forks} times two wrote at a time, with {story.harm} reasons")
    if holes > story.harm:
        wrong.append(f"{holes} numbers are missing, with {story.harm} reasons")
    return wrong


def _records(datastore: bayou.Datastore, versions: Mapping[str, Iterable[Written]]) -> list[str]:
    """Every run has ended, and what it says that it wrote is there, under that number."""
    page = datastore.runs.methods()
    there = {(one.id, one.version) for written in versions.values() for one in written}
    said = [(found, one) for found in page.records for one in found.output.artifacts.data_artifacts]
    return [
        *(f"{found.path} never ended" for found in page.records if not found.output.is_over),
        *(f"{bad.path} cannot be read: {bad.why}" for bad in page.unreadable),
        *(f"{found.path} names {one}" for found, one in said if (one.data_id, one.version) not in there),
    ]


def _catalog(datastore: bayou.Datastore) -> list[str]:
    datastore.catalog.current()
    before = {repr(row._replace(row=0)) for row in datastore.catalog.rows()}
    datastore.catalog.rebuild()
    after = {repr(row._replace(row=0)) for row in datastore.catalog.rows()}
    return [f"the catalog and a rebuild differ in {sorted(before ^ after)[:4]}"] if before != after else []


def _sync(datastore: bayou.Datastore) -> list[str]:
    """Bucket, index and cache say the same, nothing waits, and nothing is to be decided. An object that nobody lists
    is what a killed writer uploaded.
    """
    standing = datastore.syncing.standing()
    found = Upkeep(datastore.settings, datastore.notice).verify(content=True)
    wrong = [f"{one.kind}: {one.path}: {one.why}" for one in found.differences if one.kind is not Kind.ORPHAN]
    wrong += [f"{count} are {kind}" for kind, count in found.pending.items() if kind != Kind.BURIED]
    if standing.dirty or standing.walks or standing.failed:
        wrong.append(f"{standing.dirty} paths wait, as {standing.paths[:4]}; it failed with {standing.failed}")
    wrong += [f"to be decided: {kept.path}" for kept in standing.conflicts]
    return wrong


def _written(record: bayou.Record) -> Written:
    body = Path(record.path).read_bytes()
    said = json.loads(body)
    digest = hashlib.sha256(body).hexdigest()
    return Written(record.version, record.id, said["token"], said["after"], said["writer"], digest)
