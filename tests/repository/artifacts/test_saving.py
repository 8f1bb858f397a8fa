"""Saving: versions come into being whole, one after the other, and only for who owns the name."""

import errno
import hashlib
import os
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pytest

from bayou.domain.artifacts import ArtifactKey, Owner, OwnerType
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.errors import BayouError, Conflict, Corrupt, ErrorKind, UsageError
from bayou.repository import reads
from bayou.repository.saving import Allocation, save
from bayou.testing.bench import Bench


def test_versions_count_from_one_and_keep_what_they_hold(bench: Bench) -> None:
    for version, text in enumerate(("one", "two", "three"), 1):
        assert save(bench.holdings, bench.key(), text, bench.draft()).version == version
    assert [bench.path("state", n, "raw").read_text() for n in (1, 2, 3)] == ["one", "two", "three"]
    assert bench.path("state", "latest").read_bytes() == b"3"
    assert reads.versions(bench.tree, bench.key()) == [1, 2, 3]
    found = reads.latest(bench.tree, bench.key())
    assert found is not None
    assert found.artifact.version == 3
    assert reads.version(bench.tree, bench.key(), 9) is None
    assert bench.latest_rows() == [3]


def test_metadata_says_all_about_the_version(bench: Bench) -> None:
    artifact = save(bench.holdings, bench.key(), {"a": "\u00fc"}, bench.draft(garbage_collection="30d", lifetime="0h"))
    raw = '{"a":"\u00fc"}'.encode()
    assert bench.path("state", 1, "raw").read_bytes() == raw
    assert bench.path("state", 1, "metadata.yaml").read_text() == (
        f'id: "{artifact.id}"\nname: "state"\nversion: 1\ncontentType: "application/json"\nlifetime: "workflow"\n'
        'garbageCollection: "30d"\nstreaming: false\ntags:\n  type: "resource"\n  modelName: "web-01"\n'
        f'ownerDefinition:\n  ownerType: "model-method"\n  ownerRef: "{bench.model.id}"\n'
        f'createdAt: "2026-04-02T09:15:00.125Z"\nsize: 10\nchecksum: "{hashlib.sha256(raw).hexdigest()}"\n'
    )
    assert reads.version(bench.tree, bench.key(), 1) == artifact


def test_each_version_has_an_id_of_its_own(bench: Bench) -> None:
    assert len({save(bench.holdings, bench.key(), "x", bench.draft()).id for _ in range(3)}) == 3


@pytest.mark.parametrize(
    ("given", "raw", "content_type"),
    [
        (b"\xff\x00", b"\xff\x00", "application/octet-stream"),
        ("\u00fc", b"\xc3\xbc", "text/plain"),
        ([1, {"a": None}], b'[1,{"a":null}]', "application/json"),
        (None, b"null", "application/json"),
        (iter([b"a", b"", b"b"]), b"ab", "application/octet-stream"),
        (BytesIO(b"stream"), b"stream", "application/octet-stream"),
        (b"", b"", "application/octet-stream"),
    ],
)
def test_content_comes_in_any_form(bench: Bench, given: object, raw: bytes, content_type: str) -> None:
    artifact = save(bench.holdings, bench.key(), given, bench.draft())
    assert bench.path("state", 1, "raw").read_bytes() == raw
    assert (artifact.content_type, artifact.size) == (content_type, len(raw))
    assert artifact.checksum == hashlib.sha256(raw).hexdigest()


def test_the_type_of_a_file_is_that_of_its_name_unless_the_writer_knows_better(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# hi")
    assert save(bench.holdings, bench.key("a"), tmp_path / "notes.md", bench.draft()).content_type == "text/markdown"
    draft = bench.draft(content_type="text/x-notes; charset=utf-8")
    assert save(bench.holdings, bench.key("b"), tmp_path / "notes.md", draft).content_type == draft.content_type


def test_bytes_are_kept_as_they_are_whatever_their_type_says(bench: Bench) -> None:
    save(bench.holdings, bench.key(), b"{no json \xff", bench.draft(content_type="application/json"))
    assert bench.path("state", 1, "raw").read_bytes() == b"{no json \xff"
    assert bench.rows()[1].artifact.content_type == "application/json"


def test_only_the_owner_may_write_again_whatever_else_is_said_of_him(bench: Bench) -> None:
    save(bench.holdings, bench.key(), "mine", bench.draft())
    again = Owner(owner_type=OwnerType.MODEL_METHOD, owner_ref=bench.model.id, workflow_name="nightly", source="x")
    assert save(bench.holdings, bench.key(), "again", bench.draft(owner=again)).version == 2
    before = bench.files()
    for owner_type, ref in ((OwnerType.MANUAL, bench.model.id), (OwnerType.MODEL_METHOD, "somebody else")):
        other = bench.draft(owner=Owner(owner_type=owner_type, owner_ref=ref))
        for content in ("theirs", iter([b"theirs"])):
            with pytest.raises(Conflict, match=bench.model.id) as caught:
                save(bench.holdings, bench.key(), content, other)
            assert caught.value.kind is ErrorKind.NOT_OWNER
            assert ref in str(caught.value)
    assert bench.files() == before


def test_two_models_may_have_data_of_one_name(bench: Bench) -> None:
    save(bench.holdings, bench.key(), "a", bench.draft())
    other = Model(ModelType("acme/host"), "other")
    theirs = bench.draft(owner=Owner(owner_type=OwnerType.MANUAL, owner_ref="them"))
    assert save(bench.holdings, ArtifactKey(other, "state"), "b", theirs).version == 1


@pytest.mark.parametrize("name", ["latest", "LATEST", ".lock", "a/b", "a\\b", "..", "../x", "", "a\0b", "x" * 256])
def test_no_access_goes_by_a_name_that_data_cannot_have(bench: Bench, name: str) -> None:
    key = ArtifactKey(bench.model, name)
    for access in (
        lambda: save(bench.holdings, key, "x", bench.draft()),
        lambda: Allocation(bench.holdings, key, bench.draft()),
        lambda: reads.latest(bench.tree, key),
        lambda: reads.versions(bench.tree, key),
        lambda: reads.version(bench.tree, key, 1),
    ):
        with pytest.raises(UsageError) as caught:
            access()
        assert caught.value.kind is ErrorKind.INVALID_NAME
    assert bench.files() == []


@pytest.mark.parametrize(
    "said",
    [
        {"tags": {}},
        {"tags": {"type": ""}},
        {"tags": {"type": "x", "a": 1}},
        {"lifetime": "10 days"},
        {"garbage_collection": 0},
        {"garbage_collection": "0d"},
        {"content_type": "text"},
        {"content_type": "text/plain\nname: evil"},
        {"content_type": ""},
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(bench: Bench, said: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        bench.draft(**said)


def test_numeric_names_and_names_with_blanks_and_dots_are_names(bench: Bench) -> None:
    for name in ("207333", "7", "disk report", "v1.2", ".hidden", "\u00fcber"):
        assert save(bench.holdings, bench.key(name), name, bench.draft()).version == 1
        assert reads.versions(bench.tree, bench.key(name)) == [1]
        assert bench.latest_rows(name) == [1]


def test_a_name_of_a_model_where_its_id_belongs_finds_nothing(bench: Bench) -> None:
    save(bench.holdings, bench.key(), "x", bench.draft())
    key = ArtifactKey(Model(ModelType("acme/host"), "web-01"), "state")
    assert reads.latest(bench.tree, key) is None
    assert reads.versions(bench.tree, key) == []


def test_what_dies_on_the_way_leaves_no_version_and_no_file(bench: Bench) -> None:
    def failing() -> Iterator[bytes]:
        yield b"some"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        save(bench.holdings, bench.key(), failing(), bench.draft())
    assert bench.files() == []
    assert not bench.path("state").exists()
    save(bench.holdings, bench.key(), "one", bench.draft())
    with pytest.raises(ZeroDivisionError):
        save(bench.holdings, bench.key(), failing(), bench.draft())
    assert reads.versions(bench.tree, bench.key()) == [1]
    assert not bench.path("state", 2).exists()


@pytest.mark.parametrize("call", ["write", "replace"])
@pytest.mark.parametrize("after", range(4))
def test_a_full_disk_shows_no_partial_version(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, call: str, after: int
) -> None:
    save(bench.holdings, bench.key(), "one", bench.draft())
    whole, calls = getattr(os, call), iter(range(100))

    def full(*arguments: object) -> object:
        if next(calls) >= after:
            raise OSError(errno.ENOSPC, "No space left on device")
        return whole(*arguments)

    monkeypatch.setattr(os, call, full)
    try:
        save(bench.holdings, bench.key(), "two", bench.draft())
    except BayouError as error:
        assert error.kind is ErrorKind.STORE_FULL  # noqa: PT017 - some of the calls come after the last write
    monkeypatch.undo()
    found = reads.latest(bench.tree, bench.key())
    assert found is not None
    assert (
        bench.path("state", found.artifact.version, "raw").read_text() == {1: "one", 2: "two"}[found.artifact.version]
    )
    assert bench.latest_rows() == [found.artifact.version]
    assert save(bench.holdings, bench.key(), "next", bench.draft()).version == found.artifact.version + 1


def test_what_a_version_holds_is_on_the_disk_before_it_is_one_and_it_is_one_before_it_is_the_latest(
    make_bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make_bench(durable=True)
    save(bench.holdings, bench.key(), "one", bench.draft())
    fsync, replace, steps = os.fsync, os.replace, list[str]()

    def synced(fd: int) -> None:
        steps.append(f"sync {Path(f'/proc/self/fd/{fd}').readlink().name.rpartition('.')[2]}")
        fsync(fd)

    def replaced(source: str, target: str) -> None:
        steps.append(f"rename {Path(target).name}")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    save(bench.holdings, bench.key(), "two", bench.draft())
    assert steps == [
        "sync raw", "sync tmp", "rename metadata.yaml", "sync 2", "sync tmp", "rename latest", "sync state",
    ]  # fmt: skip


def test_a_folder_that_cannot_be_written_is_named(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    save(bench.holdings, bench.key(), "one", bench.draft())
    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(BayouError, match="state/2") as caught:
        save(bench.holdings, bench.key(), "two", bench.draft())
    assert caught.value.kind is ErrorKind.PERMISSION_DENIED


@pytest.mark.parametrize("nonsense", [b"", b"\xff", b"id: [", b"a: b\n", b"version: 2", b"id: &a [*a]"])
def test_metadata_edited_into_nonsense_is_named_and_in_nobodys_way(bench: Bench, nonsense: bytes) -> None:
    for text in ("one", "two"):
        save(bench.holdings, bench.key(), text, bench.draft())
    bench.path("state", 2, "metadata.yaml").write_bytes(nonsense)
    with pytest.raises(Corrupt, match=r"state/2/metadata\.yaml"):
        reads.latest(bench.tree, bench.key())
    assert reads.version(bench.tree, bench.key(), 1) is not None
    stranger = bench.draft(owner=Owner(owner_type=OwnerType.MANUAL, owner_ref="x"))
    with pytest.raises(Conflict):
        save(bench.holdings, bench.key(), "theirs", stranger)
    assert save(bench.holdings, bench.key(), "three", bench.draft()).version == 3
    found = reads.latest(bench.tree, bench.key())
    assert found is not None
    assert found.artifact.version == 3


def test_a_clock_that_goes_backwards_does_not_change_which_version_is_the_latest(bench: Bench) -> None:
    save(bench.holdings, bench.key(), "one", bench.draft())
    bench.clock.pass_days(-1000)
    assert save(bench.holdings, bench.key(), "two", bench.draft()).created_at < "2025"
    found = reads.latest(bench.tree, bench.key())
    assert found is not None
    assert found.artifact.version == 2
    assert bench.latest_rows() == [2]


def test_latest_never_goes_backwards(bench: Bench) -> None:
    slow = Allocation(bench.holdings, bench.key(), bench.draft())
    assert save(bench.holdings, bench.key(), "fast", bench.draft()).version == 2
    slow.write(b"slow")
    assert slow.finalize().version == 1
    assert bench.path("state", "latest").read_bytes() == b"2"
    assert bench.latest_rows() == [2]
    assert reads.versions(bench.tree, bench.key()) == [1, 2]


def test_a_number_above_the_marker_that_nobody_finished_is_not_used_again(bench: Bench) -> None:
    save(bench.holdings, bench.key(), "one", bench.draft())
    bench.path("state", 2).mkdir()  # of a writer that died
    bench.path("state", 2, "raw").write_bytes(b"half")
    found = reads.latest(bench.tree, bench.key())
    assert found is not None
    assert found.artifact.version == 1
    assert save(bench.holdings, bench.key(), "three", bench.draft()).version == 3
    assert reads.versions(bench.tree, bench.key()) == [1, 3]


def test_an_older_client_that_claims_without_a_lock_is_stepped_over(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(bench.holdings, bench.key(), "one", bench.draft())
    make, taken = os.mkdir, list[str]()

    def mkdir(path: str | Path, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        if str(path).endswith("/state/2") and not taken:
            taken.append(str(path))
            make(path)
        make(path, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", mkdir)
    assert save(bench.holdings, bench.key(), "x", bench.draft()).version == 3
    assert taken


def test_old_versions_are_dropped_while_writing_only_when_that_is_turned_on(
    make_bench: Callable[..., Bench],
) -> None:
    on, off = make_bench("on", auto_gc=True), make_bench("off")
    for bench in (on, off):
        for text in "abcde":
            save(bench.holdings, bench.key(), text, bench.draft(garbage_collection=3))
    assert reads.versions(on.tree, on.key()) == list(on.rows()) == [3, 4, 5]
    assert reads.versions(off.tree, off.key()) == [1, 2, 3, 4, 5]


def test_dropping_while_writing_spares_the_latest_of_each_step(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(auto_gc=True)

    def write(step: str) -> None:
        owner = Owner(
            owner_type=OwnerType.MODEL_METHOD, owner_ref=bench.model.id, workflow_name="w", job_name="j", step_name=step
        )
        save(bench.holdings, bench.key(), step, bench.draft(owner=owner, garbage_collection=2))

    for step in ("plan", "apply", "apply", "apply"):
        write(step)
    assert reads.versions(bench.tree, bench.key()) == [1, 3, 4]
    assert bench.latest_rows() == [1, 4]


@pytest.mark.parametrize("given", ["whole", iter([b"streamed"])], ids=["whole", "streamed"])
def test_what_cannot_be_dropped_is_no_reason_to_lose_what_was_saved(
    make_bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch, given: object
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    bench = make_bench(auto_gc=True)
    save(bench.holdings, bench.key(), "one", bench.draft(garbage_collection=1))
    monkeypatch.setattr(os, "rename", refuse)
    assert save(bench.holdings, bench.key(), given, bench.draft(garbage_collection=1)).version == 2
    assert reads.versions(bench.tree, bench.key()) == [1, 2]
    assert bench.latest_rows() == [2]


def test_an_allocation_is_invisible_until_it_is_finalized(bench: Bench) -> None:
    save(bench.holdings, bench.key(), "one", bench.draft())
    with Allocation(bench.holdings, bench.key(), bench.draft(), content_type="text/plain") as allocation:
        allocation.write(b"two")
        assert allocation.version == 2
        assert reads.versions(bench.tree, bench.key()) == [1]
        assert bench.latest_rows() == [1]
        artifact = allocation.finalize()
    assert (artifact.version, artifact.size, artifact.content_type) == (2, 3, "text/plain")
    assert artifact.checksum == hashlib.sha256(b"two").hexdigest()
    assert bench.latest_rows() == [2]


def test_a_program_may_write_the_file_itself(bench: Bench) -> None:
    with Allocation(bench.holdings, bench.key(), bench.draft()) as allocation:
        allocation.path.write_bytes(b"by another program")
        artifact = allocation.finalize()
    assert (artifact.size, artifact.checksum) == (18, hashlib.sha256(b"by another program").hexdigest())


def test_an_allocation_that_is_left_leaves_nothing(bench: Bench) -> None:
    with Allocation(bench.holdings, bench.key(), bench.draft()) as allocation:
        allocation.write(b"x")
    assert bench.files() == []
    assert save(bench.holdings, bench.key(), "x", bench.draft()).version == 1


def test_a_version_whose_bytes_were_taken_away_is_never_published(bench: Bench) -> None:
    save(bench.holdings, bench.key(), "one", bench.draft())
    losses: list[Callable[[Path], object]] = [Path.unlink, lambda raw: raw.parent.rename(bench.root / "gone")]
    for take_away in losses:
        with Allocation(bench.holdings, bench.key(), bench.draft()) as allocation:
            allocation.write(b"x")
            take_away(allocation.path)
            with pytest.raises(Conflict, match="version 2"):
                allocation.finalize()
    assert reads.versions(bench.tree, bench.key()) == [1]


def test_who_lost_the_name_while_streaming_cannot_finalize(bench: Bench) -> None:
    stranger = bench.draft(owner=Owner(owner_type=OwnerType.MANUAL, owner_ref="x"))
    with Allocation(bench.holdings, bench.key(), stranger) as allocation:
        save(bench.holdings, bench.key(), "faster", bench.draft())
        with pytest.raises(Conflict):
            allocation.finalize()
    assert reads.versions(bench.tree, bench.key()) == [2]


def test_nobody_waits_for_a_writer_that_streams(bench: Bench) -> None:
    def slow() -> Iterator[bytes]:
        yield b"a"
        assert save(bench.holdings, bench.key(), "meanwhile", bench.draft()).version == 2
        yield b"b"

    assert save(bench.holdings, bench.key(), slow(), bench.draft()).version == 1
    assert bench.path("state", 1, "raw").read_bytes() == b"ab"
