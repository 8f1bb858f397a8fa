"""`gc`: let the versions go that retention lets go, in all namespaces, by the rules of `bayou data gc`.

In two phases, as every deletion: here the versions are listed no more and their tombstones published, in one commit for
each namespace; their objects stay for a day, until a repair sweeps what is buried. A name that was written since the
plan was made is left alone.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bayou.domain.models import Model
from bayou.domain.scopes import scope_of
from bayou.layout.artifacts import LATEST, Part, VersionFile, name_folder, version_of
from bayou.layout.typefolders import type_at
from bayou.pipelines.jobs.committing import commit_to
from bayou.pipelines.jobs.context import Context, settled
from bayou.pipelines.report import Cell, Listing, Report
from bayou.pipelines.retention import decided
from bayou.remotes import Change, Commit, ObjectRemote

JOB = "gc"
_SHOWN = 1_000
_AT_ONCE = 500
"""Models whose parts are looked at together."""


@dataclass(frozen=True, slots=True)
class Going:
    """What of one name goes, and which versions there were when that was decided."""

    namespace: str
    model: Model
    name: str
    versions: tuple[int, ...]
    whole: bool
    reason: str
    size: int
    count: int
    total: int

    @property
    def folder(self) -> str:
        return name_folder(self.model, self.name)

    def is_of(self, numbers: Collection[int]) -> bool:
        """Whether these are the versions that there were: no number is ever used again."""
        return len(numbers) == self.count and sum(numbers) == self.total


def run(context: Context, *, now: datetime | None = None) -> Report:
    settled(context)
    moment = now or datetime.now(UTC)
    moment = moment.replace(microsecond=moment.microsecond // 1_000 * 1_000)  # as options of tables are told it
    with context.step("deciding what may go"):
        rows = decided(context.table("retention", now=moment.isoformat()), moment).collect()
        going = sorted((_going(row) for row in rows if row.versions), key=lambda one: (one.namespace, one.folder))
    figures: dict[str, Cell] = {
        "versions": sum(len(one.versions) for one in going),
        "bytes": sum(one.size for one in going),
        "expiredNames": sum(one.whole for one in going),
        "skewedNames": sum(row.skewed for row in rows),
    }
    context.say(f"{figures['versions']} versions of {figures['bytes']} bytes go, of {len(going)} names")
    listing = Listing(
        "What goes",
        ("namespace", "name", "versions", "reason", "bytes"),
        [(one.namespace, one.folder, len(one.versions), one.reason, one.size) for one in going[:_SHOWN]],
        "bytes",
    )
    if context.dry_run:
        return context.report(JOB, figures, listing)
    with context.step("committing"):
        done = [
            _commit(context, name, [one for one in going if one.namespace == name]) for name in context.reach.namespaces
        ]
    commits = [commit for commit, _ in done if commit is not None]
    figures["committed"] = sum(len(commit.committed) for commit in commits)
    figures["changedMeanwhile"] = sum(skipped for _, skipped in done) + sum(len(c.contested) for c in commits)
    return context.report(JOB, figures, listing)


def _going(row: Any) -> Going:  # noqa: ANN401 - a row of Spark
    model_type = type_at(row.type)
    assert model_type is not None  # noqa: S101 - a path led here
    model, versions = Model(model_type, row.model_id), tuple(row.versions)
    return Going(row.namespace, model, row.name, versions, row.whole, row.reason, row.bytes, row["count"], row.total)


def _commit(context: Context, namespace: str, going: Sequence[Going]) -> tuple[Commit | None, int]:
    """What came of it, and how many names were written meanwhile."""
    if not going:
        return None, 0

    async def changes(remote: ObjectRemote) -> tuple[list[Change], int]:
        head = await remote.head()
        made: list[Change] = []
        skipped = 0
        by_model: dict[Model, list[Going]] = defaultdict(list)
        for one in going:
            by_model[one.model].append(one)
        models = sorted(by_model, key=lambda model: (str(model.type), model.id))
        for first in range(0, len(models), _AT_ONCE):
            some = models[first : first + _AT_ONCE]
            listed = (await remote.load(scope_of(some), head)).contents()
            numbers: dict[str, set[int]] = defaultdict(set)
            for path in listed:
                folder, _, part = path.rpartition("/")
                name, _, number = folder.rpartition("/")
                if part == Part.METADATA and version_of(number):
                    numbers[name].add(int(number))
            for one in (one for model in some for one in by_model[model]):
                if one.is_of(numbers[one.folder]):
                    made += _changes(one, listed)
                else:
                    skipped += 1
        return made, skipped

    return commit_to(context, namespace, changes, structural=True)


def _changes(one: Going, listed: Any) -> list[Change]:  # noqa: ANN401 - paths and hashes
    groups = [
        [VersionFile(one.model, one.name, number, part).path for part in (Part.METADATA, Part.RAW)]
        for number in one.versions
    ]
    if one.whole:
        groups.append([f"{one.folder}/{LATEST}"])
    return [
        Change(
            before={path: listed[path] for path in paths if path in listed},
            buries={path: listed[path] for path in paths if listed.get(path) is not None},
        )
        for paths in groups
        if any(path in listed for path in paths)
    ]
