"""`migrate` on Spark: what a dry run says, what arrives, what does not, and that a second run finds nothing to do."""

import asyncio
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from bayou.pipelines.jobs import migrate
from bayou.pipelines.jobs.context import Context
from bayou.pipelines.reach import Reach
from bayou.remotes import Format
from bayou.remotes.namespaces import register
from bayou.storage.filesystem import FilesystemStore
from bayou.testing.lakes import fill, lake

FILES = lake(models=3)
SPOILT = "data/aws/vpc/id-1/state-0/1"


def files_in(folder: Path) -> dict[str, bytes]:
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {key: path.read_bytes() for key, path in found.items() if "_control/" not in key and "_index" not in key}


def test_both_namespaces_of_a_place_arrive_but_for_what_is_damaged(spark: SparkSession, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()

    async def work() -> None:
        async with FilesystemStore(here) as store:
            await fill(store, FILES, Format.SHARDED)
            await register(store, "infra", "repo", 0)
            await fill(store, {"logs/one": b"1"}, namespace="infra")

    asyncio.run(work())
    (here / SPOILT / "raw").write_bytes((here / SPOILT / "raw").read_bytes()[::-1])

    def run(**more: Any) -> dict[str, Any]:  # noqa: ANN401 - passed on
        reach = Reach(str(here), ("", "infra"))
        context = Context(spark, reach, more.pop("dry_run", False), say=lambda _: None)
        return migrate.run(context, Reach(str(there)), **more).to_dict()

    planned = run(dry_run=True)
    assert (planned["toCopy"], planned["done"]) == (len(FILES) + 1, 0)
    assert files_in(there) == {}
    done = run(content=True)
    assert (done["copied"], done["damaged"], done["left"]) == (len(FILES), 1, 0)
    (trouble,) = done["listings"][0]["rows"]
    assert (trouble["path"], trouble["why"]) == (f"{SPOILT}/raw", "corrupt")
    arrived = files_in(there)
    assert {path: body for path, body in arrived.items() if path in FILES} == {
        path: body for path, body in FILES.items() if path != f"{SPOILT}/raw"
    }
    assert arrived["infra/logs/one"] == b"1"
    (here / SPOILT / "raw").write_bytes(FILES[f"{SPOILT}/raw"])
    again = run()
    assert (again["copied"], again["damaged"], again["verified"]) == (1, 0, len(FILES) + 1)
