"""Rows are in step as soon as a change of files is over, and that costs little however many versions there are."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bayou.catalog import Catalog
from bayou.domain.artifacts import Chain
from bayou.testing.catalogs import Files, artifact_of, contents, key_of, rebuilt

KEY = key_of()


def counted(patch: pytest.MonkeyPatch, *names: str) -> Counter[str]:
    """Count calls of the operating system, by the path that they are about."""
    calls: Counter[str] = Counter()

    def counting(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(path: Any = ".", *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
            calls[f"{name} {path}"] += 1
            return call(path, *arguments, **options)

        return wrapped

    for name in names:
        patch.setattr(os, name, counting(name, getattr(os, name)))
    return calls


def test_one_more_version_costs_no_look_at_the_others(
    files: Files, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(50):
        with catalog.changing(KEY) as settling:
            settling.wrote(KEY, files.write(KEY), b'{"a":1}')
    with monkeypatch.context() as patch:
        calls = counted(patch, "stat", "open")
        with catalog.changing(KEY) as settling:
            number = files.claim(KEY)
            artifact = files.finish(KEY, number)
            files.mark(KEY, number)
            calls.clear()
            settling.wrote(KEY, artifact, b'{"a":1}')
    versions = {
        Path(call.split()[1]).relative_to(files.folder(KEY)).parts[0]
        for call in calls
        if f"{files.folder(KEY)}/" in call
    }
    assert versions - {"latest"} == {"51"}
    assert contents(catalog) == rebuilt(files, files.root / "new.db")


def test_a_hint_is_believed_about_nothing_but_its_version(files: Files, catalog: Catalog) -> None:
    for _ in range(3):
        files.write(KEY)
    catalog.refresh(KEY)
    with catalog.changing(KEY) as settling:
        settling.wrote(KEY, files.write(KEY), b'{"a":1}')
        files.delete(KEY, 1)  # as pruning does, without a word
    assert sorted(row.artifact.version for row in catalog.rows()) == [2, 3, 4]


def test_a_hint_about_a_version_that_is_not_there_makes_no_row(catalog: Catalog) -> None:
    with catalog.changing(KEY) as settling:
        settling.wrote(KEY, artifact_of(KEY, 1), b"{}")
    assert catalog.count() == 0


def test_what_others_wrote_before_is_found_with_our_own(files: Files, catalog: Catalog) -> None:
    files.write(KEY)
    with catalog.changing(KEY) as settling:
        settling.wrote(KEY, files.write(KEY), b'{"a":1}')
    assert catalog.count() == 2


def test_each_chain_of_writers_has_its_own_latest(files: Files, catalog: Catalog) -> None:
    chains = [Chain(), Chain("w", "j", "s"), Chain("v", "j", "s"), Chain(), Chain("w", "j", "s")]
    for chain in chains:
        with catalog.changing(KEY) as settling:
            settling.wrote(KEY, files.write(KEY, chain=chain), b'{"a":1}')
    assert [row.artifact.version for row in catalog.rows("is_latest = 1", order_by="version")] == [3, 4, 5]
    with catalog.changing(KEY):
        files.delete(KEY, 5)
        files.mark(KEY, 4)
    assert [row.artifact.version for row in catalog.rows("is_latest = 1", order_by="version")] == [2, 3, 4]


def test_a_deferred_version_is_latest_when_it_is_advanced(files: Files, catalog: Catalog) -> None:
    def latest() -> list[int]:
        return [row.artifact.version for row in catalog.rows("is_latest = 1")]

    files.write(KEY)
    with catalog.changing(KEY) as settling:
        settling.wrote(KEY, files.finish(KEY, files.claim(KEY)), b'{"a":1}')
    assert (latest(), catalog.count()) == ([1], 2)
    with catalog.changing(KEY):
        files.mark(KEY, 2)
    assert latest() == [2]


def test_a_row_keeps_its_number_when_it_changes(files: Files, catalog: Catalog) -> None:
    files.write(KEY, b"one", content_type="text/plain", streaming=True)
    catalog.refresh(KEY)
    ((number, before),) = catalog.select(columns=("row", "size"))
    files.finish(KEY, 1, b"one more", content_type="text/plain", streaming=True)
    catalog.refresh(KEY)
    ((same, after),) = catalog.select(columns=("row", "size"))
    assert (number, before, after) == (same, 3, 8)


@pytest.mark.parametrize("content", [None, b'{"a":1,"b":[2]}', b'{"a":99999999999999999999}', b"x" * (2**20 + 1), b"?"])
def test_what_is_known_of_attributes(files: Files, catalog: Catalog, content: bytes | None) -> None:
    files.write(KEY, content)
    catalog.refresh(KEY)
    ((hydrated, known),) = catalog.select(columns=("hydrated", "attributes_known"))
    attributes = list(catalog._stream("SELECT key, kind, value FROM attribute ORDER BY key", ()))
    assert hydrated == (content is not None)
    assert known == (content in {b'{"a":1,"b":[2]}', b"?"})
    assert attributes == ([("a", "int", 1), ("b", "list", None)] if content == b'{"a":1,"b":[2]}' else [])


def test_metadata_that_nobody_can_use_is_told_and_repaired(files: Files, catalog: Catalog) -> None:
    files.write(KEY)
    number = files.claim(KEY)
    files.put(files.folder(KEY) / str(number) / "metadata.yaml", b"nonsense: [")
    catalog.sweep()
    assert catalog.count() == 1
    (problem,) = catalog.problems()
    assert problem.path.endswith(f"/{number}/metadata.yaml")
    files.age()
    catalog.sweep()
    files.finish(KEY, number)
    files.age()
    catalog.sweep()
    assert (catalog.count(), catalog.problems()) == (2, [])
