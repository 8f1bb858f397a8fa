"""`stats`: what a datastore holds and how it grows, from the index alone: no object is read."""

from typing import TYPE_CHECKING

from bayou.pipelines.jobs.context import Context, listing, settled
from bayou.pipelines.report import Listing, Report

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MOST = 20
_PLACE = ("namespace", "path")
_BUCKETS = (
    "CASE WHEN n = 1 THEN '1' WHEN n <= 3 THEN '2 to 3' WHEN n <= 10 THEN '4 to 10' WHEN n <= 100 THEN '11 to 100' "
    "ELSE 'more than 100' END"
)


def run(context: Context) -> Report:
    """Nothing is changed, so a dry run is a run."""
    settled(context)
    with context.step("reading the index"):
        objects = context.table("objects").cache()
        objects.createOrReplaceTempView("bayou_objects")
        versions = objects.filter("kind = 'raw'")
        versions.createOrReplaceTempView("bayou_versions")
        totals = objects.selectExpr(
            "count(*) AS objects",
            "coalesce(sum(size), 0) AS bytes",
            "count_if(kind = 'raw') AS versions",
            "count(DISTINCT CASE WHEN kind = 'raw' THEN struct(namespace, type, model_id) END) AS models",
            "count(DISTINCT CASE WHEN kind = 'raw' THEN struct(namespace, type, model_id, name) END) AS artifacts",
            "count_if(sha256 IS NULL) AS unhashed",
        ).first()
        assert totals is not None  # noqa: S101 - an aggregate has a row
    with context.step("counting"):
        duplicates = _duplicates(context)
        found = [
            _grouped(context, "Growth by day", "CAST(date(modified) AS string) AS day", order="day DESC"),
            _grouped(context, "By namespace", "namespace"),
            _grouped(context, "By type", "namespace, type"),
            _models(context),
            _kinds(context),
            listing(
                "Largest versions",
                versions.orderBy("size", "path", ascending=[False, True])
                .select("namespace", "path", "size")
                .limit(_MOST),
                chart="size",
            ),
            listing("Content that is stored several times", duplicates.limit(_MOST), chart="wasted"),
            *_per_artifact(context),
        ]
        wasted = duplicates.selectExpr("coalesce(sum(wasted), 0)").first()
    figures = totals.asDict() | {"duplicateBytes": 0 if wasted is None else wasted[0]}
    objects.unpersist()
    return context.report("stats", figures, *found)


def _kinds(context: Context) -> Listing:
    sql = "SELECT kind, count(*) AS objects, sum(size) AS bytes FROM bayou_objects GROUP BY kind ORDER BY kind"
    return listing("Objects by kind", context.spark.sql(sql), chart="bytes")


def _grouped(context: Context, title: str, by: str, *, order: str = "bytes DESC") -> Listing:
    names = ", ".join(part.split(" AS ")[-1] for part in by.split(", "))
    sql = (
        f"SELECT {by}, count(*) AS versions, sum(size) AS bytes FROM bayou_versions "  # noqa: S608 - ours
        f"GROUP BY ALL ORDER BY {order}, {names} LIMIT {_MOST * 5 if 'day' in by else _MOST}"
    )
    return listing(title, context.spark.sql(sql), chart="bytes")


def _models(context: Context) -> Listing:
    """The largest models, called as people call them."""
    largest = context.spark.sql(
        "SELECT namespace, type, model_id, count(DISTINCT name) AS artifacts, count(*) AS versions, sum(size) AS bytes "  # noqa: S608 - ours
        f"FROM bayou_versions GROUP BY ALL ORDER BY bytes DESC, type, model_id LIMIT {_MOST}"
    ).collect()
    names = {}
    if largest:
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - as above

        known = context.table("models").filter(
            F.col("type").isin(sorted({row.type for row in largest}))
            & F.col("model_id").isin(sorted({row.model_id for row in largest}))
        )
        names = {(row.namespace, row.type, row.model_id): row.model_name for row in known.collect()}
    rows = [
        (row.namespace, row.type, names.get((row.namespace, row.type, row.model_id)) or row.model_id, *row[3:])
        for row in largest
    ]
    columns = ("namespace", "type", "model", "artifacts", "versions", "bytes")
    return Listing("Largest models", columns, rows, "bytes")


def _duplicates(context: Context) -> "DataFrame":
    return context.spark.sql(
        "SELECT sha256, count(*) AS copies, max(size) AS size, sum(size) - max(size) AS wasted, min(path) AS example "
        "FROM bayou_versions WHERE sha256 IS NOT NULL AND size > 0 GROUP BY sha256 HAVING count(*) > 1 "
        "ORDER BY wasted DESC, sha256"
    )


def _per_artifact(context: Context) -> list[Listing]:
    counts = context.spark.sql("SELECT namespace, type, model_id, name, count(*) AS n FROM bayou_versions GROUP BY ALL")
    buckets = counts.selectExpr(f"{_BUCKETS} AS versions", "n").groupBy("versions")
    spread = buckets.agg({"n": "count"}).withColumnRenamed("count(n)", "artifacts")
    most = counts.orderBy("n", "name", ascending=[False, True]).selectExpr("namespace", "type", "name", "n AS versions")
    return [
        listing("Versions per artifact", spread.orderBy("versions"), chart="artifacts"),
        listing("Artifacts with most versions", most.limit(_MOST), chart="versions"),
    ]
