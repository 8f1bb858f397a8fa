"""The class archive: Spark's classes as Java has prepared them once, so that a session starts sooner.

It is for one Java and one Spark, and lies in the user's cache. `bayou pipeline warm` makes it; a session without one
is only slower to start.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bayou.errors import Unavailable
from bayou.pipelines.java import Java

_AOT = 24
"""The first Java whose archive also holds what it compiled and linked."""

# What most jobs touch: SQL with a window, Parquet, Python workers, our own data source.
_EXERCISE = """
import sys, tempfile
from bayou.pipelines.sessions import session
from pyspark.sql import functions as F, Window
from bayou.storage.filesystem import FilesystemStore
with tempfile.TemporaryDirectory() as folder:
    spark = session("local[2]", archive=sys.argv[1])
    numbers = spark.range(20_000).withColumn("k", F.col("id") % 7)
    ranked = numbers.withColumn("n", F.row_number().over(Window.partitionBy("k").orderBy("id")))
    ranked.groupBy("k").agg(F.max("n"), F.approx_count_distinct("id")).collect()
    ranked.join(numbers.filter("k < 3"), "id", "left_anti").write.parquet(f"{folder}/out")
    spark.read.parquet(f"{folder}/out").toArrow()
    spark.read.format("bayou").option("url", folder).option("table", "objects").load().groupBy("kind").count().collect()
    spark.stop()
"""


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """What is ours in the user's cache."""
    base = environ.get("XDG_CACHE_HOME") or ""
    root = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    return root / "bayou" / "spark"


def archive_of(java: Java, spark_home: Path, spark_version: str, cache: Path) -> Path:
    """Where the archive for these is. The paths count: Java takes no archive of other jars."""
    key = hashlib.sha256(f"{java.home}\0{java.version}\0{spark_home}\0{spark_version}".encode()).hexdigest()[:16]
    return cache / f"classes-{key}.{'aot' if java.major >= _AOT else 'jsa'}"


def using(archive: Path) -> Sequence[str]:
    """Options of Java that take the archive where it fits, and say nothing where it does not."""
    if not archive.is_file():
        return ()
    if archive.suffix == ".aot":
        return (f"-XX:AOTCache={archive}", "-XX:AOTMode=auto", "-Xlog:aot=off", "-Xlog:cds=off")
    return (f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-Xlog:cds=off", "-Xlog:cds+dynamic=off")


def making(archive: Path) -> Sequence[str]:
    if archive.suffix == ".aot":
        return (f"-XX:AOTCacheOutput={archive}", "-Xlog:aot=off", "-Xlog:cds=off")
    return (f"-XX:ArchiveClassesAtExit={archive}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+load=off")


def make(archive: Path) -> None:
    """Run what most jobs do, and keep the classes. It takes a while."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    partial = archive.with_name(f"partial-{os.getpid()}-{archive.name}")
    command = [sys.executable, "-c", _EXERCISE, str(partial)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ourselves
        if done.returncode != 0 or not partial.is_file():
            last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise Unavailable(f"the class archive was not made: {last}", remedy="Sessions work without it.")
        partial.replace(archive)
    finally:
        partial.unlink(missing_ok=True)
