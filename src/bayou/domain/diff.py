"""The three-way diff (design/003): from base, local and remote to a plan. Pure, and driven by what differs."""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from bayou.domain.content import ContentId, Snapshot, State
from bayou.domain.evidence import Evidence
from bayou.domain.plan import Action, Ask, Plan, Question, Reason, Step, Stop
from bayou.domain.sides import Base, Local, Remote
from bayou.domain.table import Case, judge
from bayou.domain.units import Classify, Unit

DELETIONS_ALWAYS_ALLOWED = 100
DELETIONS_ALLOWED_IN_TEN = 1


def diff(  # noqa: PLR0913 - three sides, and what is known about them
    base: Base, local: Local, remote: Remote, evidence: Evidence, classify: Classify, *, size: int = 0
) -> Plan:
    """The plan that brings both sides to agree. Paths that agree cost a comparison of mappings, and no call.

    `size` is how many files the replica has, where the sides are only the part of it that somebody looked at.
    """
    if base.store != remote.store:
        base, remote = Base(remote.store), Remote(remote.store, remote.files)
    sides = _Sides(base, local, remote, evidence, classify)
    steps: dict[str, Step] = {}
    questions: set[Question] = set()
    for unit, paths in sides.differing_units():
        unknown = sides.unknown(paths)
        if unknown:
            # Nothing of it is known here, so there is nothing to compare: the download will tell its hash. Half of a
            # version lies there where a bucket without an index is looked at, and is on its way.
            if not sides.is_unheard_of(paths):
                questions |= unknown
            elif sides.listed.keys() >= {*unit.members}:
                steps[unit.key] = Step(unit, Action.PULL, Reason.WRITTEN_THERE, remote=_pick(sides.listed, paths))
            continue
        case = sides.case(unit, paths)
        verdict = judge(case)
        if isinstance(verdict, Ask):
            questions |= {Question(path, verdict) for path in unit.members if path not in evidence.objects}
        elif verdict is not None:
            steps[unit.key] = _step(case, *verdict, listed=_pick(sides.listed, paths))
    steps |= sides.unsettled_markers(steps)
    return Plan(
        tuple(steps[key] for key in sorted(steps)),
        tuple(sorted(questions)),
        _stop(base, remote, steps.values(), max(size, len(sides.present))),
    )


class _Sides:
    """The three sides, made comparable: `present` is local with the base standing in for what was not deleted."""

    def __init__(self, base: Base, local: Local, remote: Remote, evidence: Evidence, classify: Classify) -> None:
        self.base = base.files
        self.local = local
        self.listed: Snapshot = remote.files or {}
        self.buried = remote.buried
        self.evidence = evidence
        self.classify = classify
        self.deleted = self._whole_deletions()
        self.absent = self.deleted - local.files.keys()
        self.present: dict[str, ContentId | None] = {**self.base, **local.files}
        for path in self.absent:
            del self.present[path]

    def _whole_deletions(self) -> AbstractSet[str]:
        """The deleted paths, of units of which nothing was spared: half a version is not a deletion of the version."""
        proven = {path for path, content in self.evidence.deleted.items() if self.base.get(path) == content}
        return {
            path
            for path in proven
            if all(member in proven or member not in self.base for member in self.classify(path).members)
        }

    def differing_units(self) -> Iterator[tuple[Unit, AbstractSet[str]]]:
        touched = self.absent | self.local.missing
        for side in (self.present, self.listed):
            if side != self.base:
                touched = touched | {path for path, _ in side.items() ^ self.base.items()}
        touched = touched | {path for path, contents in self.buried.items() if self.listed.get(path) in contents}
        units: dict[str, tuple[Unit, set[str]]] = {}
        for path in touched:
            unit = self.classify(path)
            units.setdefault(unit.key, (unit, set(unit.members)))[1].add(path)
        return iter(units.values())

    def unknown(self, paths: Iterable[str]) -> set[Question]:
        found = set()
        for path in paths:
            if self.present.get(path, "") is None:
                found.add(Question(path, Ask.LOCAL_HASH))
            if self.listed.get(path, "") is None:
                found.add(Question(path, Ask.REMOTE_HASH))
        return found

    def is_unheard_of(self, paths: Iterable[str]) -> bool:
        return not any(path in self.present or path in self.base or path in self.buried for path in paths)

    def case(self, unit: Unit, paths: AbstractSet[str]) -> Case:
        base, local, listed = _pick(self.base, paths), _pick(self.present, paths), _pick(self.listed, paths)
        looked = self.evidence.objects
        if local != base:
            # An entry without its object does not hold up what we have to tell. It is no reason to give up a copy.
            listed = {path: content for path, content in listed.items() if looked.get(path, content) is not None}
        case = Case(
            unit=unit,
            base=base,
            local=local,
            remote=listed,
            contradicted={path: content for path, content in listed.items() if looked.get(path, content) != content},
            is_here=local.keys() <= self.local.files.keys(),
            is_missing=not paths.isdisjoint(self.local.missing),
            is_deleted=bool(base) and base.keys() <= self.deleted,
            is_written=not paths.isdisjoint(self.evidence.written),
            dead=None,
            buried=self.buried,
            objects=self.evidence.objects,
        )
        dead = case.death()
        return case if dead is None else case._replace(remote={}, contradicted={}, dead=dead)

    def unsettled_markers(self, steps: Mapping[str, Step]) -> dict[str, Step]:
        """The markers whose versions this plan deletes or contests: they may have to point elsewhere."""
        markers = {
            step.unit.marker
            for step in steps.values()
            if step.unit.marker is not None and step.action in _UNSETTLING and step.unit.marker not in steps
        }
        unsettled = {}
        for path in markers:
            state = {path}
            if path in self.present or path in self.listed:
                unit = self.classify(path)
                unsettled[unit.key] = Step(
                    unit,
                    Action.MERGE,
                    Reason.VERSIONS_CHANGED,
                    _pick(self.base, state),
                    _pick(self.present, state),
                    _pick(self.listed, state),
                )
        return unsettled


_UNSETTLING = frozenset({Action.DELETE_LOCAL, Action.DELETE_REMOTE, Action.BURY, Action.MERGE})


def _step(case: Case, action: Action, reason: Reason, *, listed: State) -> Step:
    published = action in (Action.PUSH, Action.READD)
    return Step(
        case.unit,
        action,
        reason,
        case.base,
        case.local,
        listed,
        buries=case.base if case.is_deleted and case.base != case.local else {},
        lists=_pick(case.objects, case.unit.members) if action is Action.READD else {},
        replaces=_expected(case, listed) if action is Action.PUSH else {},
        revokes=case.local if published and (case.is_buried(case.local) or _is_meant(case)) else {},
    )


def _is_meant(case: Case) -> bool:
    """Whether it was written here on purpose, so that it lives even where a tombstone names it that nobody looked at:
    somebody deleted it, and here the very same was written again.
    """
    return case.is_written and not case.unit.kind.is_written_once


def _expected(case: Case, listed: State) -> State:
    """What an upload should find in its place: what a look found, else what the index says."""
    expected = {path: case.objects.get(path, listed.get(path)) for path in case.unit.members}
    return {path: content for path, content in expected.items() if content is not None}


def _pick(side: Snapshot, paths: Iterable[str]) -> dict[str, ContentId]:
    return {path: content for path in paths if (content := side.get(path)) is not None}


def _stop(base: Base, remote: Remote, steps: Iterable[Step], present: int) -> Stop | None:
    if base.files and base.as_of < remote.buried_since:
        return Stop.BASE_TOO_OLD
    if remote.files is None and base.files:
        return Stop.INDEX_VANISHED
    deleted = sum(len(step.local) for step in steps if step.action in (Action.DELETE_LOCAL, Action.BURY))
    allowed = max(DELETIONS_ALWAYS_ALLOWED, present * DELETIONS_ALLOWED_IN_TEN // 10)
    return Stop.TOO_MANY_DELETIONS if deleted > allowed else None
