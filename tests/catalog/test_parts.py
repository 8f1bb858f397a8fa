"""Rows that workers make, and what is read like something that was read before, are the rows of everybody else."""

from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.catalog import Catalog, alike, looking, parts
from bayou.catalog.rows import described
from bayou.domain.artifacts import Artifact, Owner, OwnerType
from bayou.testing.catalogs import Files, artifact_of, contents, key_of, rebuilt
from bayou.tree.names import artifact_of as parsed
from bayou.wire import metadata

KEY = key_of()
GONE = """
DELETE FROM tag WHERE artifact = :row;
DELETE FROM attribute WHERE artifact = :row;
DELETE FROM artifact WHERE row = :row
"""
WORDS = st.sampled_from(["x", "workflowRunId", 'a"b', "\n", "createdAt: ", "é", ""])


@pytest.fixture
def crew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "_count", lambda: 2)
    monkeypatch.setattr(looking, "_FEW", 1)


def fill(files: Files) -> None:
    for number in range(130):
        key = key_of(f"state-{number:03}", model_id=f"m{number % 3}")
        files.write(key, b'{"a":%d,"b":"x"}' % number)
        files.write(key, None if number % 7 == 0 else b"no json", streaming=number % 11 == 0)
        if number % 13 == 0:
            (files.folder(key) / str(files.claim(key)) / "metadata.yaml").write_bytes(b"name: [")


@pytest.mark.usefixtures("crew")
def test_a_build_through_workers_gives_the_rows_of_one_without(files: Files, catalog: Catalog) -> None:
    fill(files)
    taken: list[int] = []

    def counted(*given: Any) -> parts.Taken:  # noqa: ANN401
        done = take_over(*given)
        taken.append(done.changed)
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "take_over", counted)
        done = catalog.sweep()
    assert sum(taken) > 200
    assert (done.names, done.looked, done.changed) == (130, 130, 260)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(looking, "_count", lambda: 0)
        assert contents(catalog) == rebuilt(files, files.root / "new.db")
    assert not contents(catalog)["left over"]
    files.write(key_of("state-001", model_id="m1"))
    catalog.sweep()
    assert contents(catalog) == rebuilt(files, files.root / "newer.db")


take_over = parts.take_over


@pytest.mark.usefixtures("crew")
@pytest.mark.parametrize("what", ["stored", "dropped", "made anew"])
def test_what_others_did_since_a_part_was_made_counts(
    files: Files, catalog: Catalog, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    fill(files)
    key = key_of("state-100", model_id="m1")
    meddled: list[str] = []
    beside = catalog._database.beside

    def late(name: str, content: bytes) -> Any:  # noqa: ANN401
        if not meddled:
            meddled.append(what)
            with Catalog.open(files.path, files.tree) as other:
                if what == "dropped":
                    files.write(key_of("gone"))
                    other.refresh(key_of("gone"))
                    files.delete(key_of("gone"))
                    other.refresh(key_of("gone"))
                elif what == "stored":
                    files.write(key)
                    other.refresh(key)
        return nullcontext() if what == "made anew" else beside(name, content)

    monkeypatch.setattr(catalog._database, "beside", late)
    catalog.sweep()
    assert meddled == [what]
    with monkeypatch.context() as patch:
        patch.setattr(looking, "_count", lambda: 0)
        assert contents(catalog) == rebuilt(files, files.root / "new.db")


@pytest.mark.usefixtures("crew")
def test_a_rebuild_writes_what_differs_and_nothing_else(files: Files, catalog: Catalog) -> None:
    for number in range(7):
        for _ in range(2):
            files.write(key_of(f"state-{number}"), b'{"a":1.0,"b":[]}')
    (files.folder(key_of("state-6")) / str(files.claim(key_of("state-6"))) / "metadata.yaml").write_bytes(b"name: [")
    files.age()
    catalog.sweep()
    right = contents(catalog)

    def sequences() -> dict[str, int]:
        return dict(catalog._stream("SELECT name, sequence FROM name", ()))

    before = sequences()
    spoilt = (
        "UPDATE artifact SET tags = '{}' WHERE row = :row",
        "UPDATE tag SET value = 'other' WHERE artifact = :row AND key = 'modelName'",
        "DELETE FROM tag WHERE artifact = :row",
        "INSERT INTO attribute VALUES(:row, 'more', 'int', 1)",
        "UPDATE attribute SET kind = 'int' WHERE artifact = :row AND key = 'a'",
        GONE,
        "UPDATE artifact SET model_id = 'other' WHERE row = :row",
        "UPDATE attribute SET value = x'ff00' WHERE artifact = :row AND key = 'a'",
        "UPDATE problem SET message = 'other'",
        "UPDATE name SET marker = 1 WHERE name_row = (SELECT name_row FROM artifact WHERE row = :row)",
    )
    for sql in spoilt:
        (row,) = next(catalog.select("name = 'state-6'", columns=("row",)))
        with catalog._database.writing() as connection:
            connection.execute(sql, {"row": row})
        catalog.rebuild()
        assert contents(catalog) == right
        after = sequences()
        # And the first, which no worker looks at.
        assert {name for name in after if after[name] != before[name]} == {"state-0", "state-6"}, sql
        before = after


def test_a_database_beside_the_catalog_is_let_go_whatever_happens(catalog: Catalog) -> None:
    part = parts.make("", [])
    database = catalog._database

    def interrupted() -> None:
        with database.beside("part", part), database.alone() as connection:
            under_way = connection.execute("SELECT 1 FROM part.sqlite_schema")
            raise ZeroDivisionError(under_way)

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            interrupted()
    with database.beside("part", part), database.writing() as connection:
        assert "part" in connection.db_names()
    assert "part" not in connection.db_names()


@st.composite
def families(draw: st.DrawFn) -> list[Artifact]:
    """Versions that differ in what usually differs, and in a little else."""
    return [
        artifact_of(
            KEY,
            version,
            id=draw(st.sampled_from(["a", "b-1", ""])),
            tags={"type": "resource", **draw(st.dictionaries(WORDS.filter(bool), WORDS, max_size=2))},
            owner=Owner(
                owner_type=OwnerType.MANUAL, owner_ref="x", workflow_run_id=draw(WORDS | st.none()), source=draw(WORDS)
            ),
            created_at=draw(st.sampled_from(["2026-04-02T09:15:00.125Z", "2024-02-29T23:59:59.999Z", "never"])),
            size=draw(st.sampled_from([None, 0, 7])),
            checksum=draw(st.sampled_from([None, "0" * 64])),
        )
        for version in range(1, draw(st.integers(2, 5)))
    ]


@given(families())
def test_what_is_like_something_else_is_read_as_if_it_were_not(family: list[Artifact]) -> None:
    alike._seen.clear()
    for artifact in [*family, *family]:
        written = metadata.encode(artifact)
        assert alike.read(written, "p", KEY, artifact.version) == described(parsed(written, "p", KEY, artifact.version))
