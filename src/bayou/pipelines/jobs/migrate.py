"""`migrate`: bring all that one datastore holds to another place, whatever kinds of places they are.

Executors carry, each parcel by itself, and write down what they carried; the driver plans, lists it in one commit for
each namespace, and looks again: a plan with nothing left to do is the proof. What was carried by a run that was cut
off, or by `bayou setup`, is not carried again.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bayou.config import urls
from bayou.config.locations import Folder
from bayou.layout.keys import Keyspace
from bayou.locks import Locks, open_cells
from bayou.migration.carrying import Fault, Parcel, carry
from bayou.migration.copying import Trouble
from bayou.migration.ends import End
from bayou.migration.migrate import Look, Outcome, migrate, preview
from bayou.migration.planning import Plan
from bayou.migration.verifying import read_back, to_read
from bayou.pipelines.jobs.context import Context, settled
from bayou.pipelines.reach import WIDTH, Reach, run_all
from bayou.pipelines.reading import Row
from bayou.pipelines.report import Cell, Listing, Report
from bayou.pipelines.spreading import Work, spread
from bayou.remotes import ObjectRemote
from bayou.remotes.changes import StillHeld
from bayou.storage.port import Store
from bayou.storage.probing import Ability, probe

JOB = "migrate"
_SHOWN = 1_000
_COLUMNS = {"path": "string", "trouble": "string", "expected": "string", "found": "string"}


@dataclass(frozen=True, slots=True)
class Load:
    """A parcel, and between which places it is carried."""

    source: Reach
    target: Reach
    conditional: bool
    parcel: Parcel


@dataclass(slots=True)
class _Job:
    """On the driver: one migration of one namespace after the other."""

    context: Context
    target: Reach
    content: bool
    several: Ability = Ability.YES

    async def preview(self, namespace: str) -> Look:
        async with self._ends(namespace) as (source, target):
            return await preview(source, target)

    async def run(self, namespace: str) -> Outcome:
        async with self._ends(namespace) as (source, target):
            with self._locks(namespace) as locks:

                @asynccontextmanager
                async def lock() -> AsyncIterator[StillHeld]:
                    async with locks.commit() as hold:
                        yield lambda: hold.seems_held

                outcome = await migrate(source, target, self._wave, lock, self._tell)
            if self.content and outcome.last is not None:
                parcels = list(to_read(outcome.last.plan, outcome.last.source, namespace))
                with self.context.step("reading back what was carried"):
                    found = self._spread(read_load, parcels)
                outcome.faults.update({fault.path: fault for fault in found})
            return outcome

    async def _wave(self, parcels: Sequence[Parcel]) -> list[Fault]:
        with self.context.step("carrying"):
            return self._spread(carry_load, parcels)

    def _spread(self, work: Work, parcels: Sequence[Parcel]) -> list[Fault]:
        source = replace(self.context.reach, namespaces=())
        loads = [Load(source, self.target, self.several is not Ability.NO, parcel) for parcel in parcels]
        rows = spread(self.context.spark, work, loads, _COLUMNS).collect() if loads else []
        return [Fault(row.path, Trouble(row.trouble), row.expected, row.found) for row in rows]

    def _tell(self, plan: Plan) -> None:
        self.context.say(
            f"{len(plan.copies)} objects of {plan.size} bytes are carried, {len(plan.ready)} were before;"
            f" {len(plan.gone)} go; {len(plan.done)} are there"
        )

    @asynccontextmanager
    async def _ends(self, namespace: str) -> AsyncIterator[tuple[End, End]]:
        async with AsyncExitStack() as stack:
            source = await stack.enter_async_context(self.context.reach.store())
            target = await stack.enter_async_context(self.target.store())
            conditional = self.several is not Ability.NO
            yield (
                end_of(source, self.context.reach, namespace),
                end_of(target, self.target, namespace, conditional=conditional),
            )

    def _locks(self, namespace: str) -> Locks:
        cells = partial(open_cells, urls.parse(self.target.url), several_writers=self.several)
        return Locks(
            cells,
            Keyspace(namespace),
            notice=lambda whom: self.context.say(f"waiting for {whom.holder}, who holds {whom.lock_key}"),
        )


def run(context: Context, target: Reach, *, content: bool = False) -> Report:
    settled(context)
    job = _Job(context, target, content)
    place = urls.displayed(urls.parse(target.url))
    if context.dry_run:
        with context.step("comparing both places"):
            looks = [asyncio.run(job.preview(namespace)) for namespace in context.reach.namespaces]
        return context.report(JOB, {"to": place, **_planned(looks)})
    if not isinstance(urls.parse(target.url), Folder):
        job.several = asyncio.run(_probed(target)).several_writers
    outcomes = {}
    for namespace in context.reach.namespaces:
        with context.step(f"migrating {namespace or 'the solo namespace'}"):
            outcomes[namespace] = asyncio.run(job.run(namespace))
    return context.report(JOB, {"to": place, **_figures(outcomes.values())}, _troubles(outcomes))


def end_of(store: Store, reach: Reach, namespace: str, *, conditional: bool = True) -> End:
    location = urls.parse(reach.url)
    remote = ObjectRemote(store, namespace, conditional=conditional, width=WIDTH)
    return End(remote, urls.displayed(location), is_folder=isinstance(location, Folder))


def carry_load(load: Load) -> Iterator[list[Row]]:
    """On an executor: carry a parcel, and say what could not be carried."""
    return run_all(_with_ends(load, carry))


def read_load(load: Load) -> Iterator[list[Row]]:
    """On an executor: read back what was carried, and say what is something else."""
    return run_all(_with_ends(load, lambda _, target, parcel: read_back(target, parcel)))


async def _with_ends(load: Load, work: Callable[..., Any]) -> AsyncIterator[list[Row]]:
    async with load.source.store() as source, load.target.store() as target:
        namespace = load.parcel.namespace
        here = end_of(source, load.source, namespace)
        there = end_of(target, load.target, namespace, conditional=load.conditional)
        faults = await work(here, there, load.parcel)
        yield [{**fault._asdict(), "trouble": fault.trouble.value} for fault in faults]


async def _probed(target: Reach) -> Any:  # noqa: ANN401 - abilities
    async with target.store() as store:
        return await probe(store)


def _planned(looks: Sequence[Look]) -> dict[str, Cell]:
    plans = [look.plan for look in looks]
    return {
        "objects": sum(len(look.source.entries) for look in looks),
        "toCopy": sum(len(plan.copies) for plan in plans),
        "toCopyBytes": sum(plan.size for plan in plans),
        "toList": sum(len(plan.ready) for plan in plans),
        "toRemove": sum(len(plan.gone) for plan in plans),
        "done": sum(len(plan.done) for plan in plans),
        "differing": sum(len(plan.differing) for plan in plans),
    }


def _figures(outcomes: Any) -> dict[str, Cell]:  # noqa: ANN401 - the values of a mapping
    outcomes = list(outcomes)
    lasts = [outcome.last for outcome in outcomes if outcome.last is not None]
    return {
        "objects": sum(len(last.source.entries) for last in lasts),
        "bytes": sum(entry.size for last in lasts for entry in last.source.entries.values()),
        "copied": sum(outcome.copied for outcome in outcomes),
        "copiedBytes": sum(outcome.size for outcome in outcomes),
        "listed": sum(outcome.listed for outcome in outcomes),
        "removed": sum(outcome.removed for outcome in outcomes),
        "verified": sum(len(last.plan.done) for last in lasts),
        "theirs": sum(len(last.plan.theirs) for last in lasts),
        "damaged": sum(len(outcome.faults) for outcome in outcomes),
        "differing": sum(len(outcome.differing) for outcome in outcomes),
        "left": sum(len(outcome.left) for outcome in outcomes),
    }


def _troubles(outcomes: dict[str, Outcome]) -> Listing:
    rows: list[tuple[Cell, ...]] = []
    for namespace, outcome in outcomes.items():
        rows += [
            (namespace, one.path, one.trouble.value, one.expected, one.found)
            for _, one in sorted(outcome.faults.items())
        ]
        rows += [(namespace, path, "differs", None, None) for path in sorted(outcome.differing)]
        rows += [(namespace, path, "changed meanwhile", None, None) for path in sorted(outcome.left)]
    return Listing("Not carried", ("namespace", "path", "why", "expected", "found"), rows[:_SHOWN])
