"""Retention: one plan, which a dry run shows and the run carries out, and which spares what is still reached."""

import os
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.artifacts import Owner, OwnerType
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.errors import Corrupt
from bayou.repository import reads
from bayou.repository.deferred import Deferred
from bayou.repository.deletions import delete, hide, mark_deleted
from bayou.repository.models import Models
from bayou.repository.pruning import defined, plan_prune, prune
from bayou.repository.retention import Collected, Plan, collect, plan_gc
from bayou.repository.saving import save
from bayou.testing.bench import DAY, Bench, bench_in


def plan(bench: Bench, gone: tuple[str, ...] = (), model: Model | None = None) -> Plan:
    return plan_gc(bench.holdings, lambda _, run: run in gone, model=model)


def gc(bench: Bench, gone: tuple[str, ...] = ()) -> Collected:
    """A dry run and then the run, which must say the same."""
    planned = plan(bench, gone)
    before = bench.files()
    dry = collect(bench.holdings, planned, dry_run=True)
    assert bench.files() == before
    real = collect(bench.holdings, planned)
    assert real.to_dict() == {**dry.to_dict(), "dryRun": False}
    again = collect(bench.holdings, plan(bench, gone)).to_dict()
    assert (again["dataEntriesExpired"], again["versionsDeleted"]) == (0, 0)
    return real


def write(
    bench: Bench, name: str, *texts: str, run: str | None = None, step: str | None = None, **said: object
) -> None:
    owner = Owner(
        owner_type=OwnerType.MODEL_METHOD,
        owner_ref=bench.model.id,
        workflow_id="w" if run else None,
        workflow_run_id=run,
        step_name=step,
    )
    for text in texts:
        save(bench.holdings, bench.key(name), text, bench.draft(owner=owner, **said))


def test_what_has_expired_goes_with_all_its_versions(bench: Bench) -> None:
    write(bench, "old", "one", "three", lifetime="30d")
    write(bench, "forever", "x")
    bench.clock.pass_days(20)
    write(bench, "young", "x", lifetime="30d")
    bench.clock.pass_days(11)
    assert gc(bench).to_dict() == {
        "dataEntriesExpired": 1,
        "versionsDeleted": 2,
        "bytesReclaimed": 8,
        "dryRun": False,
        "expiredEntries": [
            {
                "type": "acme/host",
                "modelId": bench.model.id,
                "dataName": "old",
                "reason": "duration-expired",
                "versionCount": 2,
            }
        ],
        "unfinishedRemoved": 0,
        "skipped": [],
        "failed": [],
        "walPagesTotal": 0,
        "walPagesCheckpointed": 0,
    }
    assert [bench.path(name).exists() for name in ("old", "forever", "young")] == [False, True, True]
    assert bench.rows("old") == {}


def test_the_age_is_that_of_the_latest(bench: Bench) -> None:
    write(bench, "state", "old", lifetime="30d")
    bench.clock.pass_days(29)
    write(bench, "state", "new", lifetime="30d")
    bench.clock.pass_days(5)
    assert gc(bench).to_dict()["dataEntriesExpired"] == 0


def test_what_is_expired_and_over_its_quota_is_counted_once(bench: Bench) -> None:
    write(bench, "state", *"abcde", lifetime="1d", garbage_collection=2)
    bench.clock.pass_days(2)
    done = gc(bench).to_dict()
    assert (done["versionsDeleted"], done["bytesReclaimed"], done["dataEntriesExpired"]) == (5, 5, 1)


def test_the_newest_by_number_stay(bench: Bench) -> None:
    write(bench, "state", *"abcde", garbage_collection=2)
    assert gc(bench).to_dict()["versionsDeleted"] == 3
    assert reads.versions(bench.tree, bench.key()) == list(bench.rows()) == [4, 5]
    assert bench.latest_rows() == [5]


def test_by_age_all_may_go_but_the_latest(bench: Bench) -> None:
    write(bench, "state", *"abc", garbage_collection="1d")
    bench.clock.pass_days(400)
    assert gc(bench).to_dict()["versionsDeleted"] == 2
    assert reads.versions(bench.tree, bench.key()) == [3]


def test_the_policy_of_the_latest_counts(bench: Bench) -> None:
    write(bench, "state", "a", "b", "c", garbage_collection=1)
    write(bench, "state", "d", garbage_collection=3)
    assert gc(bench).to_dict()["versionsDeleted"] == 1


def test_the_latest_of_each_step_stays(bench: Bench) -> None:
    write(bench, "state", "a", step="plan", garbage_collection=1)
    write(bench, "state", "b", "c", "d", step="apply", garbage_collection=1)
    gc(bench)
    assert reads.versions(bench.tree, bench.key()) == bench.latest_rows() == [1, 4]


def test_what_waits_to_be_advanced_stays_and_counts_for_nothing(bench: Bench) -> None:
    write(bench, "state", "a", "b", garbage_collection=1)
    deferred = Deferred(bench.holdings)
    deferred.save(bench.key(), "c", bench.draft(garbage_collection=1))
    deferred.save(bench.key("new"), "c", bench.draft(lifetime="1d"))
    bench.clock.pass_days(100)
    gc(bench)
    assert reads.versions(bench.tree, bench.key()) == [2, 3]
    assert reads.versions(bench.tree, bench.key("new")) == [1]


def test_what_is_hidden_stays(bench: Bench) -> None:
    write(bench, "state", "a", "b", garbage_collection=1, lifetime="1d")
    hide(bench.holdings, bench.key())
    bench.clock.pass_days(100)
    gc(bench)
    assert reads.versions(bench.tree, bench.key()) == [1, 2]


def test_markers_of_deletion_never_expire_but_their_past_goes(bench: Bench) -> None:
    write(bench, "state", "a", "b", lifetime="1d", garbage_collection=1)
    mark_deleted(bench.holdings, bench.key(), bench.owner, method="destroy")
    bench.clock.pass_days(100)
    done = gc(bench).to_dict()
    assert (done["dataEntriesExpired"], done["versionsDeleted"]) == (0, 2)
    assert reads.versions(bench.tree, bench.key()) == [3]


@pytest.mark.parametrize(("lifetime", "reason"), [("workflow", "workflow-deleted"), ("job", "job-deleted")])
def test_what_is_bound_to_a_run_goes_with_its_record(bench: Bench, lifetime: str, reason: str) -> None:
    write(bench, "gone", "x", run="r-1", lifetime=lifetime)
    write(bench, "there", "x", run="r-2", lifetime=lifetime)
    write(bench, "unbound", "x", lifetime=lifetime)
    bench.clock.pass_days(1000)
    ((key, why),) = gc(bench, ("r-1", "", "None")).plan.expired.items()
    assert (key.name, why) == ("gone", reason)


def test_nothing_goes_by_its_age_where_a_clock_was_wrong(bench: Bench) -> None:
    write(bench, "state", "a", lifetime="1d", garbage_collection="1d")
    bench.clock.pass_days(3)
    write(bench, "state", "b", lifetime="1d", garbage_collection="1d")
    bench.clock.pass_days(400)
    write(bench, "other", "from the future", lifetime="1d")
    write(bench, "state", "from the future", lifetime="1d", garbage_collection="1d")
    bench.clock.pass_days(-390)
    planned = plan(bench)
    assert [key.name for key in planned.skewed] == ["other", "state"]
    assert planned.going == ()
    bench.clock.pass_days(390)
    assert plan(bench).skewed == ()
    assert len(plan(bench).going) == 1


def test_a_clock_that_is_off_by_hours_is_nothing_special(bench: Bench) -> None:
    write(bench, "state", "a", "b", garbage_collection=1)
    bench.clock.pass_days(-0.5)
    assert plan(bench).skewed == ()
    assert gc(bench).to_dict()["versionsDeleted"] == 1


def test_one_model_alone_is_looked_at_after_it_ran(bench: Bench) -> None:
    write(bench, "state", "a", lifetime="1d")
    bench.clock.pass_days(2)
    other = Model(ModelType("acme/host"), "other")
    assert plan(bench, model=other).going == ()
    assert len(plan(bench, model=bench.model).going) == 1


def test_what_was_written_since_the_plan_was_made_stays(bench: Bench) -> None:
    for name in ("expired", "surplus", "gone"):
        write(bench, name, "a", "b", lifetime="1d" if name != "surplus" else "infinite", garbage_collection=1)
    bench.clock.pass_days(2)
    planned = plan(bench)
    write(bench, "expired", "c", lifetime="1d")
    write(bench, "surplus", "c")
    delete(bench.holdings, bench.key("gone"))
    done = collect(bench.holdings, planned).to_dict()
    assert (done["versionsDeleted"], done["dataEntriesExpired"]) == (0, 0)
    assert len(done["skipped"]) == 3  # type: ignore[arg-type]
    assert reads.versions(bench.tree, bench.key("expired")) == [1, 2, 3]


def test_one_name_that_cannot_be_removed_holds_up_no_other(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        write(bench, name, "x", lifetime="1d")
    bench.clock.pass_days(2)
    rename = os.rename

    def failing(source: str, target: str) -> None:
        if source.endswith("/b"):
            raise PermissionError(13, "Permission denied")
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    done = collect(bench.holdings, plan(bench))
    assert (done.to_dict()["dataEntriesExpired"], done.to_dict()["versionsDeleted"]) == (2, 2)
    assert list(done.removed.failures) == [bench.key("b")]
    assert str(done.to_dict()["failed"]).startswith("[{'data': 'acme/host/web-01/b', 'error': ")
    assert reads.versions(bench.tree, bench.key("b")) == [1]


def leave_unfinished(bench: Bench, *where: str, age: float = 2.0) -> None:
    folder = bench.root.joinpath("data", *where)
    folder.mkdir(parents=True)
    (folder / "raw").write_bytes(b"half")
    at = bench.clock.now_ns - int(age * DAY)
    for path in (folder / "raw", folder):
        os.utime(path, ns=(at, at))


def test_what_dead_writers_left_goes_when_it_is_old(bench: Bench) -> None:
    write(bench, "state", "one")
    model = ("acme", "host", bench.model.id)
    leave_unfinished(bench, *model, "state", "2")
    leave_unfinished(bench, *model, "never", "1")
    leave_unfinished(bench, *model, "young", "1", age=0.5)
    leave_unfinished(bench, *model, "207333", "1", age=0.5)
    bench.path("odd", "1").mkdir(parents=True)
    bench.path("odd", "1", "notes.txt").write_text("somebody's")
    temporary = bench.root / "_control/tmp/.old.tmp"
    temporary.write_bytes(b"x")
    os.utime(temporary, ns=(1, 1))
    assert gc(bench).to_dict()["unfinishedRemoved"] == 2
    assert reads.versions(bench.tree, bench.key()) == [1]
    assert not bench.path("state", 2).exists()
    assert not bench.path("never").exists()
    assert all(bench.path(name, 1).exists() for name in ("young", "207333", "odd"))
    assert not temporary.exists()


def test_who_goes_on_writing_is_not_dead(bench: Bench) -> None:
    leave_unfinished(bench, "acme", "host", bench.model.id, "state", "1")
    planned = plan(bench)
    assert len(planned.unfinished) == 1
    os.utime(bench.path("state", 1, "raw"), ns=(bench.clock.now_ns, bench.clock.now_ns))
    assert collect(bench.holdings, planned).unfinished == 0
    assert bench.path("state", 1, "raw").exists()


steps = st.sampled_from([None, "a", "b"])
writes = st.lists(
    st.tuples(st.sampled_from(["x", "y"]), steps, st.sampled_from([1, 2, "3d"]), st.sampled_from(["infinite", "5d"])),
    max_size=6,
)


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench_in(tmp_path_factory.mktemp("gc") / "ds") as bench:
        yield bench


@given(writes, st.integers(0, 9))
def test_whatever_was_written_a_gc_keeps_what_is_reached_and_does_what_it_said(
    lasting: Bench, written: list[tuple[str, str | None, int | str, str]], days: int
) -> None:
    bench = lasting
    for name in "xy":
        if reads.versions(bench.tree, bench.key(name)):
            delete(bench.holdings, bench.key(name))
    for name, step, policy, lifetime in written:
        write(bench, name, "x", step=step, garbage_collection=policy, lifetime=lifetime)
        bench.clock.pass_days(1)
    bench.clock.pass_days(days)
    heads = {name: bench.latest_rows(name) for name in "xy"}
    expired = {key.name for key in plan(bench).expired}
    gc(bench)
    for name in "xy":
        left = reads.versions(bench.tree, bench.key(name))
        assert left == list(bench.rows(name))
        assert left == [] if name in expired else set(heads[name]) <= set(left)
        assert bench.latest_rows(name) == ([] if name in expired else heads[name])


def test_the_data_of_models_that_nobody_defines_goes(bench: Bench) -> None:
    models = Models(bench.tree, bench.root / "models")
    live = models.of(ModelType("acme/host"), "live")
    repo = bench.root / "workflows"
    repo.mkdir()
    (repo / "nightly.yaml").write_text("id: w-1\nname: nightly\n")
    orphan = Model(ModelType("acme/host"), "orphan")
    for model in (
        live,
        orphan,
        Model(ModelType("workflow"), "w-1"),
        Model(ModelType("workflow"), "w-2"),
        Model(ModelType("swamp/worker"), "x"),
    ):
        bench.model = model
        for name in ("a", "b", "b"):
            write(bench, name, "text")
        write(bench, "deleted", "x")
        mark_deleted(bench.holdings, bench.key("deleted"), bench.owner, method="destroy")
    going = plan_prune(bench.holdings, defined(models, repo))
    before = bench.files()
    dry = prune(bench.holdings, going, dry_run=True).to_dict()
    assert bench.files() == before
    done = prune(bench.holdings, going).to_dict()
    assert done == {**dry, "dryRun": False}
    assert done == {
        "modelsReclaimed": 2,
        "dataEntriesReclaimed": 4,
        "versionsDeleted": 6,
        "bytesReclaimed": 24,
        "dryRun": False,
        "reclaimedModels": [
            {
                "type": model_type,
                "modelId": model_id,
                "modelName": "web-01",
                "dataNames": ["a", "b"],
                "versionCount": 3,
                "bytesReclaimed": 12,
            }
            for model_type, model_id in (("acme/host", "orphan"), ("workflow", "w-2"))
        ],
        "skipped": [],
        "failed": [],
        "walPagesTotal": 0,
        "walPagesCheckpointed": 0,
    }
    assert plan_prune(bench.holdings, defined(models, repo)) == ()


@pytest.mark.parametrize("file", ["models/acme/host/web-01.yaml", "auto-definitions/acme/x.yaml", "workflows/w.yaml"])
def test_a_definition_that_nobody_can_read_lets_nothing_be_pruned(bench: Bench, file: str) -> None:
    path = bench.root / file
    path.parent.mkdir(parents=True)
    path.write_text("id: [")
    with pytest.raises(Corrupt, match=path.name):
        defined(Models(bench.tree, bench.root / "models"), bench.root / "workflows")


def test_catalogs_are_checkpointed_by_the_run_and_not_by_a_dry_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    monkeypatch.setattr(type(bench.holdings.catalog), "checkpoint", lambda _: done.append("checkpoint"))
    actions: list[Callable[[bool], object]] = [
        lambda dry: collect(bench.holdings, plan(bench), dry_run=dry),
        lambda dry: prune(bench.holdings, (), dry_run=dry),
    ]
    for act in actions:
        act(True)
        assert done == []
        act(False)
        assert done.pop() == "checkpoint"
