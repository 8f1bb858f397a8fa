"""How fast the catalog is built, against reading the metadata with PyYAML, and how fast a large one answers.

    python benchmarks/catalog.py [--versions N] [--rows N] [--rounds N] [--only rebuild|questions]…

`rebuild`: so many versions on disk, 5 for each name. Each round builds a catalog from nothing, reads everything again
into the one that is there, and reads and parses all `metadata.yaml` one after the other with `yaml.CSafeLoader`, which
does less: it looks at no content and stores nothing. Besides the clock it counts the processor's time, that of the
workers included and that of the parent alone: on a busy machine, and for more processors than it has, those say more.
`questions`: a catalog with so many rows, filled directly.
"""

import argparse
import os
import random
import resource
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import yaml

from bayou.catalog import Catalog
from bayou.catalog.schema import count_what_is_rare, drop_indexes, make_indexes
from bayou.domain.artifacts import Artifact, ArtifactKey, Owner, OwnerType
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.layout.artifacts import name_folder
from bayou.tree import Tree
from bayou.wire import metadata

OF_A_NAME = 5
NAMES_OF_A_MODEL = 20
TYPE = "aws/ec2/vpc"


def artifact_of(number: int, model: int, name: str, version: int, size: int) -> Artifact:
    model_id = str(uuid.UUID(int=model))
    return Artifact(
        id=str(uuid.uuid5(uuid.NAMESPACE_OID, str(number))),
        name=name,
        version=version,
        content_type="application/json",
        lifetime="infinite",
        garbage_collection=10,
        tags={
            "type": "resource",
            "specName": "vpc",
            "modelName": f"model-{model}",
            "workflow": "nightly",
            "env": "dev",
        },
        owner=Owner(
            owner_type=OwnerType.MODEL_METHOD,
            owner_ref=model_id,
            workflow_run_id=str(uuid.UUID(int=number // 50)),
            workflow_name="nightly",
            job_name="main",
            step_name="collect",
            source="step-output",
        ),
        created_at="2026-04-02T09:15:00.125Z",
        size=size,
        checksum="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    )


def write_versions(root: Path, count: int) -> None:
    for number in range(count):
        name_number, version = divmod(number, OF_A_NAME)
        model, name = divmod(name_number, NAMES_OF_A_MODEL)
        folder = root / "data" / TYPE / str(uuid.UUID(int=model)) / f"state-{name}" / str(version + 1)
        folder.mkdir(parents=True)
        content = b'{"VpcId":"vpc-%d","status":"ok","cidr":"10.0.0.0/16","count":%d,"tags":{"a":1}}' % (number, number)
        (folder / "raw").write_bytes(content)
        artifact = artifact_of(number, model, f"state-{name}", version + 1, len(content))
        (folder / "metadata.yaml").write_bytes(metadata.encode(artifact))
        (folder.parent / "latest").write_text(str(version + 1))


def read_with_pyyaml(root: Path) -> None:
    for folder, _, names in os.walk(root / "data"):
        if "metadata.yaml" in names:
            with open(f"{folder}/metadata.yaml", "rb") as file:  # noqa: PTH123 - nothing but the reading is to be measured
                yaml.load(file, yaml.CSafeLoader)


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


class Cost(NamedTuple):
    """Seconds by the clock, of the processor's time with that of all workers, and of this process alone."""

    clock: float
    cpu: float
    parent: float


def cost(work: Callable[[], object]) -> Cost:
    clock, parent, workers = time.perf_counter(), time.process_time(), children()
    work()
    parent = time.process_time() - parent
    return Cost(time.perf_counter() - clock, parent + children() - workers, parent)


def children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def race_rebuild(count: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / ".swamp"
        write_versions(root, count)
        tree = Tree(root, root, durable=False)
        read_with_pyyaml(root)  # so that nobody is the first to read the disk
        taken: dict[str, list[Cost]] = {"PyYAML": [], "build": [], "rebuild": [], "sweep, nothing new": []}
        for number in range(rounds):
            with Catalog.open(Path(folder) / f"{number}.db", tree) as catalog:
                taken["PyYAML"].append(cost(lambda: read_with_pyyaml(root)))
                taken["build"].append(cost(catalog.sweep))
                taken["rebuild"].append(cost(catalog.rebuild))
                catalog.sweep()
                taken["sweep, nothing new"].append(cost(catalog.sweep))
                assert catalog.count() == count
        load = " ".join(f"{one:.0f}" for one in os.getloadavg())
        print(f"\n{count} versions, {rounds} rounds, {len(os.sched_getaffinity(0))} processors, load {load}; medians")
        print("seconds, and how many times in those of PyYAML, round by round")
        print(f"{'':20}{'clock':>10}{'':22}{'cpu':>8}{'':22}{'parent':>8}")
        for name, costs in taken.items():
            told = f"{name:20}"
            for of in range(3):
                theirs = [one.cpu if of else one.clock for one in taken["PyYAML"]]
                ratios = [one / ours[of] for one, ours in zip(theirs, costs, strict=True)]
                spread = f"({statistics.median(ratios):.1f}x {min(ratios):.1f}..{max(ratios):.1f})"
                told += f"{statistics.median(one[of] for one in costs):>10.2f} {spread:20}"
            print(told)


# Of 100 names one is `env = prod`; sizes go from 0 to 999.
_FILL = """
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :count)
INSERT INTO artifact SELECT
  i + 1, i / 5 + 1, i % 5 = 4, i % 5 + 1, '', :type, printf('%08x-0000-4000-8000-000000000000', i / 100),
  'state-' || (i / 5 % 20), printf('%08x-1111-4000-8000-000000000000', i), 'model-' || (i / 100), 'vpc', 'resource',
  'application/json', 'infinite', 10, 'model-method', 'x', '', '', printf('%08x-2222-4000-8000-000000000000', i / 50),
  'nightly', 'main', 'collect', 'step-output', 0, abs(random()) % 1000, 1,
  '2026-04-02T09:15:00.125Z', 1775121300125 + i,
  '{"type":"resource","env":"dev"}', '', 'active', '', 1, 1, i FROM n
"""
_FILL_NAMES = """
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :count / 5)
INSERT INTO name SELECT
  i + 1, '', :type, printf('%08x-0000-4000-8000-000000000000', i / 20), 'state-' || (i % 20), 0, 1, 5, 5, 15, 1 FROM n
"""
_QUESTION = (
    "is_latest = 1 AND lifecycle = 'active' AND "
    "EXISTS (SELECT 1 FROM tag WHERE tag.artifact = artifact.row AND key = ? AND value = ?) AND size > ?"
)


def fill(catalog: Catalog, count: int) -> None:
    values = {"count": count, "type": TYPE}
    with catalog._database.writing() as connection:  # noqa: SLF001 - nobody else fills tables without files
        drop_indexes(connection)
        connection.execute(_FILL, values)
        connection.execute(_FILL_NAMES, values)
        connection.execute("INSERT INTO tag SELECT row, 'type', 'resource' FROM artifact")
        connection.execute("INSERT INTO tag SELECT row, 'env', iif(name_row % 100 = 0, 'prod', 'dev') FROM artifact")
        connection.execute("INSERT INTO tag SELECT row, 'modelName', model_name FROM artifact")
        connection.execute("INSERT INTO attribute SELECT row, 'VpcId', 'string', 'vpc-' || row FROM artifact")
        connection.execute("INSERT INTO attribute SELECT row, 'count', 'int', row FROM artifact")
        make_indexes(connection)
        count_what_is_rare(connection)


def milliseconds(work: Callable[[], object], rounds: int) -> str:
    taken = sorted(seconds(work) * 1000 for _ in range(rounds))
    return f"{statistics.median(taken):>10.3f} ms{taken[0]:>10.3f}-{taken[int(len(taken) * 0.99)]:.3f}"


def race_questions(count: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / ".swamp"
        tree = Tree(root, root, durable=False)
        with Catalog.open(Path(folder) / "catalog.db", tree) as catalog:
            took = seconds(lambda: fill(catalog, count))
            size = catalog._database.path.stat().st_size  # noqa: SLF001 - to show it
            print(f"\n{count} rows, filled in {took:.0f} s, {size / 1e6:.0f} MB; medians, least and 99 %")
            keys = []
            for model in random.sample(range(count // 100), 100):
                key = ArtifactKey(Model(ModelType(TYPE), f"{model:08x}-0000-4000-8000-000000000000"), "state-7")
                place = root / name_folder(key.model, key.name)
                place.mkdir(parents=True)
                with catalog._database.writing() as connection:  # noqa: SLF001 - as above
                    connection.execute(
                        "UPDATE name SET changed_ns = ? WHERE namespace = '' AND (type, model_id, name) = (?, ?, ?)",
                        (place.stat().st_mtime_ns, TYPE, key.model.id, key.name),
                    )
                keys.append((f"model-{model}", key.name))
            choices = iter(random.choices(keys, k=rounds * 100))  # noqa: S311 - no secret
            hits = len(catalog.latest("", *keys[0]))
            verified = milliseconds(lambda: catalog.latest("", *next(choices)), rounds * 50)
            print(f"{'latest, verified':28}{verified}   {hits} hit")
            for name, value, least in (("tag and size", "prod", 949), ("tag of nearly all, rare size", "dev", 998)):
                hits = len(list(catalog.rows(_QUESTION, ("env", value, least))))
                asked = lambda value=value, least=least: list(catalog.rows(_QUESTION, ("env", value, least)))  # noqa: E731
                print(f"{name:28}{milliseconds(asked, rounds)}   {hits} hits")
            plan_of = f"EXPLAIN QUERY PLAN SELECT * FROM artifact WHERE {_QUESTION}"  # noqa: S608 - our own
            plan = catalog._stream(plan_of, ("env", "prod", 949))  # noqa: SLF001 - to show it
            print("  ", "; ".join(step[-1] for step in plan))
            print(f"{'tag keys':28}{milliseconds(catalog.tag_keys, rounds)}")
            of_model = milliseconds(lambda: list(catalog.rows("model_name = ?", ("model-5",))), rounds)
            print(f"{'100 rows of one model':28}{of_model}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Build a catalog, and ask a large one.")
    parser.add_argument("--versions", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", choices=["rebuild", "questions"])
    arguments = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # workers would compile all that they import, each time
    if "rebuild" in (arguments.only or ["rebuild"]):
        race_rebuild(arguments.versions, arguments.rounds)
    if "questions" in (arguments.only or ["questions"]):
        race_questions(arguments.rows, arguments.rounds)


if __name__ == "__main__":
    main()
