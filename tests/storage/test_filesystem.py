"""A folder as a store: nothing leads out of it, nothing is half written, and a missing folder is never an empty one."""

import asyncio
import contextlib
import errno
import fcntl
import gc
import os
import signal
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator
from io import FileIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bayou.errors import BayouError, Conflict, Denied, ErrorKind, NotFound, Unavailable, Unsupported, UsageError
from bayou.storage import ABSENT, ANY, FilesystemStore, Store, Version
from bayou.storage import keylocks as keylocks_module
from bayou.storage.files import write_body
from bayou.storage.filesystem import RESERVED
from bayou.storage.listing import describe
from bayou.storage.port import CHUNK
from bayou.testing.contract.expect import list_keys, read

LARGE = 3 * CHUNK
linux_only = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts descriptors through /proc")

CALLS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "get": lambda store: store.get("folder/a"),
    "get_if_changed": lambda store: store.get_if_changed("folder/a", Version("v")),
    "put": lambda store: store.put("folder/a", b""),
    "create": lambda store: store.put("folder/a", b"", when=ABSENT),
    "delete": lambda store: store.delete("folder/a"),
    "list": lambda store: list_keys(store, "folder"),
    "list all": list_keys,
    "head": lambda store: store.head("folder/a"),
    "copy": lambda store: store.copy("folder/a", "folder/b"),
}
each_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
Call = Callable[[Store], Awaitable[object]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "store"
    root.mkdir()
    return root


@pytest.fixture
def store(root: Path) -> Iterator[FilesystemStore]:
    store = FilesystemStore(root, durable=False)
    yield store
    asyncio.run(store.close())


def descriptor(fd: int) -> str:
    """The path of what is open."""
    return str(Path(f"/proc/self/fd/{fd}").readlink())


def temporaries(root: Path) -> list[Path]:
    folder = root / RESERVED / "tmp"
    return list(folder.iterdir()) if folder.exists() else []


# What is not there


@each_call
async def test_a_missing_root_is_a_wrong_setting_and_never_an_empty_store(call: Call, tmp_path: Path) -> None:
    for root in (tmp_path / "missing", tmp_path / "file", tmp_path / "dangling"):
        if root.name == "file":
            root.write_bytes(b"")
        elif root.name == "dangling":
            root.symlink_to(tmp_path / "nowhere")
        with pytest.raises(UsageError) as caught:
            await call(FilesystemStore(root))
        assert caught.value.kind is ErrorKind.CONTAINER_MISSING
    assert not (tmp_path / "missing").exists()


async def test_the_root_itself_may_be_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    store = FilesystemStore(tmp_path / "link", durable=False)
    await store.put("a", b"content")
    assert (root / "a").read_bytes() == b"content"
    assert await list_keys(store) == ["a"]


# Links and special files


@each_call
async def test_a_link_to_a_folder_is_never_followed(call: Call, store: Store, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_bytes(b"theirs")
    (root / "folder").symlink_to(outside)
    if call is CALLS["list all"]:
        assert await list_keys(store) == []
    else:
        with pytest.raises(UsageError) as caught:
            await call(store)
        assert caught.value.kind is ErrorKind.INVALID_PATH
    assert [path.name for path in outside.iterdir()] == ["a"]
    assert (outside / "a").read_bytes() == b"theirs"


@pytest.mark.parametrize("target", ["secret", "nowhere"])
async def test_a_link_to_a_file_is_never_followed(store: Store, root: Path, tmp_path: Path, target: str) -> None:
    (tmp_path / "secret").write_bytes(b"theirs")
    (root / "a").symlink_to(tmp_path / target)
    for read_call in (store.get("a"), store.head("a"), store.get_if_changed("a", Version("v")), store.copy("a", "b")):
        with pytest.raises(UsageError):
            await read_call
    assert await list_keys(store) == []
    for change in (store.put("a", b""), store.put("a", b"", when=ABSENT), store.delete("a"), store.copy("b", "a")):
        await store.put("b", b"ours")
        with pytest.raises(UsageError) as caught:
            await change
        assert caught.value.kind is ErrorKind.INVALID_PATH
    assert (root / "a").is_symlink(), "it is somebody's, and is neither replaced nor removed"
    assert (tmp_path / "secret").read_bytes() == b"theirs"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("special", ["pipe", "socket"])
async def test_a_special_file_is_no_object_and_nobody_waits_for_it(
    store: Store, root: Path, special: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)  # the path of a socket must be short
    if special == "pipe":
        os.mkfifo("a")
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("a")
    with pytest.raises(NotFound):
        await store.get("a")
    with pytest.raises(NotFound):
        await store.head("a")
    assert await list_keys(store) == []


async def test_a_file_where_a_folder_is_needed(store: Store) -> None:
    await store.put("a", b"file")
    for key in ("a/b", "a/b/c"):
        with pytest.raises(Unsupported):
            await store.put(key, b"")
        with pytest.raises(Unsupported):
            await store.put(key, b"", when=ABSENT)
        with pytest.raises(NotFound):
            await store.get(key)
        await store.delete(key)
    assert await list_keys(store, "a") == []
    assert await list_keys(store) == ["a"]


async def test_a_folder_where_a_file_is_needed(store: Store, root: Path) -> None:
    await store.put("a/b", b"")
    with pytest.raises(Unsupported):
        await store.put("a", b"")
    with pytest.raises(Unsupported):
        await store.put("a", b"", when=ABSENT)
    with pytest.raises(NotFound):
        await store.get("a")
    await store.delete("a")
    assert await list_keys(store) == ["a/b"]
    assert temporaries(root) == []


async def test_a_folder_that_takes_the_name_at_the_last_moment(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.put("a/b", b"")
    monkeypatch.setattr("bayou.storage.filesystem._look", lambda *_: None)
    with pytest.raises(Unsupported):
        await store.put("a", b"")
    assert temporaries(root) == []


# Names


@pytest.mark.parametrize("key", [RESERVED, f"{RESERVED}/tmp/x", f"{RESERVED}/locks/00", f"team/{RESERVED}/locks/00"])
async def test_what_the_store_needs_for_itself_is_refused_and_not_listed(store: Store, key: str) -> None:
    await store.put("_control/bayou/ours", b"")
    for call in (store.get(key), store.head(key), store.put(key, b""), store.delete(key), store.copy(key, "a")):
        with pytest.raises(UsageError):
            await call
    with pytest.raises(UsageError):
        await store.copy("_control/bayou/ours", key)
    for prefix in ("", "_control", "_control/bayou"):
        assert await list_keys(store, prefix) == ["_control/bayou/ours"]
    with pytest.raises(UsageError):
        await list_keys(store, key)
    await store.put(f"{RESERVED}-not", b"")
    assert f"{RESERVED}-not" in await list_keys(store)


async def test_what_a_store_further_down_needs_for_itself_is_not_listed(store: Store, root: Path) -> None:
    (root / "team").mkdir()
    async with FilesystemStore(root / "team") as inner:
        await inner.put("a", b"")
    assert await list_keys(store) == await list_keys(store, "team") == ["team/a"]


async def test_names_that_cannot_be_keys_are_not_listed(store: Store, root: Path) -> None:
    for name in (b"\xff\xfe", b"new\nline", b"back\\slash", b"good"):
        (root / os.fsdecode(name)).write_bytes(b"")
    (root / os.fsdecode(b"\xff-folder")).mkdir()
    (root / os.fsdecode(b"\xff-folder") / "a").write_bytes(b"")
    assert await list_keys(store) == ["good"]


async def test_names_that_differ_in_case_or_in_composition_are_apart(store: Store) -> None:
    keys = ["A", "a", "é", "e\u0301"]
    for key in keys:
        await store.put(key, key.encode())
    assert [await read(store, key) for key in keys] == [key.encode() for key in keys]


async def test_a_key_may_be_deeper_than_the_stack(store: Store) -> None:
    deep = "/".join("a" * 400)
    await store.put(deep, b"content")
    await store.put("a/b", b"")
    assert await list_keys(store) == [deep, "a/b"]
    assert await list_keys(store, "a/a", after=deep) == []
    await store.delete(deep)
    assert await list_keys(store) == ["a/b"]


async def test_a_name_too_long_for_the_disk_is_unsupported(store: Store, root: Path) -> None:
    with pytest.raises(Unsupported):
        await store.put("x" * 300, b"")
    assert temporaries(root) == []


# Errors of the operating system: the tests may run as root, whom no permission stops


@pytest.mark.parametrize(
    ("number", "category", "kind"),
    [
        (errno.EACCES, Denied, ErrorKind.PERMISSION_DENIED),
        (errno.EPERM, Denied, ErrorKind.PERMISSION_DENIED),
        (errno.EROFS, Denied, ErrorKind.PERMISSION_DENIED),
        (errno.ENOSPC, Unavailable, ErrorKind.STORE_FULL),
        (errno.EDQUOT, Unavailable, ErrorKind.STORE_FULL),
        (errno.ESTALE, Unavailable, ErrorKind.TRANSIENT),
        (errno.EIO, Unavailable, ErrorKind.TRANSIENT),
        (errno.EMFILE, Unavailable, ErrorKind.TRANSIENT),
        (errno.ETIMEDOUT, Unavailable, ErrorKind.TRANSIENT),
        (errno.ENAMETOOLONG, Unsupported, ErrorKind.STORE_CANNOT),
        (errno.EFBIG, Unsupported, ErrorKind.STORE_CANNOT),
    ],
)
@each_call
async def test_an_error_of_the_disk_is_of_its_kind_for_every_call(
    *,
    call: Call,
    number: int,
    category: type[BayouError],
    kind: ErrorKind,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await store.put("folder/a", b"")
    real = os.open

    def failing(path: object, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is not None:
            raise OSError(number, os.strerror(number))
        return real(path, flags, mode)  # type: ignore[arg-type] # as it came

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", failing)
        with pytest.raises(category) as caught:
            await call(store)
    assert caught.value.kind is kind


async def test_a_folder_that_cannot_be_listed_is_denied(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    await store.put("a", b"")

    def failing(_: object) -> None:
        raise PermissionError(errno.EACCES, "no")

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", failing)
        with pytest.raises(Denied):
            await list_keys(store)


async def test_a_full_disk_leaves_the_old_object_and_no_temporary_file(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.put("a", b"old")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    for name in ("utime", "rename"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, full)
            with pytest.raises(Unavailable) as caught:
                await store.put("a", b"new")
        assert caught.value.kind is ErrorKind.STORE_FULL
    assert await read(store, "a") == b"old"
    assert temporaries(root) == []


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP])
async def test_a_disk_without_links_says_what_is_missing(
    store: Store, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise OSError(number, "no")

    monkeypatch.setattr(os, "link", failing)
    with pytest.raises(Unsupported, match="hard links"):
        await store.put("a", b"", when=ABSENT)
    await store.put("a", b"")


async def test_a_link_whose_answer_nfs_lost_is_ours(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.link

    def lost(*arguments: str, **options: int) -> None:
        real(*arguments, **options)  # type: ignore[arg-type] # as they came
        raise FileExistsError(errno.EEXIST, "the second of two requests")

    monkeypatch.setattr(os, "link", lost)
    version = await store.put("a", b"ours", when=ABSENT)
    assert (await store.head("a")).version == version


async def test_a_disk_without_locks_is_unsupported_and_a_stale_handle_is_transient(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(number: int) -> Callable[..., None]:
        def flock(*_: object) -> None:
            raise OSError(number, os.strerror(number))

        return flock

    monkeypatch.setattr(fcntl, "flock", failing(errno.ENOLCK))
    with pytest.raises(Unsupported, match="lock"):
        await store.put("a", b"")
    monkeypatch.setattr(fcntl, "flock", failing(errno.ESTALE))
    with pytest.raises(Unavailable):
        await store.put("a", b"")


async def test_a_lock_that_stays_taken_is_given_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object) -> None:
        raise BlockingIOError

    monkeypatch.setattr(fcntl, "flock", busy)
    monkeypatch.setattr(keylocks_module, "PATIENCE", 0.0)
    with pytest.raises(Unavailable) as caught:
        await store.put("a", b"")
    assert caught.value.kind is ErrorKind.DEADLINE_EXCEEDED


@pytest.mark.parametrize("change", ["put", "delete", "copy"])
async def test_what_its_caller_gave_up_changes_nothing_later(store: Store, root: Path, change: str) -> None:
    """A thread cannot be stopped. It would else overwrite what was written and acknowledged since."""
    await store.put("a", b"first")
    await store.put("other", b"late")
    calls: dict[str, Call] = {
        "put": lambda store: store.put("a", b"late"),
        "delete": lambda store: store.delete("a"),
        "copy": lambda store: store.copy("other", "a"),
    }
    with contextlib.closing(os.fdopen(_locked(root, "a"))) as lock:
        task = asyncio.ensure_future(calls[change](store))
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.wait([task])
        newer = asyncio.create_task(store.put("a", b"acknowledged"))
        lock.close()
        await newer
    store._pool.shutdown(wait=True)  # type: ignore[attr-defined]
    assert (root / "a").read_bytes() == b"acknowledged"
    assert temporaries(root) == []


def _locked(root: Path, key: str) -> int:
    fd = os.open(root / RESERVED / "locks" / f"{zlib.crc32(key.encode()) % keylocks_module.STRIPES:02x}", os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd


# Durability and whole bytes


@pytest.mark.parametrize("durable", [True, False])
async def test_file_and_folder_are_synced_if_and_only_if_writes_must_last(
    *, durable: bool, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    real = os.fsync

    def spy(fd: int) -> None:
        synced.append(descriptor(fd))
        real(fd)

    monkeypatch.setattr(os, "fsync", spy)
    async with FilesystemStore(root, durable=durable) as store:
        await store.put("folder/a", b"content")
        if durable:
            file, made, folder = synced
            assert file.startswith(str(root / RESERVED / "tmp"))
            assert made == str(root)
            assert folder == str(root / "folder")
        synced.clear()
        await store.put("folder/a", b"again")
        assert len(synced) == (2 if durable else 0)
        synced.clear()
        await store.delete("folder/a")
        assert synced == ([str(root / "folder")] if durable else [])


def test_a_short_write_is_continued(tmp_path: Path) -> None:
    class Short(FileIO):
        def write(self, content: Any) -> int:  # noqa: ANN401 - any buffer
            return super().write(memoryview(content)[:1000])

    content = os.urandom(10_000)
    (tmp_path / "body").write_bytes(content)
    for body in (content, tmp_path / "body"):
        with Short(tmp_path / "target", "w") as target:
            write_body(body, target)
        assert (tmp_path / "target").read_bytes() == content


async def test_a_body_must_be_a_file(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        await store.put("a", tmp_path)
    with pytest.raises(UsageError):
        await store.put("a", tmp_path / "missing")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError):  # and nobody waits for somebody to write into it
        await asyncio.wait_for(store.put("a", tmp_path / "pipe"), 30)
    assert await list_keys(store) == []


async def test_temporary_files_are_never_listed_and_swept_when_they_are_old(root: Path) -> None:
    await FilesystemStore(root, durable=False).put("a", b"")
    old, young = (root / RESERVED / "tmp" / name for name in ("old", "young"))
    for path, hours in ((old, 24.1), (young, 23.9)):
        path.write_bytes(b"half a bo")
        when = time.time() - hours * 3600
        os.utime(path, (when, when))
    store = FilesystemStore(root, durable=False)
    assert await list_keys(store) == ["a"]
    assert old.exists(), "reading changes nothing"
    await store.put("b", b"")
    assert temporaries(root) == [young]
    assert await list_keys(store) == ["a", "b"]


# Versions


async def test_no_version_comes_back_under_rapid_overwrites_of_one_size(store: Store) -> None:
    versions = [await store.put("a", b"%04d" % number) for number in range(500)]
    assert len(set(versions)) == 500


@pytest.mark.parametrize("step", [0, -1, 1])
async def test_no_version_comes_back_where_the_clock_stands_still_or_goes_back(
    store: Store, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_700_000_000_000_000_000

    def clock() -> int:
        nonlocal now
        now += step
        return now

    monkeypatch.setattr(time, "time_ns", clock)
    versions = [await store.put("a", b"x") for _ in range(50)]
    assert len(set(versions)) == 50
    with pytest.raises(Conflict):
        await store.put("a", b"late", when=versions[0])


async def test_no_version_comes_back_where_the_disk_counts_in_seconds(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.utime

    def coarse(fd: int, *, ns: tuple[int, int]) -> None:
        second = ns[1] // 2_000_000_000 * 2_000_000_000
        real(fd, ns=(second, second))

    monkeypatch.setattr(os, "utime", coarse)
    versions = [await store.put("a", b"x") for _ in range(50)]
    assert len(set(versions)) == 50


@pytest.mark.parametrize(("nanoseconds", "year"), [(-(10**20), 1), (10**21, 9999), (0, 1970)])
def test_a_file_with_a_date_that_python_cannot_hold_is_an_object_all_the_same(nanoseconds: int, year: int) -> None:
    status = SimpleNamespace(st_mtime_ns=nanoseconds, st_size=1, st_ino=1)
    assert describe("a", cast("os.stat_result", status)).modified.year == year


async def test_a_large_file_stays_readable_while_it_is_replaced_and_deleted(store: Store) -> None:
    old = os.urandom(LARGE)
    version = await store.put("a", old)
    first, second, whole = await store.get("a"), await store.get("a", start=5, stop=LARGE - 5), await store.get("a")
    chunks = first.chunks()
    pieces = [await anext(chunks)]
    await store.put("a", os.urandom(LARGE))
    pieces += [piece async for piece in chunks]
    assert b"".join(pieces) == old
    await store.delete("a")
    assert await second.bytes() == old[5 : LARGE - 5]
    assert await whole.bytes() == old
    assert first.version == second.version == version


async def test_a_file_that_somebody_shortens_while_it_is_read_is_a_conflict(store: Store, root: Path) -> None:
    await store.put("a", b"x" * LARGE)
    fetched = await store.get("a")
    os.truncate(root / "a", CHUNK)
    with pytest.raises(Conflict):
        await fetched.bytes()


# Descriptors


@linux_only
async def test_no_descriptor_is_left_open(store: Store) -> None:
    def opened() -> int:
        gc.collect()
        return len([*Path("/proc/self/fd").iterdir()])

    await store.put("a/large", b"x" * LARGE)
    for number in range(1001):
        await store.put(f"many/{number:04}", b"")
    before = opened()
    for _ in range(20):
        await read(store, "a/large")
        await store.get("a/large")  # never read
        async for _ in (await store.get("a/large")).chunks():
            break
        async for _ in store.list():
            break
        task = asyncio.create_task(read(store, "a/large"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        for key in ("a", "missing", "a/large/b", "missing/b"):
            with pytest.raises(NotFound):
                await store.get(key)
        with pytest.raises(Unsupported):
            await store.put("a/large/b", b"")
        with pytest.raises(Conflict):
            await store.put("a/large", b"", when=ABSENT)
        await store.delete("a/large/b")
    for _ in range(50):
        await asyncio.sleep(0)  # what was abandoned is closed by the loop
    await asyncio.to_thread(gc.collect)
    assert opened() <= before + 2, "a descriptor or two may still be on their way"


# Several threads and processes


async def test_a_folder_that_is_pruned_meanwhile_fails_no_put(root: Path) -> None:
    store, other = FilesystemStore(root, durable=False), FilesystemStore(root, durable=False)

    async def churn(own: Store, name: str) -> None:
        for number in range(150):
            key = f"deep/er/folder/{name}"
            await own.put(key, str(number).encode(), when=ABSENT)
            assert await read(own, key) == str(number).encode()
            await own.delete(key)

    await asyncio.gather(*(churn(own, f"{name}{id(own)}") for name in "abcd" for own in (store, other)))
    assert os.listdir(root) == ["_control"], "empty folders go"  # noqa: PTH208 - not blocking for long
    assert temporaries(root) == []


@pytest.mark.parametrize("call", ["mkdir", "rename", "link"])
async def test_a_folder_that_is_pruned_at_the_worst_moment_is_made_again(
    store: Store, root: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = getattr(os, call)
    pruned: list[str] = []

    def pruning(*arguments: Any, **options: Any) -> None:  # noqa: ANN401 - as they come
        worst = arguments[0] == "er" if call == "mkdir" else arguments[1] == "a"
        if worst and not pruned:
            if call == "mkdir":
                real(*arguments, **options)
            pruned.append("deep/er")
            (root / "deep" / "er").rmdir()
            (root / "deep").rmdir()
            if call == "mkdir":
                return
        real(*arguments, **options)

    monkeypatch.setattr(os, call, pruning)
    await store.put("deep/er/a", b"content", when=ABSENT if call == "link" else ANY)
    assert pruned
    assert await read(store, "deep/er/a") == b"content"


async def test_a_folder_that_goes_while_it_is_listed_ends_no_listing(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("a/1", "b/1", "c/1"):
        await store.put(key, b"")
    real = os.scandir

    def scandir(fd: int) -> object:
        if descriptor(fd) == str(root / "b"):
            (root / "b" / "1").unlink()
            (root / "b").rmdir()
        return real(fd)

    monkeypatch.setattr(os, "scandir", scandir)
    assert await list_keys(store) == ["a/1", "c/1"]


async def test_delete_prunes_up_to_what_is_still_needed(store: Store, root: Path) -> None:
    def folders() -> set[str]:
        return {path.name for path in (*root.iterdir(), *root.glob("a/*")) if path.name != "_control"}

    for key in ("a/b/c/d", "a/e"):
        await store.put(key, b"")
    assert folders() == {"a", "b", "e"}
    await store.delete("a/b/c/d")
    assert folders() == {"a", "e"}
    await store.delete("a/e")
    assert folders() == set()


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    """Run a script in a process of its own, with `store`, `read` and `main` to define."""
    text = (
        "import asyncio, sys, os\n"
        "from pathlib import Path\n"
        "from bayou.errors import Conflict\n"
        "from bayou.storage import ABSENT, FilesystemStore\n"
        "from bayou.testing.contract.expect import read\n"
        "store = FilesystemStore(Path(sys.argv[1]), durable=False)\n"
        f"async def main():\n{script}\n"
        "asyncio.run(main())"
    )
    return subprocess.Popen(  # noqa: S603 - the script above
        [sys.executable, "-c", text, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def together(script: str, root: Path, count: int) -> list[str]:
    """Let several processes run a script at the same moment, and give what each one printed."""
    processes = [start(f"    print('ready', flush=True); input()\n{script}", root, number) for number in range(count)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * count
    return outputs


async def test_of_processes_that_create_one_wins(root: Path, store: Store) -> None:
    script = """
    for number in range(100):
        try:
            await store.put(f"race/{number}", sys.argv[2].encode(), when=ABSENT)
            print(number)
        except Conflict:
            pass
"""
    outputs = await asyncio.to_thread(together, script, root, 4)
    won = [(int(line), process) for process, output in enumerate(outputs) for line in output.split()]
    assert sorted(number for number, _ in won) == list(range(100))
    for number, process in won:
        assert await read(store, f"race/{number}") == str(process).encode()


async def test_processes_lose_no_increment(root: Path, store: Store) -> None:
    await store.put("counter", b"0")
    script = """
    for _ in range(100):
        while True:
            fetched = await store.get("counter")
            try:
                await store.put("counter", str(int(await fetched.bytes()) + 1).encode(), when=fetched.version)
                break
            except Conflict:
                pass
"""
    await asyncio.to_thread(together, script, root, 3)
    assert await read(store, "counter") == b"300"


async def test_a_killed_writer_leaves_whole_objects_only(root: Path, store: Store) -> None:
    script = """
    number = 0
    while True:
        letter = str(number % 10).encode()
        await asyncio.gather(
            store.put("one", letter * 300_000),
            store.put(f"new/{sys.argv[2]}-{number}", letter * 300_000, when=ABSENT),
        )
        number += 1
        print(number, flush=True)
"""
    for turn in range(4):
        process = start(script, root, turn)
        assert process.stdout is not None
        for _ in range(3 + turn):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.communicate()
        for key in await list_keys(store):
            content = await read(store, key)
            assert len(content) == 300_000
            assert len(set(content)) == 1
        await store.put("one", b"1" * 300_000)  # the dead hold no lock
    assert len(await list_keys(store)) >= 4 * 3
