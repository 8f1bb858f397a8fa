"""Sessions: a SparkSession with settings that suit us, on this machine, on a cluster, or at a Connect server."""

import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bayou.errors import ErrorKind, Unsupported
from bayou.pipelines import archive as archives
from bayou.pipelines.java import Java, find_java
from bayou.pipelines.shipping import ship

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Without the second number a task that fails is not tried again.
LOCAL: Final = "local[*,4]"

_SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
_SETTINGS_HERE: Final[Mapping[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.shuffle.partitions": str(max(4, 2 * (os.cpu_count() or 2))),
}
_QUIET: Final = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"
_BRIEF: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def session(  # noqa: PLR0913 - where, and what differs from the usual
    master: str | None = None,
    *,
    remote: str | None = None,
    name: str = "bayou",
    brief: bool = False,
    archive: str | None = None,
    log: Path | None = None,
    settings: Mapping[str, str] | None = None,
) -> "SparkSession":
    """A session: on this machine, on the cluster of `master`, or at a Spark Connect server (`sc://…`).

    `brief` is for jobs of seconds: Java then compiles fast code fast and no faster code later. `archive` says where to
    leave a class archive at the end, instead of using one. What Java says on stderr goes to the file `log`. A session
    that exists already is given back as it is.
    """
    spark_session = _spark()
    if remote is not None:
        builder = spark_session.builder.remote(remote)
        for key, value in {**_SETTINGS, **(settings or {})}.items():
            if key.startswith("spark.sql."):
                builder = builder.config(key, value)
        found = builder.getOrCreate()
        ship(found)
        return register(found)
    where = master or os.environ.get("BAYOU_SPARK_MASTER") or LOCAL
    if where.startswith("local[") and "," not in where and where.endswith("]"):
        where = f"{where[:-1]},4]"
    is_here = where.startswith("local")
    cache = archives.cache_folder()
    java = find_java(cache)
    chosen = {**_SETTINGS, **(_SETTINGS_HERE if is_here else {}), **(settings or {})}
    options = [_QUIET, *(_BRIEF if brief else ()), *_archive_options(java, cache, archive)]
    given = chosen.pop("spark.driver.extraJavaOptions", "")
    chosen["spark.driver.extraJavaOptions"] = " ".join([*options, *([given] if given else [])])
    builder = spark_session.builder.master(where).appName(name)
    for key, value in chosen.items():
        builder = builder.config(key, value)
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415 - an extra

    try:
        with _environment(java, is_here=is_here), _stderr_to(log):
            spark = builder.getOrCreate()
    except PySparkRuntimeError as error:
        raise Unsupported(
            f"Spark did not start: {error}",
            kind=ErrorKind.UNSUPPORTED,
            remedy=f"The Java of {java.home} was used. What it said is {'above' if log is None else f'in {log}'}.",
        ) from None
    if not is_here:
        ship(spark)
    return register(spark)


@contextmanager
def _environment(java: Java, *, is_here: bool) -> Iterator[None]:
    """What Java finds in its environment when it is started, and hands on to Python workers."""
    before = dict(os.environ)
    os.environ["JAVA_HOME"] = str(java.home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if is_here:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")  # which we do not use
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _stderr_to(log: Path | None) -> Iterator[None]:
    """Let what is started meanwhile write its errors there: Java and its workers say much that is no news."""
    if log is None:
        yield
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    kept = os.dup(2)
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def register(spark: "SparkSession") -> "SparkSession":
    """Make `format("bayou")` known to a session. One that starts where Bayou is installed knows it already."""
    from bayou.pipelines.source import BayouSource  # noqa: PLC0415 - with Spark

    spark.dataSource.register(BayouSource)
    return spark


def log_path() -> Path:
    """Where commands keep what Java says on stderr."""
    return archives.cache_folder() / "java.log"


def archive_path() -> Path:
    """Where the class archive for this Java and this Spark is, or would be."""
    _spark()
    import pyspark  # noqa: PLC0415 - an extra

    cache = archives.cache_folder()
    return archives.archive_of(find_java(cache), Path(pyspark.__file__).parent, pyspark.__version__, cache)


def _archive_options(java: Java, cache: Path, make: str | None) -> tuple[str, ...]:
    import pyspark  # noqa: PLC0415 - an extra

    if make is not None:
        return tuple(archives.making(Path(make)))
    home = Path(pyspark.__file__).parent
    return tuple(archives.using(archives.archive_of(java, home, pyspark.__version__, cache)))


def _spark() -> "type[SparkSession]":
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra
    except ImportError:
        raise Unsupported(
            "pipelines need PySpark, which is not installed",
            kind=ErrorKind.UNSUPPORTED,
            remedy="pip install 'bayou-datastore[spark]', with Java; or 'bayou-datastore[spark,jdk]' without.",
        ) from None
    return SparkSession
