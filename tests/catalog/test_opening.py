"""Whatever is found where the catalog should be, the command that finds it goes on."""

import sqlite3
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from bayou.catalog import Catalog
from bayou.catalog.schema import VERSION
from bayou.errors import Corrupt
from bayou.testing.catalogs import Files, contents, key_of, rebuilt


def asides(files: Files) -> list[Path]:
    return sorted(files.path.parent.glob("catalog.bayou.db.corrupt-*"))


def filled(files: Files) -> None:
    for number in range(40):
        files.write(key_of(f"state-{number}"))
    with Catalog.open(files.path, files.tree) as catalog:
        catalog.current()
        catalog.checkpoint()


def write_one_more(files: Files, catalog: Catalog) -> None:
    with catalog.changing(key_of("more")) as settling:
        settling.wrote(key_of("more"), files.write(key_of("more")), b'{"a":1}')
    catalog.current()


@pytest.mark.parametrize("found", [b"this is no database" * 100, b"\0" * 8192, b"SQLite format 3\0" + b"\xff" * 8000])
def test_a_file_that_is_no_database_is_set_aside(files: Files, found: bytes) -> None:
    filled(files)
    files.path.write_bytes(found)
    said: list[str] = []
    with Catalog.open(files.path, files.tree, notice=said.append) as catalog:
        catalog.current()
        assert catalog.count() == 40
    assert [aside.read_bytes() for aside in asides(files) if not aside.name.endswith(("-wal", "-shm"))] == [found]
    assert len(said) == 1
    assert asides(files)[0].name in said[0]


def test_a_database_of_somebody_else_is_set_aside_whole(files: Files) -> None:
    files.path.parent.mkdir()
    with closing(sqlite3.connect(files.path)) as theirs:
        theirs.execute("CREATE TABLE precious(x)")
        theirs.execute("INSERT INTO precious VALUES(1)")
        theirs.commit()
    with Catalog.open(files.path, files.tree) as catalog:
        catalog.current()
    with closing(sqlite3.connect(asides(files)[0])) as theirs:
        assert theirs.execute("SELECT x FROM precious").fetchall() == [(1,)]


def damage(files: Files) -> None:
    """All pages but the first few: the file opens, and what is in it cannot be read."""
    size = files.path.stat().st_size
    with files.path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))


def test_damage_that_shows_late_is_set_aside_within_the_command(files: Files) -> None:
    filled(files)
    damage(files)
    said: list[str] = []
    with Catalog.open(files.path, files.tree, notice=said.append) as catalog:
        catalog.current()
        assert contents(catalog) == rebuilt(files, files.root / "new.db")
    assert len([aside for aside in asides(files) if not aside.name.endswith(("-wal", "-shm"))]) == 1
    assert len(said) == 1


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM sqlite_schema WHERE name = 'tag'",
        "UPDATE sqlite_schema SET sql = replace(sql, 'hydrated', 'hydrateX') WHERE name = 'artifact'",
        "UPDATE sqlite_schema SET sql = replace(sql, 'model_id TEXT', 'model_ie TEXT') WHERE name = 'name'",
        "UPDATE sqlite_schema SET sql = replace(sql, 'host TEXT', 'host \x7fEXT') WHERE name = 'intent'",
        "UPDATE sqlite_schema SET sql = replace(sql, 'value,', 'value CHECK(0),') WHERE name = 'attribute'",
        "UPDATE sqlite_schema SET sql = 'CREATE GARBLE' WHERE name = 'problem'",
        "UPDATE sqlite_schema SET name = 'metb', tbl_name = 'metb' WHERE name = 'meta'",
    ],
)
def test_damaged_definitions_of_tables_are_damage_too(files: Files, damage: str) -> None:
    filled(files)
    with closing(apsw.Connection(str(files.path))) as connection:
        connection.execute("PRAGMA writable_schema = 1")
        connection.execute(damage)
    files.write(key_of("later"))
    said: list[str] = []
    with Catalog.open(files.path, files.tree, notice=said.append) as catalog:
        write_one_more(files, catalog)
        assert catalog.count() == 42
        assert contents(catalog) == rebuilt(files, files.root / "new.db")
    assert len(said) == len([aside for aside in asides(files) if not aside.name.endswith(("-wal", "-shm"))])


def test_a_wrong_statement_is_no_damage(files: Files) -> None:
    filled(files)
    with Catalog.open(files.path, files.tree) as catalog, pytest.raises(apsw.SQLError):
        list(catalog.select("nonsense = 1"))
    assert not asides(files)


def test_damage_under_an_open_catalog_is_set_aside_once_for_all_who_have_it_open(files: Files) -> None:
    filled(files)
    with Catalog.open(files.path, files.tree) as one, Catalog.open(files.path, files.tree) as other:
        damage(files)
        for catalog in (one, other):
            with catalog._database.alone() as connection:
                connection.execute("PRAGMA shrink_memory")
            catalog.rebuild()
            assert catalog.count() == 40
    assert len([aside for aside in asides(files) if not aside.name.endswith(("-wal", "-shm"))]) == 1


def test_a_question_that_meets_damage_says_to_ask_again(files: Files) -> None:
    filled(files)
    with Catalog.open(files.path, files.tree) as catalog:
        damage(files)
        with pytest.raises(Corrupt, match="catalog") as caught:
            list(catalog.rows())
        assert "again" in caught.value.remedy
        catalog.current()
        assert len(list(catalog.rows())) == 40


def test_a_catalog_of_a_newer_release_is_left_alone(files: Files) -> None:
    filled(files)
    with closing(apsw.Connection(str(files.path))) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    before = files.path.read_bytes()
    said: list[str] = []
    with Catalog.open(files.path, files.tree, notice=said.append) as catalog:
        write_one_more(files, catalog)
        assert catalog.count() == 41
        temporary = catalog._database.path
    assert files.path.read_bytes() == before
    assert not asides(files)
    assert not temporary.exists()
    assert "newer" in said[0]


def test_where_no_file_can_be_made_a_temporary_one_serves(files: Files) -> None:
    files.write(key_of())
    blocked = files.root / "file"
    blocked.write_bytes(b"")
    said: list[str] = []
    with Catalog.open(blocked / "catalog.db", files.tree, notice=said.append) as catalog:
        catalog.current()
        assert catalog.count() == 1
    assert len(said) == 1


@pytest.mark.parametrize("what", ["sound", "damaged"])
def test_a_catalog_that_cannot_be_written_is_copied_not_built(files: Files, what: str) -> None:
    filled(files)
    files.age()
    with Catalog.open(files.path, files.tree) as catalog:
        catalog.sweep()
    if what == "damaged":
        files.path.write_bytes(b"\xa5" * 8192)
    lock = files.path.with_name(f"{files.path.name}.lock")
    lock.unlink()
    lock.mkdir()  # as on a read-only disk, nobody can open it for writing
    files.write(key_of("more"))
    with Catalog.open(files.path, files.tree) as catalog:
        assert catalog._database.path != files.path
        assert catalog.sweep().looked == (1 if what == "sound" else 41)
        assert contents(catalog) == rebuilt(files, files.root / "new.db")
    assert not asides(files)


def test_a_full_disk_stops_no_change_of_files_and_no_question(files: Files) -> None:
    said: list[str] = []
    with Catalog.open(files.path, files.tree, notice=said.append) as catalog:
        files.write(key_of())
        catalog.current()
        with catalog._database.alone() as connection:
            connection.pragma("max_page_count", 1)  # not one page more
        with catalog.changing(*(key_of(f"state-{number}") for number in range(300))):
            for number in range(300):
                files.write(key_of(f"state-{number}"), b'{"a":"%s"}' % (b"x" * 500))
        catalog.current()
        assert catalog.count() == 1
        assert any("full" in text for text in said)
        with catalog._database.alone() as connection:
            connection.pragma("max_page_count", 1 << 30)
        catalog.current()
        assert catalog.count() == 301


def test_a_full_disk_keeps_nobody_from_the_latest_and_the_versions(files: Files) -> None:
    said: list[str] = []
    key = key_of()
    files.write(key)
    with Catalog.open(files.path, files.tree, notice=said.append) as catalog:
        catalog.current()
        with catalog._database.alone() as connection:
            connection.pragma("max_page_count", 1)
        files.write(key, b'{"a":"%s"}' % (b"x" * 4000), tags={"type": "resource", "modelName": "web", "k": "x" * 9000})
        files.mark(key, 2)
        assert [row.artifact.version for row in catalog.latest("", "web", key.name)] == [2]
        assert [row.artifact.version for row in catalog.latest("", key.model.id, key.name)] == [2]
        found = catalog.versions(key)
        assert [(row.artifact.version, row.is_latest) for row in found] == [(2, True), (1, False)]
        assert [row.artifact.version for row in catalog.versions(key, 2)] == [2]
        assert catalog.versions(key, 3) == []
        assert any("full" in text for text in said)
        with catalog._database.alone() as connection:
            connection.pragma("max_page_count", 1 << 30)
        assert [row.artifact for row in catalog.versions(key)] == [row.artifact for row in found]


def test_another_place_or_namespace_starts_with_nothing(files: Files) -> None:
    filled(files)
    elsewhere = Files(files.root / "elsewhere")
    with Catalog.open(files.path, elsewhere.tree) as catalog:
        assert catalog.count() == 0
        catalog.current()
        assert catalog.count() == 0


def test_closing_twice_is_fine(files: Files) -> None:
    catalog = Catalog.open(files.path, files.tree)
    catalog.close()
    catalog.close()
