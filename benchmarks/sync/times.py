"""Times beside programs that copy folders to S3 as fast as anybody: the same server, the same run, whole processes.

Each of them starts, does its work with as many requests at a time as ours, and ends. In each round they take turns in a
random order, so that a busy machine slows all of them.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import obstore
from benchmarks.sync import trees
from obstore.store import S3Store

from bayou.errors import Unsupported
from bayou.sync.journal import Journal
from bayou.testing.copiers import COPIERS, Copier
from bayou.testing.servers import Server
from bayou.tree import Tree

UP, DOWN = 25, 50
"""How many requests at a time: what `pushConcurrency` and `pullConcurrency` are where nobody sets them."""

OURS = "bayou"

Work = Callable[[], dict[str, Any] | None]
Prepare = Callable[[str, int], Work]
Check = Callable[[str, int], None]


class Timed(NamedTuple):
    work: str
    seconds: Mapping[str, Sequence[float]]
    """By program, one for each round: of whole processes."""
    inside: Sequence[float]
    """Of ours, without what it takes to start Python and to import."""


def missing() -> dict[str, str]:
    """Which of the others cannot be had here, and what would help."""
    found = {}
    for copier in COPIERS:
        try:
            copier.find()
        except Unsupported as error:
            found[copier.name] = error.remedy
    return found


def one_sync(server: Server, bucket: str, cache: Path, work: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    settings = server.settings
    wanted = {"work": work, "cache": str(cache), "bucket": bucket, "region": settings["region"], **more}
    keys = {"AWS_ACCESS_KEY_ID": settings["access_key_id"], "AWS_SECRET_ACCESS_KEY": settings["secret_access_key"]}
    done = subprocess.run(  # noqa: S603 - ourselves
        [sys.executable, "-m", "benchmarks.sync.one", json.dumps(wanted | {"endpoint": server.endpoint})],
        env=os.environ | keys,
        stdout=subprocess.PIPE,
        check=True,
    )
    result: dict[str, Any] = json.loads(done.stdout)
    if result["failed"]:
        raise AssertionError(f"{work}: {result}")
    return result


class Field:
    """A bucket and a folder for each program, with the same files in all. Ours is a cache.

    `shared`: ours are everybody's, as it takes minutes to fill more of them. Each changes a file of its own.
    """

    def __init__(self, server: Server, root: Path, files: int, *, shared: bool = False) -> None:
        self.server = server
        self.root = root
        self.files = files
        found = [copier for copier in COPIERS if copier.name not in missing()]
        self.copiers: dict[str, Copier] = {copier.name: copier(server, UP, DOWN) for copier in found}
        self.names = [OURS, *self.copiers]
        self.buckets: dict[str, str] = {}
        self.shared = shared
        trees.plant(root / "source", files)
        if shared:
            self.cold_push(OURS, 0)()
            self.buckets = dict.fromkeys(self.names, self.buckets[OURS])

    def here(self, name: str) -> Path:
        return self.root / (OURS if self.shared else name)

    def page(self, name: str) -> str:
        return trees.page(self.names.index(name), 0)

    def there(self, name: str) -> str:
        return f"{self.buckets[name]}/data"

    def sync(self, work: str, cache: Path, **more: Any) -> Work:  # noqa: ANN401 - JSON
        width = UP if work == "push" else DOWN
        return lambda: one_sync(self.server, self.buckets[OURS], cache, work, width=width, **more)

    # Works: each prepares what it needs, and gives what is timed.

    def cold_push(self, name: str, _: int) -> Work:
        self.buckets[name] = self._new_bucket()
        shutil.rmtree(self.here(name), ignore_errors=True)
        trees.link(self.root / "source", self.here(name))
        if name == OURS:
            return self.sync("push", self.here(name))
        return lambda: self.copiers[name].copy_up(self.here(name) / "data", self.there(name))

    def cold_pull(self, name: str, _: int) -> Work:
        target = self.root / f"pulled-{name}"
        shutil.rmtree(target, ignore_errors=True)
        if name == OURS:
            return self.sync("pull", target)
        return lambda: self.copiers[name].copy_down(self.there(name), target / "data")

    def nothing_changed(self, name: str, _: int) -> Work:
        if name == OURS:
            return self.nothing_to_do
        return lambda: self.copiers[name].sync_up(self.here(name) / "data", self.there(name))

    def nothing_to_do(self) -> dict[str, Any]:
        done = self.sync("sync", self.here(OURS))()
        assert done is not None
        require(done["pushed"] == done["pulled"] == 0, f"there was something to do: {done}")
        require(done["requests"] <= 2, f"it took {done['requests']} requests to find nothing to do")
        return done

    def one_changed(self, name: str, number: int) -> Work:
        """We are told, as whoever writes to the cache says so; the others have to see."""
        place, path, body = self.here(name), self.page(name), _body(name, number)
        if name == OURS:
            with Journal(place) as journal, Tree(place, place, durable=False, marks=journal).change(path) as change:
                change.replace(path, body)
            return self.sync("push", place)
        (place / path).unlink()  # the others have links to it
        (place / path).write_bytes(body)
        return self.nothing_changed(name, number)

    def one_model(self, name: str, number: int) -> Work:
        target, folder = self.root / f"scoped-{name}-{number}", trees.folder(1)
        if name == OURS:
            return self.sync("pull", target, models=[trees.model_id(1)])
        return lambda: self.copiers[name].copy_down(f"{self.buckets[name]}/{folder}", target / folder)

    # What has to be so afterwards.

    def all_is_there(self, name: str, _: int) -> None:
        arrived = sum(len(page) for page in obstore.list(self._store(self.buckets[name]), "data"))
        require(arrived == self.files, f"{name} pushed {arrived} files of {self.files}")

    def all_is_here(self, name: str, _: int) -> None:
        trees.require_equal(self.root / "source", self.root / f"pulled-{name}")

    def it_is_there(self, name: str, number: int) -> None:
        found = bytes(obstore.get(self._store(self.buckets[name]), self.page(name)).bytes())
        require(found == _body(name, number), f"{name} did not push what was changed")

    def the_model_is_here(self, name: str, number: int) -> None:
        folder = self.root / f"scoped-{name}-{number}" / trees.folder(1)
        found = sum(file.name in {"raw", "metadata.yaml", "latest"} for file in folder.rglob("*"))
        wanted = self.files // trees.MODELS * (trees.BLOCK - 1) // trees.BLOCK
        require(found == wanted, f"{name} pulled {found} files of the model, not {wanted}")

    def nothing(self, name: str, number: int) -> None:
        pass

    def _new_bucket(self) -> str:
        """A bucket in which something was written before: the first object of all takes longest."""
        bucket = self.server.new_bucket()
        store = self._store(bucket)
        obstore.put(store, "first", b"not empty: an empty one needs no place on any disk")
        obstore.delete(store, "first")
        return bucket

    def _store(self, bucket: str) -> S3Store:
        return S3Store(bucket, client_options={"allow_http": True}, **self.server.settings)  # type: ignore[arg-type]


def measure(field: Field, *, cold: int, warm: int) -> Iterator[Timed]:
    """All works, those that begin with nothing `cold` times."""
    yield from _rounds(field, cold, "cold push", field.cold_push, field.all_is_there)
    yield from _rounds(field, cold, "cold pull", field.cold_pull, field.all_is_here)
    yield from _rounds(field, warm, "nothing changed", field.nothing_changed, field.nothing)
    yield from _rounds(field, warm, "push, 1 changed", field.one_changed, field.it_is_there)
    yield from _rounds(field, warm, "pull 1 model of 50", field.one_model, field.the_model_is_here)


def _rounds(
    field: Field, count: int, work: str, prepare: Prepare, check: Callable[[str, int], None]
) -> Iterator[Timed]:
    seconds: dict[str, list[float]] = {name: [] for name in field.names}
    inside = []
    for number in range(count):
        for name in random.sample(field.names, len(field.names)):
            do = prepare(name, number)
            began = time.perf_counter()
            done = do()
            seconds[name].append(time.perf_counter() - began)
            if done is not None:
                inside.append(done["seconds"])
            check(name, number)
    if count:
        yield Timed(work, seconds, inside)


def require(condition: object, otherwise: str) -> None:
    if not condition:
        raise AssertionError(otherwise)


def _body(name: str, number: int) -> bytes:
    return trees.content(f"{number} of {name}")
