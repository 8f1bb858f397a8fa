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
    found: dict[str, Any] = json.loads(
        listened([str(Path(sys.executable).with_name("bayou")), "pipeline", "run", *job, *told], disturb, after)
    )
    return {name: value for name, value in found.items() if name not in ("metrics", "url", "to", "versionsRead")}


def listened(command: Sequence[str], disturb: Any, after: str) -> str:  # noqa: ANN401 - a function
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
    return output


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


# Slow enough that a worker is lost in the middle.
WRITE = """
import sys, time
from bayou.pipelines import session
from pyspark.sql import functions as F
url, master = sys.argv[1:]
local = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.executor.memory": "512m"}
spark = session(master, settings={"spark.ui.enabled": "false", "spark.speculation": "true", **local})
slowly = F.udf(lambda n: time.sleep(0.05) or f"{n} " * 20_000, "string")
frame = spark.range(400, numPartitions=8).select(
    F.lit("aws/vpc").alias("type"), F.lit("written").alias("model_name"),
    F.concat(F.lit("n"), F.col("id") % 100).alias("name"), slowly("id").alias("content"),
)
print("writing", file=sys.stderr, flush=True)
frame.write.format("bayou").mode("append").option("url", url).save()
print("done")
"""


def test_a_write_outlives_a_worker(s3: Server) -> None:
    url = asyncio.run(fresh(s3, "write"))
    killed = threading.Event()
    with spark_cluster(environment=credentials(s3)) as cluster:

        async def put_aside() -> bool:
            async with connect(urls.parse(url)) as store:
                pages = [page async for page in store.list("_control/bayou/writes")]
                return any(meta.key.endswith(".rows") for page in pages for meta in page)

        def kill() -> None:
            while not asyncio.run(put_aside()):
                time.sleep(0.5)  # until a task is done, and others are at it
            cluster.kill_worker()
            killed.set()

        assert "done" in listened([sys.executable, "-c", WRITE, url, cluster.master], kill, "writing")
        assert killed.is_set()

    async def written() -> tuple[dict[str, bytes], list[str], int]:
        async with connect(urls.parse(url)) as store:
            listed = (await Machine(store).remote.load()).contents()
            paths = [path for path in listed if "/n" in path and path.endswith("/raw") and "state" not in path]
            raws = [await (await store.get(path)).bytes() for path in paths if "/much-" not in path]
            left = [meta.key async for page in store.list("_control/bayou/writes") for meta in page]
            lying = [meta.key async for page in store.list("data/aws/vpc") for meta in page]
            mine = {path.split("/")[3] for path in paths}
            lost = [key for key in lying if key.split("/")[3] in mine and key not in listed]
            records = sum(path.startswith("outputs/bayou/write/") for path in listed)
            return dict(zip(paths, raws, strict=True)), [*left, *lost], records

    raws, left, records = asyncio.run(written())
    assert (left, records) == ([], 1)
    assert sorted(raw.split(b" ")[0] for raw in raws.values()) == sorted(str(n).encode() for n in range(400))
    assert sorted(path.split("/", 4)[4] for path in raws) == sorted(
        f"n{n}/{number}/raw" for n in range(100) for number in range(1, 5)
    )
