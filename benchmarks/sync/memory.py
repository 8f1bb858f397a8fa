"""How much memory a sync takes with a large index, and with a large file: peaks of processes that do one thing each."""

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import obstore
from benchmarks.sync import trees
from benchmarks.sync.times import one_sync
from obstore.store import S3Store

from bayou.domain.entries import Entry
from bayou.remotes import Format
from bayou.remotes.parts import part_name
from bayou.sync.journal import Journal, Side
from bayou.testing.computers import TYPE
from bayou.testing.servers import Server
from bayou.tree import Tree
from bayou.wire import meta
from bayou.wire.index import Index, encode_monolith, encode_shard
from bayou.wire.meta import Meta

MODELS = 1000
WHEN = "2026-11-02T08:15:30.120Z"


def lines(server: Server, _: int, *, quick: bool) -> Iterator[str]:
    yield "### Memory: the most that a process ever took, Python and all imports included, and its seconds"
    yield ""
    yield "| work | size | peak | seconds |"
    yield "|---|---:|---:|---:|"
    with tempfile.TemporaryDirectory(prefix="bayou-sync-") as folder:
        root = Path(folder)
        yield _line("start, no file at all", "", one_sync(server, server.new_bucket(), root / "empty", "pull"))
        for entries in [1_000, 100_000] if quick else [1_000, 100_000, 1_000_000]:
            for kind in Format.SHARDED, Format.DUAL:
                yield from _with_index(server, root / f"{kind.value}-{entries}", entries, kind)
        yield from _with_file(server, root, 0.5 if quick else 5)


def _with_index(server: Server, root: Path, entries: int, kind: Format) -> Iterator[str]:
    bucket, size = server.new_bucket(), f"{entries:,} entries, {kind.value}"
    fill(server, bucket, root / "known", entries, kind)
    yield _line("read the index", size, one_sync(server, bucket, root / "new", "load"))
    compared = one_sync(server, bucket, root / "known", "pull", lazy=True)
    yield _line("pull: compare all of it", size, compared)
    unchanged = one_sync(server, bucket, root / "known", "pull", lazy=True)
    if unchanged["requests"] > 2:  # of a dual index the meta is looked at as well, once a minute
        raise AssertionError(f"a pull with nothing to do: {unchanged}")
    yield _line("pull: nothing changed", size, unchanged)
    one_new(server, bucket, root / "known", "first")  # it writes whatever copies of the index were missing
    yield _line("push: 1 new file", size, one_new(server, bucket, root / "known", "second"))


def one_new(server: Server, bucket: str, cache: Path, name: str) -> dict[str, float]:
    path = f"logs/{name}"
    with Journal(cache) as journal, Tree(cache, cache, durable=False, marks=journal).change(path) as change:
        change.replace(path, name.encode())
    pushed = one_sync(server, bucket, cache, "push", lazy=True)
    if pushed["pushed"] != 1:
        raise AssertionError(f"a push of a new file: {pushed}")
    return pushed


def _with_file(server: Server, root: Path, gib: float) -> Iterator[str]:
    bucket, here, there = server.new_bucket(), root / "here", root / "there"
    large = here / "logs" / "large"
    large.parent.mkdir(parents=True)
    with large.open("wb") as file:
        file.truncate(int(gib * 2**30))
    yield _line("push a file", f"{gib} GiB", one_sync(server, bucket, here, "push"))
    yield _line("pull it", f"{gib} GiB", one_sync(server, bucket, there, "pull"))
    if (there / "logs" / "large").stat().st_size != large.stat().st_size:
        raise AssertionError("the file did not arrive whole")


def fill(server: Server, bucket: str, cache: Path, entries: int, kind: Format) -> None:
    """A bucket that lists so many files, and a lazy cache that knows them: of contents that nobody has to hold."""
    store = S3Store(bucket, client_options={"allow_http": True}, **server.settings)  # type: ignore[arg-type]
    listed: dict[str, Entry] = {}
    names = []
    for model in range(MODELS):
        folder = f"data/{TYPE}/{trees.model_id(model)}"
        paths = [f"{folder}/state-{number}/1/raw" for number in range(entries // MODELS)]
        hashes = [hashlib.sha256(path.encode()).hexdigest() for path in paths]
        shard = {path: Entry(path, trees.SIZE, WHEN, WHEN, sha) for path, sha in zip(paths, hashes, strict=True)}
        listed |= shard
        names.append(part_name(paths[0]))
        if kind is Format.SHARDED:
            obstore.put(store, f"_index/{names[-1]}.json", encode_shard(Index(shard)))
    if kind is Format.SHARDED:
        obstore.put(store, "_index/_meta.json", meta.encode(Meta(2, tuple(names), 1)))
    else:
        obstore.put(store, ".datastore-index.json", encode_monolith(Index(listed)))
    with Journal(cache) as journal:
        journal.bind(Side(""))
        journal.begin_base(WHEN)
        journal.base.know((path, entry.sha256 or "") for path, entry in listed.items())


def _line(work: str, size: str, done: dict[str, float]) -> str:
    return f"| {work} | {size} | {done['peak'] / 2**20:,.0f} MiB | {done['seconds']:.1f} |"
