"""Jobs on a real cluster and a real S3 server: with a worker killed in the middle they find the same."""

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from bayou.config import urls
from bayou.remotes import Changeset
from bayou.remotes.objects import each
from bayou.storage import connect
from bayou.testing.lakes import lake, model, version
from bayou.testing.machines import Machine, change
from bayou.testing.servers import SERVERS, Server
from bayou.testing.sparkcluster import spark_cluster

pytestmark = pytest.mark.cluster

# 90 % of all in one model, and of the rest some that retention lets go.
FILES = lake(models=40, names=2, versions=2)
for number in range(1, 800):
    FILES |= version(model(1), f"much-{number}", 1, {"n": number})
for number in range(1, 20):
    FILES |= version(model(number), "old", 1, {"n": number}) | version(model(number), "old", 2, {"n": -number}, keep=1)


@pytest.fixture(scope="module")
def s3() -> Iterator[Server]:
    with SERVERS["ministack"]() as server:
        yield server


@pytest.fixture(autouse=True)
def _signed_in(s3: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in credentials(s3).items():
        monkeypatch.setenv(name, value)


async def fresh(server: Server, job: str) -> str:
    """The URL of a bucket with all of it, some of it damaged; for `index` with nothing that lists it."""
    settings = server.settings
    place = f"{server.new_bucket()}/lake?endpoint={server.endpoint}&path_style=true&region={settings['region']}"
    async with connect(urls.parse(f"s3://{place}")) as store:
        await each(50, FILES.items(), lambda item: store.put(*item))
        if job != "index":
            machine = Machine(store)
            await machine.commit(Changeset("", (change({}, FILES),)))
            await machine.remote.migrate(lambda: True)
        await store.put("data/aws/vpc/id-3/state-0/1/raw", b"rotten")
        await store.delete("data/aws/vpc/id-4/state-0/1/raw")
    return f"s3://{place}"


async def left(url: str) -> tuple[set[str], dict[str, str | None]]:
    """What lies in the bucket, and what its index lists."""
    async with connect(urls.parse(url)) as store:
        keys = {meta.key for page in [page async for page in store.list()] for meta in page}
        return keys, await Machine(store).view()


def credentials(server: Server) -> dict[str, str]:
    settings = server.settings
    return {"AWS_ACCESS_KEY_ID": settings["access_key_id"], "AWS_SECRET_ACCESS_KEY": settings["secret_access_key"]}


def run(job: Sequence[str], master: str, *, disturb: Any = None, after: str = "") -> dict[str, Any]:  # noqa: ANN401 - a function
    """The report of a job; `disturb` is called a second after it says this."""
    told = ["--master", master, "--json", "--conf", "spark.ui.enabled=false"]
    told += ["--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1"]
    told += ["--conf", "spark.executor.memory=512m"]
    command = [str(Path(sys.executable).with_name("bayou")), "pipeline", "run", *job, *told]
    said: list[str] = []

    def listen(lines: IO[str]) -> None:
        for line in lines:
            said.append(line)
            if disturb is not None and after in line:
                time.sleep(1)
                disturb()

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 - ours
        assert process.stdout is not None
        assert process.stderr is not None
        listener = threading.Thread(target=listen, args=(process.stderr,))
        listener.start()
        output = process.stdout.read()
        listener.join()
    assert process.returncode in (0, 4), "".join(said)
    found: dict[str, Any] = json.loads(output)
    return {name: value for name, value in found.items() if name not in ("metrics", "url", "to", "versionsRead")}


@pytest.mark.parametrize(
    ("job", "step"),
    [
        ("scrub", "reading every object"),
        ("stats", "reading the index"),
        ("index", "hashing"),
        ("catalog", "reading metadata"),
        ("gc", "deciding what may go"),
        ("compact", "packing"),
    ],
)
def test_a_job_outlives_a_worker(s3: Server, job: str, step: str) -> None:
    one, other = (asyncio.run(fresh(s3, job)) for _ in range(2))
    with spark_cluster(environment=credentials(s3)) as cluster:
        undisturbed = run((job, "--url", one), cluster.master)
        killed = threading.Event()

        def kill() -> None:
            cluster.kill_worker()
            killed.set()

        assert run((job, "--url", other), cluster.master, disturb=kill, after=step) == undisturbed
        assert killed.is_set()
    assert asyncio.run(left(other)) == asyncio.run(left(one))


def test_a_migration_outlives_a_worker(s3: Server) -> None:
    url = asyncio.run(fresh(s3, "migrate"))

    async def view(place: str) -> dict[str, Any]:
        async with connect(urls.parse(place)) as store:
            return {path: content for path, content in (await Machine(store).view()).items() if content}

    with spark_cluster(environment=credentials(s3)) as cluster:
        one, two = (f"s3://{s3.new_bucket()}/new?{url.partition('?')[2]}" for _ in range(2))
        undisturbed = run(("migrate", "--from", url, "--to", one), cluster.master)
        assert (undisturbed["damaged"], undisturbed["left"]) == (2, 0)
        killed = threading.Event()

        def kill() -> None:
            cluster.kill_worker()
            killed.set()

        command = ("migrate", "--from", url, "--to", two)
        assert run(command, cluster.master, disturb=kill, after="carrying") == undisturbed
        assert killed.is_set()
        assert asyncio.run(view(one)) == asyncio.run(view(two))
        assert run(command, cluster.master)["copied"] == 0
