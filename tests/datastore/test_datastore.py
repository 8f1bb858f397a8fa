"""What runs produce is recorded, found and trusted, by the names that people use."""

import io
from contextlib import suppress
from pathlib import Path

import pytest

import bayou
from bayou.domain.outputs import OutputStatus
from bayou.domain.tags import Step
from bayou.errors import ErrorKind
from bayou.repository import runs


def test_a_run_records_itself_and_what_it_wrote(datastore: bayou.Datastore, tmp_path: Path) -> None:
    plan = tmp_path / "plan.txt"
    plan.write_text("2 to add")
    with datastore.model("aws/ec2/vpc", "prod-vpc").run("create", inputs={"cidr": "10.0.0.0/16"}) as run:
        run.write("state", {"VpcId": "vpc-1"}, tags={"env": "prod"})
        run.write_file("plan", plan)
    assert datastore.latest("prod-vpc", "state").attributes == {"VpcId": "vpc-1"}
    assert datastore.latest("prod-vpc", "plan").text() == "2 to add"
    (found,) = datastore.runs.methods().records
    output = found.output
    assert (output.method_name, output.status) == ("create", OutputStatus.SUCCEEDED)
    produced = [(made.name, made.version, made.data_id) for made in output.artifacts.data_artifacts]
    assert produced == [(name, 1, datastore.latest("prod-vpc", name).id) for name in ("state", "plan")]
    (evaluated,) = datastore.tree.root.glob("definitions-evaluated/aws/ec2/vpc/prod-vpc.yaml")
    assert "10.0.0.0/16" in evaluated.read_text()


def test_a_run_that_raises_has_failed_and_keeps_what_it_wrote(datastore: bayou.Datastore) -> None:
    with suppress(RuntimeError), datastore.model("t", "m").run("create") as run:
        run.write("state", {"half": True})
        raise RuntimeError("no more addresses")
    (found,) = datastore.runs.methods().records
    assert found.output.status is OutputStatus.FAILED
    assert found.output.error is not None
    assert found.output.error.message == "no more addresses"
    assert "RuntimeError" in (found.output.error.stack or "")
    assert datastore.latest("m", "state").attributes == {"half": True}


def test_nothing_of_a_run_with_rollback_stays_when_it_fails(datastore: bayou.Datastore) -> None:
    model = datastore.model("t", "m")
    with model.run("create") as run:
        run.write("state", {"n": 1})
    with suppress(RuntimeError), model.run("update", rollback=True) as run:
        run.write("state", {"n": 2})
        run.write("other", {"n": 2})
        assert datastore.latest("m", "state").attributes == {"n": 1}
        raise RuntimeError
    assert [record.version for record in datastore.versions("m", "state")] == [1]
    with pytest.raises(bayou.NotFound):
        datastore.latest("m", "other")
    assert datastore.query('name == "other" && version > 0').total == 0


def test_a_run_with_rollback_shows_all_of_it_at_its_end(datastore: bayou.Datastore) -> None:
    with datastore.model("t", "m").run("create", rollback=True) as run:
        run.write("a", {"n": 1})
        run.write("b", {"n": 1})
        assert datastore.query().total == 0
    assert sorted(record.name for record in datastore.query()) == ["a", "b"]


def test_an_interrupt_cancels(datastore: bayou.Datastore) -> None:
    with suppress(KeyboardInterrupt), datastore.model("t", "m").run("create"):
        raise KeyboardInterrupt
    assert datastore.runs.methods().records[0].output.status is OutputStatus.CANCELLED


def test_ephemeral_data_is_seen_by_its_run_and_by_nobody_afterwards(datastore: bayou.Datastore) -> None:
    with datastore.model("t", "m").run("create") as run:
        run.write("token", {"n": 1}, lifetime="ephemeral")
        assert run.latest("token").attributes == {"n": 1}
        assert datastore.query("attributes.n == 1", memory=run.ephemeral()).total == 1
        assert datastore.query("attributes.n == 1").total == 0
    with pytest.raises(bayou.NotFound):
        datastore.latest("m", "token")


def test_a_name_belongs_to_who_wrote_it_first(datastore: bayou.Datastore) -> None:
    with datastore.model("t", "m").run("create") as run:
        run.write("state", {"n": 1})
    with pytest.raises(bayou.Conflict) as caught:
        datastore.write("m", "state", {"n": 2})
    assert caught.value.kind is ErrorKind.NOT_OWNER
    assert datastore.latest("m", "state").attributes == {"n": 1}


@pytest.mark.parametrize(
    ("given", "content_type", "content"),
    [
        ({"a": "ü"}, "application/json", b'{"a":"\xc3\xbc"}'),
        ([1, 2], "application/json", b"[1,2]"),
        ("text", "text/plain", b"text"),
        (b"\x00\xff", "application/octet-stream", b"\x00\xff"),
        (io.BytesIO(b"stream"), "application/octet-stream", b"stream"),
    ],
)
def test_each_kind_of_content_is_kept_as_it_is(
    datastore: bayou.Datastore, given: object, content_type: str, content: bytes
) -> None:
    record = datastore.write("m", "n", given, type="t")
    assert (record.content_type, record.size, record.read(verify=True)) == (content_type, len(content), content)
    assert datastore.latest("m", "n").read(verify=True) == content


def test_models_go_by_name_type_and_id(datastore: bayou.Datastore) -> None:
    record = datastore.write("m", "n", "text", type="aws/ec2")
    for reference in ("m", "aws/ec2/m", "AWS::EC2/m", record.model_id, record.model_id[:8]):
        assert datastore.latest(reference, "n") == record, reference


def test_a_name_that_two_models_have_is_not_guessed(datastore: bayou.Datastore) -> None:
    for model_type in ("aws/ec2", "aws/s3"):
        datastore.write("m", "n", model_type, type=model_type)
    with pytest.raises(bayou.UsageError, match="can be each of"):
        datastore.latest("m", "n")
    assert datastore.latest("aws/s3/m", "n").text() == "aws/s3"


def test_what_is_not_there_is_named(datastore: bayou.Datastore) -> None:
    datastore.write("prod-vpc", "state", "text", type="t")
    with pytest.raises(bayou.NotFound, match="did you mean t/prod-vpc") as model:
        datastore.latest("prod-vcp", "state")
    assert model.value.kind is ErrorKind.MODEL_MISSING
    with pytest.raises(bayou.NotFound, match="'stat'") as data:
        datastore.latest("prod-vpc", "stat")
    assert data.value.kind is ErrorKind.DATA_MISSING
    with pytest.raises(bayou.NotFound, match="version 7"):
        datastore.version("prod-vpc", "state", 7)


def test_a_rename_is_followed_by_latest_and_not_by_versions(datastore: bayou.Datastore) -> None:
    datastore.write("m", "old", {"n": 1}, type="t")
    datastore.rename("m", "old", "new")
    assert datastore.latest("m", "old").name == "new"
    assert datastore.version("m", "old", 1).attributes == {"n": 1}
    assert [record.name for record in datastore.query()] == ["new"]


def test_a_version_is_found_without_a_look_at_the_others(
    datastore: bayou.Datastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(3):
        datastore.write("m", "n", {"n": n}, type="t")
    looks: list[object] = []
    monkeypatch.setattr(datastore.catalog, "refresh", looks.append)
    assert datastore.version("m", "n", 2).attributes == {"n": 1}
    assert not looks


@pytest.mark.parametrize("damage", ["a text that is none", "a page that is none"])
def test_a_damaged_catalog_is_made_anew_within_the_question(repo: Path, damage: str) -> None:
    said: list[str] = []
    with bayou.open(repo) as datastore:
        for n in range(200):
            datastore.write("m", f"n{n}", {"n": n}, type="t")
        datastore.catalog.checkpoint()
    path = datastore.catalog_path
    whole, tags = path.read_bytes(), b'{"type":"resource","modelName":"m"}'
    if damage == "a text that is none":
        assert tags in whole
        path.write_bytes(whole.replace(tags, tags[:-3] + b'\xff"}'))
    else:
        where = whole.index(tags) // 4096 * 4096
        path.write_bytes(whole[:where] + b"\xff" * 4096 + whole[where + 4096 :])
    with bayou.open(repo, notice=said.append) as datastore:
        assert len(list(datastore.query('tags.modelName == "m" && name.size() > 0', select="tags.modelName"))) == 200
    with bayou.open(repo, notice=said.append) as datastore:
        assert datastore.count("attributes.n >= 100") == 100
    assert len(said) == 1
    assert "is kept as" in said[0]


def test_metadata_that_nobody_can_read_is_named_by_whoever_meets_it(repo: Path) -> None:
    said: list[str] = []
    with bayou.open(repo, notice=said.append) as datastore:
        first, second = (
            datastore.write("m", "state", {"n": n}, type="t").path.with_name("metadata.yaml") for n in (1, 2)
        )
        second.write_text("nonsense")
        datastore.catalog.rebuild()
        assert datastore.latest("m", "state").attributes == {"n": 1}
        assert len(said) == 1
        assert "version 1 is shown, as data/t/" in said[0]
        assert said[0].count("2/metadata.yaml") == 1
        with pytest.raises(bayou.Corrupt, match=r"2/metadata\.yaml"):
            datastore.version("m", "state", 2)
        (notice,) = datastore.query('name == "state"').notices
        assert notice.startswith("1 version is in no answer")
        first.write_text("nonsense")
        datastore.catalog.rebuild()
        with pytest.raises(bayou.Corrupt, match=r"2/metadata\.yaml"):
            datastore.latest("m", "state")


def test_gc_shows_what_it_does_and_keeps_what_its_policy_keeps(datastore: bayou.Datastore) -> None:
    for n in range(5):
        datastore.write("m", "n", {"n": n}, type="t", keep=2)
    planned = datastore.gc(dry_run=True).to_dict()
    assert [record.version for record in datastore.versions("m", "n")] == [5, 4, 3, 2, 1]
    done = datastore.gc().to_dict()
    assert [record.version for record in datastore.versions("m", "n")] == [5, 4]
    counted = ("dataEntriesExpired", "versionsDeleted", "bytesReclaimed")
    assert [planned[key] for key in counted] == [done[key] for key in counted] == [0, 3, 3 * len(b'{"n":0}')]


def test_data_that_is_bound_to_a_workflow_run_expires_with_its_record(datastore: bayou.Datastore) -> None:
    recorded = runs.create(datastore.tree, runs.draft("wf", "nightly", {"main": ["collect"]}))
    step = Step(workflow="nightly", workflow_id="wf", workflow_run_id=recorded.id, job="main", step="collect")
    with datastore.model("t", "m").run("collect", step=step) as run:
        run.write("report", {"n": 1}, lifetime="workflow")
    assert datastore.gc(dry_run=True).to_dict()["dataEntriesExpired"] == 0
    runs.remove(datastore.tree, "wf", recorded.id)
    assert datastore.gc().to_dict()["dataEntriesExpired"] == 1
    assert datastore.query().total == 0


def test_auto_gc_trims_after_a_run(repo: Path) -> None:
    marker = repo / ".swamp.yaml"
    marker.write_text(f"{marker.read_text()}autoGc: true\n")
    with bayou.open(repo) as datastore:
        for n in range(4):
            with datastore.model("t", "m").run("collect") as run:
                run.write("state", {"n": n}, keep=2)
        assert [record.version for record in datastore.versions("m", "state")] == [4, 3]


def test_prune_removes_what_nobody_defines_and_spares_the_rest(datastore: bayou.Datastore) -> None:
    for name in ("kept", "gone"):
        with datastore.model("t", name).run("collect") as run:
            run.write("n", "text")
    notes = datastore.tree.root / "_control/bayou/leases/models/t"
    assert len([*notes.iterdir()]) == 2
    (definition,) = datastore.tree.root.glob("auto-definitions/t/gone.yaml")
    definition.unlink()
    assert datastore.prune(dry_run=True).to_dict()["modelsReclaimed"] == 1
    assert datastore.prune().to_dict()["modelsReclaimed"] == 1
    assert [record.model_name for record in datastore.query()] == ["kept"]
    # No structural command looks for the lock of the other any more.
    assert [note.stem for note in notes.iterdir()] == [datastore.model("t", "kept").id]


def test_what_changed_while_a_plan_waited_for_its_turn_stays(datastore: bayou.Datastore) -> None:
    for name in ("defined", "gone"):
        datastore.write(name, "n", "text", type="t")
    definitions = {file.stem: file for file in datastore.tree.root.glob("auto-definitions/t/*.yaml")}
    content = definitions["defined"].read_bytes()
    for definition in definitions.values():
        definition.unlink()
    plan = datastore.tidying.plan_prune()
    assert len(plan) == 2
    definitions["defined"].write_bytes(content)
    pruned = datastore.tidying.prune(plan).to_dict()
    assert (pruned["dataEntriesReclaimed"], pruned["skipped"]) == (1, ["t/defined/n"])
    assert [record.model_name for record in datastore.query()] == ["defined"]


def test_a_record_that_came_back_while_a_gc_waited_keeps_its_data(datastore: bayou.Datastore) -> None:
    recorded = runs.create(datastore.tree, runs.draft("wf", "nightly", {"main": ["collect"]}))
    step = Step(workflow="nightly", workflow_id="wf", workflow_run_id=recorded.id, job="main", step="collect")
    with datastore.model("t", "m").run("collect", step=step) as run:
        run.write("report", {"n": 1}, lifetime="workflow")
    (record,) = (file for file in datastore.tree.root.glob("workflow-runs/**/*.yaml") if recorded.id in file.name)
    aside = record.rename(record.with_suffix(".aside"))
    plan = datastore.tidying.plan_gc()
    assert len(plan.going) == 1
    aside.rename(record)
    assert datastore.tidying.gc(plan).to_dict()["skipped"] == ["t/m/report"]
    assert datastore.query().total == 1


def test_the_catalogs_of_other_namespaces_are_taken_over(repo: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    marker = repo / ".swamp.yaml"
    text = marker.read_text()
    for namespace in ("infra", "web"):
        marker.write_text(f'{text}datastore:\n  type: filesystem\n  path: "{shared}"\n  namespace: {namespace}\n')
        with bayou.open(repo) as datastore:
            datastore.write(f"{namespace}-m", "n", {"by": namespace}, type="t")
            datastore.cataloguing.export()
    with bayou.open(repo) as datastore:
        assert datastore.cataloguing.pull(["infra", "nowhere"]) == ({"infra": 1}, ["nowhere"])
        assert {record.namespace for record in datastore.query()} == {"infra", "web"}
        assert [record.model_name for record in datastore.query('ns == "infra"')] == ["infra-m"]
