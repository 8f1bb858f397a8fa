"""Models: one name, one id, on every machine (design 4.7)."""

import subprocess
import sys
from pathlib import Path

import pytest

from bayou.domain.models import Model, derived_id
from bayou.domain.modeltypes import ModelType
from bayou.errors import Conflict, Corrupt, ErrorKind, NotFound, UsageError
from bayou.repository.models import Models, chosen
from bayou.repository.references import resolve
from bayou.repository.saving import save
from bayou.testing.bench import Bench
from bayou.tree import Tree
from bayou.wire.yamldocument import load

TYPE = ModelType("acme/host")
ID = "9b2f1a52-2f4e-4c0e-8a7b-54f0a2f6f0aa"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "models"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "ds", tmp_path / "ds", durable=False)


@pytest.fixture
def models(tree: Tree, folder: Path) -> Models:
    return Models(tree, folder)


def define(folder: Path, file: str, name: str = "web-01", model_id: str = ID, model_type: str = "acme/host") -> Path:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"type: {model_type}\nid: {model_id}\nname: {name}\nversion: 1\n")
    return path


@pytest.mark.parametrize("file", ["acme/host/web-01.yaml", "acme/host/anything.yml", f"acme/host/{ID}.yaml"])
def test_the_id_is_that_of_the_definition_in_the_repo(models: Models, folder: Path, tree: Tree, file: str) -> None:
    define(folder, file)
    assert models.of(TYPE, "web-01") == Model(TYPE, ID)
    assert tree.names("auto-definitions") == []


def test_a_model_that_nobody_defined_is_defined_the_same_on_every_machine(models: Models, tree: Tree) -> None:
    model = models.of(ModelType("Acme::Host"), "web-01")
    assert model == Model(TYPE, derived_id("", TYPE, "web-01"), "web-01")
    written = tree.read("auto-definitions/acme/host/web-01.yaml")
    assert written is not None
    assert list(load(written.decode()).items()) == [  # type: ignore[attr-defined]
        ("type", "Acme::Host"),
        ("id", model.id),
        ("name", "web-01"),
        ("version", 1),
        ("tags", {}),
        ("globalArguments", {}),
        ("methods", {}),
    ]
    assert models.of(TYPE, "web-01") == model == Models(tree, None).find(TYPE, "web-01")


def test_finding_defines_nothing(models: Models, tree: Tree) -> None:
    assert models.find(TYPE, "web-01") is None
    assert tree.names("auto-definitions") == []


@pytest.mark.parametrize("name", ["Web 01", "a.b", "\u00fcber", "x" * 100, "latest", ".."])
def test_a_name_that_no_file_may_have_is_found_by_its_id(models: Models, tree: Tree, name: str) -> None:
    model = models.of(TYPE, name)
    assert tree.names("auto-definitions/acme/host") == [f"{model.id}.yaml" if name != "latest" else "latest.yaml"]
    assert Models(tree, None).find(TYPE, name) == model


def test_two_ways_to_write_an_accent_are_one_name(models: Models, tree: Tree) -> None:
    assert models.of(TYPE, "u\u0308ber") == models.of(TYPE, "\u00fcber")
    assert len(tree.names("auto-definitions/acme/host")) == 1


def test_what_people_wrote_counts_more_than_what_we_did(models: Models, folder: Path) -> None:
    automatic = models.of(TYPE, "web-01")
    path = define(folder, "acme/host/web-01.yaml")
    assert models.of(TYPE, "web-01").id == ID != automatic.id
    path.write_text(path.read_text().replace(ID, "another-id"))
    assert models.of(TYPE, "web-01").id == "another-id"
    path.unlink()
    assert models.of(TYPE, "web-01") == automatic


def test_an_id_that_another_client_gave_is_kept(models: Models, tree: Tree) -> None:
    define(tree.root / "auto-definitions", f"acme/host/{ID}.yaml", name="Web 01")
    assert models.of(TYPE, "Web 01").id == ID


def test_a_known_model_is_not_read_again(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    first = models.of(TYPE, "web-01")
    models.of(TYPE, "web-01")
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("read again"))
    assert models.of(TYPE, "web-01") == first


@pytest.mark.parametrize(
    "content", ["id: [", "id: 1\nname: web-01\n", "name: web-01\n", "- a\n", "id: a/b\nname: web-01\n"]
)
def test_a_definition_that_nobody_can_read_is_named_and_never_passed_over(
    models: Models, folder: Path, content: str
) -> None:
    define(folder, "acme/host/web-01.yaml").write_text(content)
    with pytest.raises(Corrupt, match=r"acme/host/web-01\.yaml"):
        models.of(TYPE, "web-01")


def test_a_file_of_another_type_or_name_is_passed_over(models: Models, folder: Path) -> None:
    define(folder, "acme/host/web-01.yaml", model_type="acme/other")
    define(folder, "acme/host/web-02.yaml", name="web-03", model_id="three")
    assert models.find(TYPE, "web-01") is None
    assert models.find(TYPE, "web-02") is None
    assert models.find(TYPE, "web-03") == Model(TYPE, "three")


def test_a_file_that_defines_somebody_else_is_not_overwritten(models: Models, tree: Tree) -> None:
    define(tree.root / "auto-definitions", "acme/host/web-01.yaml", name="other")
    with pytest.raises(Conflict, match="web-01"):
        models.of(TYPE, "web-01")


def test_a_name_that_no_model_can_have_is_refused(models: Models) -> None:
    for name in ("", "a/b", "a\0"):
        with pytest.raises(UsageError):
            models.of(TYPE, name)


def test_all_are_listed_whoever_defined_them(models: Models, folder: Path) -> None:
    define(folder, "acme/host/web-01.yaml")
    define(folder, "acme/host/deep/er.yml", name="deep", model_id="deep-id", model_type="acme/host/deep")
    define(folder, "README.md").write_text("no definition")
    define(folder, "stray.yaml").write_text("no: type")
    models.of(ModelType("other"), "x")
    assert {(str(model.type), model.name) for model in models.all()} == {
        ("acme/host", "web-01"),
        ("acme/host/deep", "deep"),
        ("other", "x"),
    }


DEFINE = """
import sys
from pathlib import Path
from bayou.domain.modeltypes import ModelType
from bayou.repository.models import Models
from bayou.tree import Tree
root = Path(sys.argv[1])
for number in range(30):
    print(Models(Tree(root, root, durable=False), None).of(ModelType("acme/host"), f"model {number}").id)
"""


def test_processes_that_define_one_model_at_once_agree(tmp_path: Path) -> None:
    command = [sys.executable, "-c", DEFINE, str(tmp_path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]  # noqa: S603 - our own Python
    said = {process.communicate(timeout=60)[0] for process in running}
    assert len(said) == 1
    assert len(said.pop().split()) == 30


KNOWN = [
    Model(ModelType("acme/host"), "9b2f1a52-2f4e", "web-01"),
    Model(ModelType("acme/host"), "9b2f9999-2f4e", "web-02"),
    Model(ModelType("acme/disk"), "77777777-2f4e", "web-02"),
    Model(ModelType("acme/disk"), "web-01"),
]


@pytest.mark.parametrize(
    ("reference", "model"),
    [
        ("web-01", KNOWN[0]),
        ("acme/host/web-02", KNOWN[1]),
        ("Acme::Disk/web-02", KNOWN[2]),
        ("acme/disk/web-01", KNOWN[3]),
        ("9b2f1", KNOWN[0]),
        ("9b2f1a52-2f4e", KNOWN[0]),
        ("acme/disk/7777", KNOWN[2]),
    ],
)
def test_a_model_is_meant_by_its_name_its_id_or_the_beginning_of_that(reference: str, model: Model) -> None:
    assert chosen(reference, [*KNOWN, *KNOWN]) == model


def test_who_has_data_is_found_without_reading_definitions(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    models, catalog = Models(bench.tree, bench.root / "models"), bench.holdings.catalog
    bench.model = models.of(TYPE, "web-01")
    save(bench.holdings, bench.key(), "x", bench.draft())
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("read a definition"))
    for reference in ("web-01", bench.model.id, "acme/host/web-01", f"acme/host/{bench.model.id}"):
        assert resolve(reference, models, catalog, "") == bench.model


def test_who_has_no_data_is_found_by_definition(bench: Bench) -> None:
    models, catalog = Models(bench.tree, bench.root / "models"), bench.holdings.catalog
    model = models.of(TYPE, "quiet")
    for reference in ("quiet", model.id, model.id[:8], "acme/host/quiet"):
        assert resolve(reference, models, catalog, "") == model
    with pytest.raises(NotFound, match="did you mean acme/host/quiet"):
        resolve("quite", models, catalog, "")


def test_a_model_that_got_another_id_goes_by_that_one(bench: Bench) -> None:
    models, catalog = Models(bench.tree, bench.root / "models"), bench.holdings.catalog
    before = models.of(TYPE, "web-01")
    define(bench.root / "models", "acme/host/web-01.yaml")
    after = models.of(TYPE, "web-01")
    for bench.model in (before, after):
        save(bench.holdings, bench.key(), "x", bench.draft())
    assert resolve("web-01", models, catalog, "") == after != before
    assert resolve(before.id, models, catalog, "") == before


def test_a_name_of_two_types_has_to_be_told_apart(bench: Bench) -> None:
    models, catalog = Models(bench.tree, bench.root / "models"), bench.holdings.catalog
    for bench.model in (models.of(TYPE, "web-01"), models.of(ModelType("acme/disk"), "web-01")):
        save(bench.holdings, bench.key(), "x", bench.draft())
    with pytest.raises(UsageError, match=r"acme/disk/web-01.*acme/host/web-01"):
        resolve("web-01", models, catalog, "")
    assert resolve("acme/disk/web-01", models, catalog, "") == bench.model


@pytest.mark.parametrize("reference", ["web-02", "9b2f"])
def test_what_can_be_several_is_refused_with_all_of_them(reference: str) -> None:
    with pytest.raises(UsageError, match=r"acme/.*, acme/.*"):
        chosen(reference, KNOWN)


@pytest.mark.parametrize("reference", ["web-1", "acme/host/web-1", "9b2", "none", ""])
def test_what_is_none_of_them_is_missing_with_a_suggestion(reference: str) -> None:
    with pytest.raises(NotFound) as caught:
        chosen(reference, KNOWN)
    assert caught.value.kind is ErrorKind.MODEL_MISSING
    assert ("did you mean" in str(caught.value)) is ("web" in reference)
