"""A sweep notices what others did, and looks no closer than it must."""

import os
import shutil
from collections import Counter
from typing import Any

import pytest

from bayou.catalog import Catalog, sweeping
from bayou.errors import Unavailable
from bayou.testing.catalogs import Files, contents, key_of, rebuilt
from bayou.tree import Tree


def test_nothing_changed_is_one_look_at_each_folder(
    files: Files, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    for model in range(3):
        for name in range(4):
            for _ in range(5):
                files.write(key_of(f"state-{name}", model_id=f"m{model}"))
    files.age()
    assert catalog.sweep().looked == 12
    calls: Counter[str] = Counter()
    stat, scandir, listdir = os.stat, os.scandir, os.listdir

    def counting(name: str, call: Any) -> Any:  # noqa: ANN401
        def wrapped(path: Any = ".", *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
            if str(path).startswith(f"{files.root}/.swamp/data"):
                calls[name] += 1
            return call(path, *arguments, **options)

        return wrapped

    for called, original in (
        ("stat", stat),
        ("scandir", scandir),
        ("listdir", listdir),
        ("open", os.open),
        ("lstat", os.lstat),
    ):
        monkeypatch.setattr(os, called, counting(called, original))
    found = catalog.sweep()
    monkeypatch.undo()
    assert (found.names, found.looked, found.changed) == (12, 0, 0)
    types = 4  # data, aws, aws/ec2 and aws/ec2/vpc, of which the last might be a model
    assert calls == {"stat": types + 3 + 12, "scandir": types + 1, "lstat": 1}


def test_what_another_machine_wrote_is_found(files: Files, catalog: Catalog) -> None:
    files.write(key_of())
    files.age()
    catalog.sweep()
    files.write(key_of())
    files.write(key_of("new"))
    files.write(key_of("new", model_id="other"))
    files.write(key_of("new", model_type="@acme/a/b/c"))
    assert catalog.sweep().changed == 4
    assert contents(catalog) == rebuilt(files, files.root / "new.db")


def test_what_is_gone_is_taken_out(files: Files, catalog: Catalog) -> None:
    for model_type in ("aws", "@acme/lookup"):
        for name in ("a", "b"):
            files.write(key_of(name, model_type=model_type))
    files.age()
    catalog.sweep()
    files.delete(key_of("a", model_type="aws"))
    shutil.rmtree(files.root / ".swamp/data/@acme")
    assert catalog.sweep().dropped == 3
    assert [(str(row.model.type), row.artifact.name) for row in catalog.rows()] == [("aws", "b")]


def test_models_are_told_from_types_and_names(files: Files, catalog: Catalog) -> None:
    keys = [
        key_of("7", model_type="aws"),  # data called like a version
        key_of("1", model_type="aws/ec2/vpc/deep/deeper"),
        key_of("latest-report", model_type="@acme/lookup"),
        key_of("state", model_id="not-a-uuid", model_type="x"),
    ]
    for key in keys:
        files.write(key)
    data = files.root / ".swamp/data"
    (data / "Upper/model/state/1").mkdir(parents=True)  # no type is called so
    files.put(data / "Upper/model/state/1/metadata.yaml", b"name: state\n")
    (data / "aws/model/LATEST/1").mkdir(parents=True)  # nor any data
    files.put(data / "aws/model/LATEST/1/metadata.yaml", b"name: LATEST\n")
    (data / "aws" / "loop").symlink_to(data)
    (data / "stray.txt").write_text("x")
    for _ in range(2):
        catalog.sweep()
        assert {(str(row.model.type), row.model.id, row.artifact.name) for row in catalog.rows()} == {
            (str(key.model.type), key.model.id, key.name) for key in keys
        }
        files.age()


def test_a_link_that_leads_away_is_not_followed(files: Files, catalog: Catalog) -> None:
    outside = Files(files.root / "outside")
    outside.write(key_of("secret"))
    files.write(key_of("state"))
    files.folder(key_of("secret")).symlink_to(outside.folder(key_of("secret")))
    number = files.claim(key_of("state"))
    (files.folder(key_of("state")) / str(number)).rmdir()
    (files.folder(key_of("state")) / str(number)).symlink_to(outside.folder(key_of("secret")) / "1")
    catalog.sweep()
    catalog.refresh(key_of("secret"))
    assert [(row.artifact.name, row.artifact.version) for row in catalog.rows()] == [("state", 1)]


def test_a_version_is_found_when_it_is_finished_without_a_change_of_the_folder_of_its_name(
    files: Files, catalog: Catalog
) -> None:
    files.write(key_of())
    number = files.claim(key_of())
    files.age()
    catalog.sweep()
    assert catalog.count() == 1
    files.finish(key_of(), number)
    files.age()
    catalog.sweep()
    assert catalog.count() == 2


def test_a_stream_is_looked_at_again(files: Files, catalog: Catalog) -> None:
    files.write(key_of(), b"one", content_type="text/plain", streaming=True)
    files.age()
    catalog.sweep()
    files.finish(key_of(), 1, b"one and more", content_type="text/plain", streaming=True)
    catalog.sweep()
    assert [row.artifact.size for row in catalog.rows()] == [12]
    files.finish(key_of(), 1, b"one and more and more", content_type="text/plain", streaming=True)
    assert [row.artifact.size for row in catalog.latest("", "web", "state")] == [21]


def test_a_thorough_sweep_sees_what_nobody_should_do(files: Files, catalog: Catalog) -> None:
    files.write(key_of())
    files.write(key_of("gone"))
    files.age()
    catalog.sweep()
    files.finish(key_of(), 1, tags={"type": "resource", "by": "hand"})
    (files.folder(key_of("gone")) / "1" / "raw").unlink()
    assert catalog.sweep().changed == 0
    assert catalog.sweep(thorough=True).changed == 2
    assert contents(catalog) == rebuilt(files, files.root / "new.db")


def test_a_look_that_fails_leaves_the_rows(files: Files, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write(key_of("one"))
    files.write(key_of("two"))
    catalog.sweep()
    files.write(key_of("one"))
    files.write(key_of("two"))
    with monkeypatch.context() as patch:
        read = Tree.places

        def failing(tree: Tree, folder: str) -> Any:  # noqa: ANN401
            if folder.endswith("/one"):
                raise Unavailable("the server is gone")
            return read(tree, folder)

        patch.setattr(Tree, "places", failing)
        found = catalog.sweep()
    assert (found.changed, len(found.failures)) == (1, 1)
    assert sorted(row.artifact.name for row in catalog.rows()) == ["one", "two", "two"]
    catalog.sweep()
    assert catalog.count() == 4


def test_the_rows_of_other_namespaces_are_not_touched(files: Files, catalog: Catalog) -> None:
    catalog.replace_namespace(
        "infra", [{"type_normalized": "aws", "model_id": "m", "data_name": "n", "version": 1, "created_at": "x"}]
    )
    files.write(key_of())
    catalog.sweep()
    files.delete(key_of())
    catalog.rebuild()
    assert [row.namespace for row in catalog.rows()] == ["infra"]


def test_an_interrupted_build_goes_on(files: Files, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "_AT_ONCE", 4)
    for number in range(20):
        files.write(key_of(f"state-{number:02}"))
    files.age()

    class Stopped(Exception):  # noqa: N818
        pass

    def stop(done: int, _: int | None) -> None:
        if done > 6:
            raise Stopped

    with pytest.raises(Stopped):
        catalog.sweep(stop)
    so_far = catalog.count()
    assert 0 < so_far < 20
    assert catalog.sweep().looked == 20 - so_far
    assert contents(catalog) == rebuilt(files, files.root / "new.db")


def test_a_question_comes_with_a_sweep_as_often_as_it_is_worth_it(files: Files, catalog: Catalog) -> None:
    def remember(**values: int) -> None:
        with catalog._database.writing() as connection:
            for key, value in values.items():
                connection.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))

    def is_noticed() -> bool:
        files.write(key_of())
        before = catalog.count()
        catalog.current()
        return catalog.count() != before

    assert is_noticed()  # never built
    remember(sweep_ms=1)  # whatever a busy machine took for it
    assert is_noticed()
    (now,) = [int(at) for (at,) in catalog._stream("SELECT value FROM meta WHERE key = 'swept_ms'", ())]
    remember(sweep_ms=60_000)
    assert not is_noticed()
    remember(swept_ms=now - 20 * 60_000)
    assert is_noticed()
    remember(sweep_ms=60_000, swept_ms=now + 3_600_000)  # the clock went back
    assert is_noticed()


def test_progress_is_told(files: Files, catalog: Catalog) -> None:
    for number in range(5):
        files.write(key_of(f"state-{number}"))
    told: list[tuple[int, int | None]] = []
    catalog.rebuild(lambda done, total: told.append((done, total)))
    assert told[-1] == (5, 5)


def test_exclude_patterns_do_not_hide_what_they_keep_here(files: Files) -> None:
    from bayou.tree.tiers import Tiers  # noqa: PLC0415

    tree = Tree(files.root / "shared", files.root / ".swamp", tiers=Tiers(exclude=("data/**/local-*/**",)))
    files.write(key_of("local-1"))
    shared = Files(files.root / "x")
    shared.write(key_of("state"))
    shutil.copytree(files.root / "x/.swamp/data", files.root / "shared/data")
    with Catalog.open(files.path, tree) as catalog:
        catalog.sweep()
        assert {row.artifact.name for row in catalog.rows()} == {"local-1", "state"}
