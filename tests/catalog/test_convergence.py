"""However a history went, a sweep leaves the catalog with the rows that a new one would have."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.catalog import Catalog, reading
from bayou.domain.artifacts import Chain
from bayou.testing.catalogs import Files, contents, key_of, rebuilt

KEYS = [
    key_of("state"),
    key_of("log", model_id="m2"),
    key_of("7", model_type="@acme/lookup"),  # data called like a version
    key_of("state", model_id="m3", model_type="aws"),
]
CONTENTS = [
    b'{"a":1,"b":"x","c":[1],"d":{"e":1},"f":null,"g":true,"h":1.5}',
    b'{"a":2}',
    b"[1]",
    b"no json",
    b'{"a":99999999999999999999}',
    None,
]
CHAINS = [Chain(), Chain("nightly", "main", "collect"), Chain("weekly", "main", "collect")]

Step = tuple[str, int, int, int]
steps = st.tuples(
    st.sampled_from(
        [
            "write", "write", "write unsaid", "write without catalog", "defer", "advance", "append", "claim", "finish",
            "delete version", "delete name", "delete without catalog", "delete version without catalog", "unmark",
            "spoil", "hydrate", "evict", "fail", "die", "sweep", "reopen", "latest",
        ]
    ),
    st.integers(0, len(KEYS) - 1),
    st.integers(0, len(CONTENTS) - 1),
    st.integers(0, len(CHAINS) - 1),
)  # fmt: skip


class History:
    """Takes one step after the other, some as Bayou does, others as somebody who knows of no catalog."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.catalog = Catalog.open(files.path, files.tree)

    def take(self, step: Step) -> None:  # noqa: C901, PLR0912, PLR0915 - one case for each step
        name, key_number, content_number, chain_number = step
        key, content, chain = KEYS[key_number], CONTENTS[content_number], CHAINS[chain_number]
        files, versions = self.files, self.files.versions(KEYS[key_number])
        match name:
            case "write":
                with self.catalog.changing(key) as settling:
                    artifact = files.write(key, content, chain=chain)
                    settling.wrote(key, artifact, content)
            case "write unsaid":
                with self.catalog.changing(key):
                    files.write(key, content, content_type="text/plain", chain=chain)
            case "write without catalog":
                files.write(key, content, chain=chain, streaming=chain_number == 1)
            case "defer":
                with self.catalog.changing(key) as settling:
                    number = files.claim(key)
                    if number == 1:
                        files.mark(key, 0)
                    settling.wrote(key, files.finish(key, number, content, chain=chain))
            case "advance" if versions:
                with self.catalog.changing(key):
                    files.mark(key, versions[-1])
            case "append" if versions:
                with self.catalog.changing(key) as settling:
                    number = versions[-1]
                    settling.wrote(key, files.finish(key, number, b"more", streaming=True, content_type="text/plain"))
            case "claim":
                files.claim(key)
            case "finish" if versions:
                number = versions[-1]
                if not (files.folder(key) / str(number) / "metadata.yaml").exists():
                    files.finish(key, number, content, chain=chain)
            case "delete version" if versions:
                with self.catalog.changing(key):
                    files.delete(key, versions[0])
            case "delete name":
                with self.catalog.changing(key):
                    files.delete(key)
            case "delete without catalog":
                files.delete(key)
            case "delete version without catalog" if versions:
                files.delete(key, versions[-1])
            case "unmark" if versions:
                files.mark(key, None)
            case "spoil":
                number = files.claim(key)
                (files.folder(key) / str(number) / "metadata.yaml").write_bytes(b"name: [")
            case "hydrate" | "evict" if versions:
                with self.catalog.changing(key):
                    raw = files.folder(key) / str(versions[0]) / "raw"
                    if name == "evict":
                        raw.unlink(missing_ok=True)
                    elif not raw.exists():
                        raw.write_bytes(b'{"a":3}')
            case "fail":
                with pytest.raises(ZeroDivisionError), self.catalog.changing(key) as settling:  # noqa: PT012 - it is what changes files that fails
                    settling.wrote(key, files.write(key, content, chain=chain), content)
                    files.delete(key, files.versions(key)[-1])
                    raise ZeroDivisionError
            case "die":
                # The intent of a process that is gone, and files that it changed.
                with self.catalog._database.writing() as connection:
                    connection.execute(
                        "INSERT INTO intent(type, model_id, name, host, pid, started) VALUES(?, ?, ?, '', 1, 1)",
                        (str(key.model.type), key.model.id, key.name),
                    )
                files.write(key, content, chain=chain)
            case "sweep":
                self.catalog.sweep()
            case "reopen":
                self.catalog.close()
                self.catalog = Catalog.open(files.path, files.tree)
            case "latest":
                self.catalog.latest("", "web", key.name)


@contextmanager
def history(racy_ns: int) -> Iterator[History]:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "RACY_NS", racy_ns)
        started = History(Files(Path(folder)))
        yield started
        started.catalog.close()


def disk_tells_times_apart() -> bool:
    """Whether two changes of a folder, one right after the other, give it two times."""
    with tempfile.TemporaryDirectory() as folder:
        times = set()
        for number in range(50):
            (Path(folder) / str(number)).mkdir()
            times.add(Path(folder).stat().st_mtime_ns)
    return len(times) == 50


FINE = disk_tells_times_apart()


@given(st.lists(steps, max_size=14), st.sampled_from(["real", "aged", "fine"] if FINE else ["real", "aged"]))
def test_after_a_sweep_the_catalog_says_what_a_new_one_would(taken: list[Step], times: str) -> None:
    with history(0 if times == "fine" else reading.RACY_NS) as one:
        for step in taken:
            one.take(step)
            if times == "aged":
                one.files.age()  # and so differently from what was remembered, but settled
        one.catalog.sweep()
        found = contents(one.catalog)
        assert not found["left over"]
        assert found == rebuilt(one.files, one.files.root / "new.db")
        one.catalog.rebuild()
        assert contents(one.catalog) == found


@given(
    st.lists(
        steps.filter(
            lambda step: "without" not in step[0] and step[0] not in {"claim", "finish", "spoil", "die", "unmark"}
        ),
        max_size=10,
    )
)
def test_what_was_written_through_needs_no_sweep(taken: list[Step]) -> None:
    with history(reading.RACY_NS) as one:
        for step in taken:
            one.take(step)
        assert contents(one.catalog) == rebuilt(one.files, one.files.root / "new.db")
