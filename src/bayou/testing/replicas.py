"""A replica in memory: the smallest thing that can execute a plan, for the properties of the diff.

One `sync` is atomic, as the commit lock makes it; anything may happen between any two.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bayou.domain.content import ContentId
from bayou.domain.diff import diff
from bayou.domain.evidence import Evidence
from bayou.domain.merges.definitions import Aliases, merge_definitions, with_alias
from bayou.domain.merges.files import Stamp, merge_derived, merge_other
from bayou.domain.merges.markers import merge_latest
from bayou.domain.merges.records import merge_records
from bayou.domain.merges.references import renumbered_metadata, renumbered_record
from bayou.domain.merges.resolution import Move, Point, Rehome, Renumber, Resolution, TakeLocal, TakeRemote
from bayou.domain.merges.versions import Contest, Version, Versions, growth, merge_versions
from bayou.domain.plan import Action, Ask, Plan, Reason, Step
from bayou.domain.sides import Base, Local, Remote
from bayou.domain.units import Kind, Unit
from bayou.testing.sharedbucket import STORE, Bucket, classify, content_of, number_of

PASSES = 6


@dataclass
class Replica:
    """One machine's cache with its journal. `is_lazy`: raw content is fetched only when somebody asks for it."""

    name: str
    is_lazy: bool = False
    files: dict[str, bytes] = field(default_factory=dict)
    base: dict[str, ContentId] = field(default_factory=dict)
    hydrated: set[str] = field(default_factory=set)
    intents: dict[str, ContentId] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    aside: list[bytes] = field(default_factory=list)
    aliases: Aliases = frozenset()

    # What users do.

    def write(self, files: Mapping[str, bytes]) -> None:
        self.files.update(files)
        self.written |= files.keys()
        self.hydrated |= files.keys()

    def delete(self, paths: Iterable[str]) -> None:
        """On purpose: with an intent row for what the base knows."""
        for path in paths:
            if path in self.base:
                self.intents[path] = self.base[path]
            self.files.pop(path, None)
            self.written.discard(path)

    def vanish(self, paths: Iterable[str]) -> None:
        """Not on purpose: nothing tells of it."""
        for path in paths:
            self.files.pop(path, None)

    def evict(self, paths: Iterable[str]) -> None:
        """Give up content that can be fetched again."""
        for path in paths:
            if path in self.files and self.base.get(path) == content_of(self.files[path]):
                del self.files[path]
                self.hydrated.discard(path)

    def lose_journal(self) -> None:
        self.base, self.hydrated, self.intents, self.written = {}, set(), {}, set()

    # What sync does.

    def plan(self, bucket: Bucket, objects: dict[str, ContentId | None] | None = None) -> Plan:
        """The plan without open questions: each is answered by a look, and asked again as a whole."""
        objects = {} if objects is None else objects
        listed = dict(bucket.index)
        while True:
            plan = diff(
                Base(STORE, self.base),
                Local(
                    {path: content_of(body) for path, body in self.files.items()},
                    {path for path in self.hydrated if path in self.base and path not in self.files},
                ),
                Remote(STORE, listed, bucket.buried),
                Evidence(dict(self.intents), set(self.written), objects),
                classify,
            )
            if not plan.questions:
                return plan
            for question in plan.questions:
                objects[question.path] = bucket.holds(question.path)
                if question.ask is Ask.REMOTE_HASH:
                    listed[question.path] = objects[question.path]
                    if objects[question.path] is None:
                        del listed[question.path]

    def sync(self, bucket: Bucket) -> list[Plan]:
        """Diff and execute until there is nothing left to do; the plans that it took."""
        plans = []
        objects: dict[str, ContentId | None] = {}
        for _ in range(PASSES):
            plan = self.plan(bucket, objects)
            while (unread := self._unreadable(plan, bucket)).keys() - objects.keys():
                objects |= unread
                plan = self.plan(bucket, objects)
            if not plan.steps:
                break
            plans.append(plan)
            objects = {}
            if not self._merge_units(plan, bucket):
                self._execute(plan, bucket)
        return plans

    @staticmethod
    def _unreadable(plan: Plan, bucket: Bucket) -> dict[str, ContentId | None]:
        """Entries that a download would find to be wrong, and objects that refuse an upload, as each is conditional."""
        wanted = [step.remote for step in plan.steps if step.action in (Action.PULL, Action.RESTORE, Action.MERGE)]
        occupied = {
            member: bucket.holds(member)
            for step in plan.steps
            if step.action is Action.PUSH
            and any(bucket.holds(p) not in (step.replaces.get(p), step.local[p]) for p in step.local)
            for member in step.unit.members
        }
        return occupied | {
            path: bucket.holds(path)
            for remote in wanted
            for path, content in remote.items()
            if content is not None and bucket.holds(path) != content
        }

    # Merges, first: they are edits of this replica.

    def _merge_units(self, plan: Plan, bucket: Bucket) -> bool:
        contests = [step for step in plan.steps if step.action is Action.MERGE and step.unit.kind is not Kind.LATEST]
        markers = {step.unit.marker for step in contests if step.unit.marker is not None}
        for marker in sorted(markers):
            self._merge_family(marker.removesuffix("/latest"), contests, bucket)
        for step in contests:
            if step.unit.marker is None:
                self._apply(step, self._merge_file(step, bucket))
        return bool(contests)

    def _merge_family(self, family: str, steps: list[Step], bucket: Bucket) -> None:
        contests = {
            number_of(step.unit.members[0]): step for step in steps if step.unit.key.rpartition("/")[0] == family
        }
        contested = {number: self._contest(step, bucket) for number, step in contests.items()}
        resolutions = merge_versions(
            Versions(
                contested,
                _ids(self.files, family),
                _ids({path: bucket.objects[path] for path in bucket.index if path in bucket.objects}, family),
                frozenset(_numbers(self.base, family)),
                frozenset(_numbers(bucket.buried, family) | _numbers(bucket.objects, family)),
            )
        )
        # Highest first: a number is free before another version moves to it.
        for number in sorted(resolutions, reverse=True):
            resolution = resolutions[number]
            folder = f"{family}/{number}"
            if isinstance(resolution, Renumber):
                self._renumber(folder, f"{family}/{resolution.to}", resolution)
            else:
                self._apply(contests[number], resolution)
        moved = {number: r.to for number, r in resolutions.items() if isinstance(r, Renumber)}
        marker = f"{family}/latest"
        if marker in self.files and int(self.files[marker]) in moved:
            self.files[marker] = str(moved[int(self.files[marker])]).encode()

    def _contest(self, step: Step, bucket: Bucket) -> Contest:
        ours = _version(self.files, step.unit.key)
        if step.reason is Reason.OCCUPIED:
            return Contest(ours, None, written_here=True)
        return Contest(
            ours,
            _version(bucket.objects, step.unit.key),
            written_here=step.local != step.base,
            growth=growth(self.files[f"{step.unit.key}/raw"], bucket.objects[f"{step.unit.key}/raw"]),
        )

    def _renumber(self, old: str, new: str, renumber: Renumber) -> None:
        body = json.loads(self.files[f"{old}/metadata.yaml"])
        self._rename(
            {
                f"{old}/raw": (f"{new}/raw", self.files[f"{old}/raw"]),
                f"{old}/metadata.yaml": (
                    f"{new}/metadata.yaml",
                    json.dumps(renumbered_metadata(body, renumber)).encode(),
                ),
            }
        )
        if renumber.new_id is None:
            for path in list(self.files):
                if classify(path).kind in (Kind.OUTPUT, Kind.RUN):
                    record = renumbered_record(json.loads(self.files[path]), {body["id"]: renumber.to})
                    if record is not None:
                        self.files[path] = json.dumps(record).encode()

    def _rename(self, moves: Mapping[str, tuple[str, bytes]]) -> None:
        is_base = all(self.base.get(path) == content_of(self.files[path]) for path in moves)
        for path, (to, body) in moves.items():
            del self.files[path]
            if is_base:
                self.intents[path] = self.base[path]
            self.files[to] = body
            self.hydrated.discard(path)
            self.hydrated.add(to)
            if path in self.written:
                self.written.discard(path)
                self.written.add(to)

    def _merge_file(self, step: Step, bucket: Bucket) -> Resolution:
        path = step.unit.key
        local, remote = self.files[path], bucket.objects[path]
        match step.unit.kind:
            case Kind.OUTPUT | Kind.RUN:
                contents = (step.local[path], step.remote[path] or "")
                return merge_records(
                    path,
                    json.loads(local),
                    json.loads(remote),
                    contents=contents,
                    written_here=step.local != step.base,
                )
            case Kind.DEFINITION:
                return merge_definitions(json.loads(local), json.loads(remote), written_here=step.local != step.base)
            case Kind.DERIVED:
                return merge_derived(Stamp("", content_of(local)), Stamp("", content_of(remote)))
            case _:
                return merge_other()

    def _apply(self, step: Step, resolution: Resolution) -> None:
        path = step.unit.key
        match resolution:
            case TakeRemote(keep_aside):
                self._take_remote(step.unit, keep_aside=keep_aside)
            case TakeLocal():
                self._acknowledge(step)
            case Move(to):
                self._rename({path: (to, self.files[path])})
            case Rehome(given_up, _):
                self.aliases = with_alias(self.aliases, resolution)
                self._rehome(resolution, f"data/t/{given_up}/")
                self._take_remote(step.unit, keep_aside=step.local != step.base)
            case _:
                raise AssertionError(resolution)

    def _rehome(self, rehome: Rehome, folder: str) -> None:
        for path in [path for path in self.files if path.startswith(folder) and path not in self.base]:
            to = path.replace(f"/{rehome.given_up}/", f"/{rehome.kept}/", 1)
            if classify(to).marker is None or not any(to in side for side in (self.files, self.base)):
                self.files.setdefault(to, self.files[path])
                self.hydrated.add(to)
                del self.files[path]

    def _take_remote(self, unit: Unit, *, keep_aside: bool) -> None:
        for path in unit.members:
            body = self.files.pop(path, None)
            if keep_aside and body is not None:
                self.aside.append(body)
            for journal in (self.hydrated, self.written):
                journal.discard(path)
            self.base.pop(path, None)
            self.intents.pop(path, None)

    def _acknowledge(self, step: Step) -> None:
        for path in step.unit.members:
            content = step.remote.get(path)
            if content is None:
                self.base.pop(path, None)
            else:
                self.base[path] = content

    # The rest of a plan, then its markers.

    def _execute(self, plan: Plan, bucket: Bucket) -> None:
        for step in plan.steps:
            if step.action is not Action.MERGE:
                self._do(step, bucket)
                bucket.revoke(step.revokes)
                bucket.bury(step.buries)
        for step in plan.steps:
            if step.action is Action.MERGE:
                self._settle(step, bucket)

    def _do(self, step: Step, bucket: Bucket) -> None:
        match step.action:
            case Action.PUSH:
                self._push(step, bucket)
            case Action.PULL | Action.RESTORE:
                self._pull(step, bucket)
            case Action.READD:
                self._readd(step, bucket)
            case Action.AGREE:
                self._agree(step)
            case Action.DELETE_LOCAL | Action.DELETE_REMOTE | Action.BURY:
                for path in step.unit.members:
                    if step.action is not Action.DELETE_LOCAL:
                        bucket.index.pop(path, None)
                    self._forget(path)
            case Action.MERGE:
                raise AssertionError(step)

    def _settle(self, step: Step, bucket: Bucket) -> None:
        path = step.unit.key
        numbers = {content_of(str(number).encode()): number for number in range(1000)}
        base, local, remote = (numbers.get(side.get(path) or "") for side in (step.base, step.local, step.remote))
        versions = _numbers(bucket.index.keys() & bucket.objects.keys(), path.removesuffix("/latest"))
        self._point(step, merge_latest(base, local, remote, versions=versions, renumbered={}), bucket)

    def _point(self, step: Step, point: Point, bucket: Bucket) -> None:
        path = step.unit.key
        if point.to is None:
            for side in (step.base, step.remote):
                bucket.bury({path: content for path, content in side.items() if content is not None})
            bucket.index.pop(path, None)
            self._forget(path)
            return
        self.files[path] = str(point.to).encode()
        self.base[path] = content_of(self.files[path])
        self.hydrated.add(path)
        self.intents.pop(path, None)
        self.written.discard(path)
        bucket.put({path: self.files[path]})
        bucket.revoke({path: self.base[path]})

    def _push(self, step: Step, bucket: Bucket) -> None:
        bucket.remove(step.remote.keys() - step.local.keys())
        bucket.put({path: self.files[path] for path in step.local})
        self._agree(step)

    def _pull(self, step: Step, bucket: Bucket) -> None:
        remote = {path: content for path, content in bucket.index.items() if path in step.unit.members}
        for path in step.unit.members:
            is_wanted = path in self.hydrated or not (self.is_lazy and path.endswith("/raw"))
            self._forget(path)
            if path in remote and is_wanted:
                self.files[path] = bucket.objects[path]
                self.hydrated.add(path)
            if path in remote:
                self.base[path] = content_of(bucket.objects[path])

    def _readd(self, step: Step, bucket: Bucket) -> None:
        bucket.index.update(step.lists)
        if step.lists == step.local:
            self._agree(step)

    def _agree(self, step: Step) -> None:
        for path in step.unit.members:
            self.intents.pop(path, None)
            self.written.discard(path)
            if path in step.local:
                self.base[path] = step.local[path]
            else:
                self._forget(path)

    def _forget(self, path: str) -> None:
        self.files.pop(path, None)
        self.base.pop(path, None)
        self.intents.pop(path, None)
        self.hydrated.discard(path)
        self.written.discard(path)


def _version(files: Mapping[str, bytes], folder: str) -> Version:
    says = json.loads(files[f"{folder}/metadata.yaml"])
    return Version(says["id"], content_of(files[f"{folder}/raw"]), says["streaming"])


def _numbers(paths: Iterable[str], family: str) -> set[int]:
    return {number_of(path) for path in paths if path.startswith(f"{family}/") and number_of(path)}


def _ids(files: Mapping[str, Any], family: str) -> dict[int, str]:
    return {
        number: json.loads(files[f"{family}/{number}/metadata.yaml"])["id"]
        for number in _numbers(files, family)
        if f"{family}/{number}/metadata.yaml" in files
    }
