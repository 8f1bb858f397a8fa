"""Rows about retention: the versions that may go, name by name, by the rules of the local gc, which decide here too."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby

from bayou.domain.artifacts import ArtifactKey
from bayou.domain.entries import Entry
from bayou.domain.models import Model
from bayou.errors import NotFound, UsageError
from bayou.layout.records import RunRecord
from bayou.layout.typefolders import type_at
from bayou.pipelines.artifactrows import names_of, rows_of
from bayou.pipelines.reading import AT_ONCE, Batches, Row, Task, grouped
from bayou.remotes.objects import each
from bayou.repository.inventory import Inventory, Version
from bayou.repository.retention import judge

SURPLUS = "surplus"
SKEWED = "from the future"

_NAME = ("type", "model_id", "name")
_BOUND = ("workflow", "job")


async def retention(task: Task, entries: Mapping[str, Entry]) -> Batches:
    """A row for each version that may go; and for each name of which none goes by its age, as nobody can tell it."""
    names = [(name, len(name.metadata)) for name in names_of(task, entries)]
    knowing = replace(task, columns=task.columns | {"is_latest"})
    for group in grouped(names, AT_ONCE):
        rows = [row for row, _ in await rows_of(knowing, group) if row["problem"] is None]
        held = [_inventory(list(some)) for _, some in groupby(rows, lambda row: [row[part] for part in _NAME])]
        gone = await _gone_runs(task, held)
        yield [row for inventory in held for row in _judged(task, inventory, gone)]


def _inventory(rows: list[Row]) -> Inventory:
    first = rows[0]
    model_type = type_at(first["type"])
    assert model_type is not None  # noqa: S101 - a path led here
    key = ArtifactKey(Model(model_type, first["model_id"]), first["name"])
    known = [name for name in Version._fields if name not in ("name_row", "garbage_collection", "is_latest", "size")]
    return Inventory(
        key,
        [
            Version(
                name_row=0,
                garbage_collection=row["policy"],
                is_latest=int(row["is_latest"]),
                size=row["size"] or 0,
                **{name: row[name] for name in known},
            )
            for row in rows
        ],
    )


async def _gone_runs(task: Task, held: list[Inventory]) -> frozenset[tuple[str, str]]:
    """The runs whose records are known not to exist, of those that lifetimes are bound to."""
    latest = [inventory.latest for inventory in held]
    asked = {(one.workflow_id, one.workflow_run_id) for one in latest if one is not None and one.lifetime in _BOUND}
    pairs = sorted(pair for pair in asked if all(pair))
    there = await each(task.place.width, pairs, lambda pair: _is_there(task, *pair))
    return frozenset(pair for pair, is_there in zip(pairs, there, strict=True) if not is_there)


async def _is_there(task: Task, workflow_id: str, run_id: str) -> bool:
    try:
        await task.place.store.head(task.place.keys.data(RunRecord(workflow_id, run_id).path))
    except NotFound:
        return False
    except UsageError:
        return True  # no record can be called that: nothing is known of it
    return True


def _judged(task: Task, inventory: Inventory, gone: frozenset[tuple[str, str]]) -> list[Row]:
    assert task.now is not None  # noqa: S101 - the planner sees to it
    judged = judge(inventory, task.now, lambda *pair: pair in gone)
    model = inventory.key.model
    row: Row = {
        "namespace": task.namespace,
        "type": str(model.type),
        "model_id": model.id,
        "name": inventory.key.name,
        "numbers": list(inventory.numbers),
    }
    skewed = [row | {"reason": SKEWED}] if judged.skewed else []
    if judged.going is None:
        return skewed
    sizes = {version.version: version.size for version in inventory.versions}
    reason = SURPLUS if judged.expired is None else judged.expired.value
    return skewed + [
        row | {"version": number, "reason": reason, "whole": judged.going.whole, "bytes": sizes[number]}
        for number in judged.going.versions
    ]
