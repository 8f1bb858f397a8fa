"""The `latest` markers of a plan: where each points once the versions of its name are settled."""

import hashlib
from collections.abc import AsyncIterator, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from bayou.domain.content import ContentId
from bayou.domain.merges.markers import merge_latest
from bayou.domain.plan import Action, Step
from bayou.domain.units import Kind
from bayou.layout.artifacts import LATEST, version_of
from bayou.remotes.objects import read
from bayou.sync.ends import Ends
from bayou.sync.planning import Planned
from bayou.sync.views import listed_versions

COMING = frozenset({Action.PUSH, Action.READD})
GOING = frozenset({Action.DELETE_REMOTE, Action.BURY})
NONE: AbstractSet[int] = frozenset()

_MOST_BYTES = 64


@dataclass(frozen=True, slots=True)
class Marker:
    """One marker: what it says on each side, and what it is to say on both. None: it is to be gone."""

    step: Step
    content: bytes | None
    is_ahead_here: bool = False
    """In the cache it names a version that is still to be pushed, and stays there."""

    @property
    def path(self) -> str:
        return self.step.unit.key

    @property
    def sha256(self) -> ContentId | None:
        return None if self.content is None else hashlib.sha256(self.content).hexdigest()

    @property
    def local(self) -> ContentId | None:
        return self.step.local.get(self.path)

    @property
    def remote(self) -> ContentId | None:
        return self.step.remote.get(self.path)

    @property
    def is_news_there(self) -> bool:
        return self.sha256 != self.remote

    @property
    def is_news_here(self) -> bool:
        return self.sha256 != self.local


async def settle(ends: Ends, step: Step, versions: AbstractSet[int]) -> Marker:
    """Decide where a marker points, among these versions."""
    path = step.unit.key
    says = {content: body async for content, body in _bodies(ends, step, versions)}
    base, local, remote = (_number(says.get(side.get(path) or "")) for side in (step.base, step.local, step.remote))
    to = merge_latest(base, local, remote, versions=versions, renumbered={}).to
    return Marker(step, None if to is None else _body(step, to, says))


def versions_of(ends: Ends, planned: Planned, steps: Iterable[Step]) -> dict[str, set[int]]:
    """The versions that are listed now, by their markers."""
    names = [step.unit.key.removesuffix(f"/{LATEST}") for step in steps]
    return {f"{name}/{LATEST}": numbers for name, numbers in listed_versions(ends, planned, names).items()}


def moving(steps: Iterable[Step], actions: AbstractSet[Action]) -> dict[str, set[int]]:
    """The versions that are subject to these actions, by their markers."""
    found: dict[str, set[int]] = {}
    for step in steps:
        number = version_of(step.unit.key.rpartition("/")[2])
        if step.unit.marker is not None and number is not None and step.action in actions:
            found.setdefault(step.unit.marker, set()).add(number)
    return found


def markers_of(planned: Planned) -> list[Step]:
    return [s for s in planned.plan.steps if s.action is Action.MERGE and s.unit.kind is Kind.LATEST]


async def _bodies(ends: Ends, step: Step, versions: AbstractSet[int]) -> AsyncIterator[tuple[ContentId, bytes]]:
    """What each side's marker says, by its hash. Most are the plain number of a version that is known here."""
    path = step.unit.key
    wanted = {content for side in (step.base, step.local, step.remote) if (content := side.get(path))}
    own = ends.tree.read(path)
    highest = max(versions, default=0)
    candidates = [] if own is None else [own[:_MOST_BYTES]]
    numbers = {*versions, *range(max(1, highest - 8), highest + 9)}
    candidates += (str(number).encode() for number in sorted(numbers, key=lambda number: abs(highest - number)))
    for body in candidates:
        if not wanted:
            return
        content = hashlib.sha256(body).hexdigest()
        if content in wanted:
            wanted.discard(content)
            yield content, body
    if wanted & {step.remote.get(path)}:
        blob = await read(ends.store, ends.key(path))
        if blob is not None:
            yield hashlib.sha256(blob.content).hexdigest(), blob.content[:_MOST_BYTES]


def _body(step: Step, to: int, says: Mapping[ContentId, bytes]) -> bytes:
    """The bytes of a side that points there already, so that nothing is written twice; else the plain number."""
    for side in (step.remote, step.local):
        content = side.get(step.unit.key)
        if content is not None and _number(says.get(content)) == to:
            return says[content]
    return str(to).encode()


def _number(body: bytes | None) -> int | None:
    if body is None:
        return None
    digits = body.strip()
    return int(digits) if digits.isdigit() and len(digits) < 16 and int(digits) else None
