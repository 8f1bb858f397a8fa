"""`scrub`: read every object, compare it with its entry, and say what is missing, corrupt, or listed nowhere.

With another replica to take from, what is missing or corrupt is put right: the damaged bytes are kept aside first, and
what is put in their place has the hash that the index says. The index itself is not touched.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bayou.errors import BayouError
from bayou.layout.keys import Keyspace
from bayou.migration.copying import Failed, Trouble, Wanted, copy
from bayou.pipelines.jobs.context import Context, settled
from bayou.pipelines.memory import forget, run_of
from bayou.pipelines.objectrows import Verdict
from bayou.pipelines.reach import WIDTH, Reach
from bayou.pipelines.report import Listing, Report
from bayou.remotes.objects import each
from bayou.storage.port import Store

JOB = "scrub"
_SHOWN = 1_000
_MOST = 100_000
"""Damaged objects that are looked into one by one."""


@dataclass(frozen=True, slots=True)
class Damage:
    namespace: str
    path: str
    verdict: str
    size: int
    sha256: str | None
    found: str | None

    @property
    def key(self) -> str:
        return Keyspace(self.namespace).data(self.path)


def run(context: Context, *, replica: Reach | None = None, quarantine: bool = False) -> Report:
    settled(context)
    with context.step("planning"):
        planned = context.table("objects").selectExpr("count(*)", "coalesce(sum(size), 0)").first()
        assert planned is not None  # noqa: S101 - an aggregate has a row
    objects, size = planned
    context.say(f"{objects} objects of {size} bytes are read and compared{_what_else(replica, quarantine=quarantine)}")
    if context.dry_run:
        return context.report(JOB, {"objects": objects, "bytes": size})
    with context.step("reading every object"):
        checks = context.table("checks", run=run_of(JOB)).cache()
        verdicts = {row[0]: row[1] for row in checks.groupBy("verdict").count().collect()}
        bad = checks.filter(f"verdict IN ('{Verdict.MISSING}', '{Verdict.CORRUPT}')").orderBy("namespace", "path")
        damages = [_damage(row) for row in bad.limit(_MOST).collect()]
    with context.step("looking for what is listed nowhere"):
        lying = context.table("listing").filter("role = 'data'")
        orphans = lying.join(checks.select("namespace", "path"), ["namespace", "path"], "left_anti").cache()
        count = orphans.selectExpr("count(*)", "coalesce(sum(size), 0)").first()
        assert count is not None  # noqa: S101 - an aggregate has a row
        shown = orphans.orderBy("namespace", "path").select("namespace", "path", "size", "modified").limit(_SHOWN)
        orphan_rows = [(row[0], row[1], row[2], str(row[3])) for row in shown.collect()]
    checks.unpersist()
    outcomes = _put_right(context, damages, replica, quarantine=quarantine)
    context.on_driver(lambda store: forget(store, context.reach.namespaces, JOB))
    repaired = sum(outcome == "repaired" for outcome in outcomes)
    figures = {
        "objects": objects,
        "bytes": size,
        **{verdict.value: verdicts.get(verdict.value, 0) for verdict in Verdict},
        "orphans": count[0],
        "orphanBytes": count[1],
        "quarantined": sum(outcome in ("repaired", "quarantined") for outcome in outcomes),
        "repaired": repaired,
        "damaged": verdicts.get(Verdict.MISSING, 0) + verdicts.get(Verdict.CORRUPT, 0) - repaired,
    }
    pairs = list(zip(damages, outcomes, strict=True))[:_SHOWN]
    return context.report(
        JOB,
        figures,
        Listing(
            "Damage",
            ("namespace", "path", "verdict", "expected", "found", "outcome"),
            [(one.namespace, one.path, one.verdict, one.sha256, one.found, outcome) for one, outcome in pairs],
        ),
        Listing("Listed nowhere", ("namespace", "path", "size", "modified"), orphan_rows),
    )


def _what_else(replica: Reach | None, *, quarantine: bool) -> str:
    if replica is not None:
        return f"; damage is kept aside and repaired from {replica.url}"
    return "; what is corrupt is copied aside" if quarantine else ""


def _damage(row: Any) -> Damage:  # noqa: ANN401 - a row of Spark
    return Damage(row.namespace, row.path, row.verdict, row.size, row.sha256, row.found_sha256)


def _put_right(
    context: Context, damages: Sequence[Damage], replica: Reach | None, *, quarantine: bool
) -> Sequence[str]:
    """What became of each."""
    if not damages or (replica is None and not quarantine):
        return ["reported"] * len(damages)

    async def work(store: Store) -> list[str]:
        if replica is None:
            return await each(WIDTH, damages, lambda one: _set_aside(store, one))
        async with replica.store() as other:
            return await each(WIDTH, damages, lambda one: _repair(store, other, one))

    with context.step("putting right what can be"):
        return context.on_driver(work)


async def _set_aside(store: Store, one: Damage) -> str:
    """Keep damaged bytes, named by what they are. They also stay where they are: somebody may need them."""
    if one.verdict != Verdict.CORRUPT or one.found is None:
        return "reported"
    kept = Keyspace(one.namespace).control(f"bayou/quarantine/{one.found[:16]}/{one.path}")
    await store.copy(one.key, kept)
    return "quarantined"


async def _repair(store: Store, other: Store, one: Damage) -> str:
    if one.sha256 is None:
        return "its hash is not known"
    aside = await _set_aside(store, one)
    wanted = Wanted(one.key, one.key, one.size, one.sha256, () if one.found is None else (one.found,))
    try:
        done = await copy(other, store, wanted)
    except BayouError as error:
        return f"{aside}: {error}"
    if not isinstance(done, Failed):
        return "repaired"
    # Else somebody put it right meanwhile, or took it away.
    return "changed meanwhile" if done.trouble is Trouble.OCCUPIED else f"{aside}: {done.trouble} in the replica too"
