"""Following somebody's log of changes: the names that it speaks of are looked at, and no others."""

from collections.abc import Collection
from dataclasses import dataclass, field

from bayou.catalog import Catalog
from bayou.domain.artifacts import ArtifactKey
from bayou.testing.catalogs import Files, contents, key_of, rebuilt


@dataclass
class Log:
    """What a sync would say."""

    reached: str = "1"
    keys: Collection[ArtifactKey] | None = None
    asked: list[str | None] = field(default_factory=list)

    def __call__(self, position: str | None) -> tuple[str, Collection[ArtifactKey] | None]:
        self.asked.append(position)
        return self.reached, self.keys


def test_where_the_log_ends_everything_is_looked_at_and_the_position_is_remembered(files: Files) -> None:
    files.write(key_of("a"))
    log = Log()
    with Catalog.open(files.path, files.tree, news=log) as catalog:
        catalog.catch_up()
        assert contents(catalog) == rebuilt(files, files.root / "again.db")
        log.reached, log.keys = "2", ()
        catalog.catch_up()
    with Catalog.open(files.path, files.tree, news=log) as catalog:
        catalog.catch_up()
    assert log.asked == [None, "1", "1"]  # nothing came of "2", so nothing was written


def test_only_the_names_in_the_log_are_looked_at(files: Files) -> None:
    files.write(key_of("a"))
    files.write(key_of("b"))
    log = Log()
    with Catalog.open(files.path, files.tree, news=log) as catalog:
        catalog.catch_up()
        files.write(key_of("a"))
        files.write(key_of("b"))
        log.reached, log.keys = "2", [key_of("a"), key_of("gone")]
        catalog.catch_up()
        found = {(name, version) for name, version in catalog.select(columns=("name", "version"))}
        assert found == {("a", 1), ("a", 2), ("b", 1)}
        log.reached, log.keys = "3", [key_of("b")]
        catalog.catch_up()
        assert contents(catalog) == rebuilt(files, files.root / "again.db")
    assert log.asked == [None, "1", "2"]


def test_content_that_came_or_went_is_seen_although_no_folder_of_a_name_changed(files: Files) -> None:
    key = key_of("a")
    files.write(key)
    files.age()
    log = Log()
    with Catalog.open(files.path, files.tree, news=log) as catalog:
        catalog.catch_up()
        raw = files.folder(key) / "1/raw"
        raw.unlink()
        catalog.sweep()
        assert list(catalog.select(columns=("hydrated",))) == [(1,)]
        log.reached, log.keys = "2", [key]
        catalog.catch_up()
        assert list(catalog.select(columns=("hydrated",))) == [(0,)]


def test_another_place_is_followed_from_the_beginning(files: Files) -> None:
    files.write(key_of("a"))
    log = Log(keys=None)
    with Catalog.open(files.path, files.tree, news=log) as catalog:
        catalog.catch_up()
    files.tree.namespace = "infra"
    with Catalog.open(files.path, files.tree, news=log) as catalog:
        catalog.catch_up()
    assert log.asked == [None, None]
