"""All of a bucket at once, on Spark: a catalog in Parquet, every object compared with the index, and figures."""

from pathlib import Path

from bayou.pipelines.jobs import catalog, scrub, stats
from bayou.pipelines.jobs.context import Context
from bayou.pipelines.reach import reach_of
from bayou.pipelines.report import html
from bayou.pipelines.sessions import session
from demo.show import say


def tour(url: str, scratch: Path) -> None:
    spark = session("local[2]", brief=True, log=scratch / "java.log")
    try:
        context = Context(spark, reach_of({"url": url}), say=lambda _: None)
        made = catalog.run(context).figures
        say(
            f"catalog: {made['versions']} versions in Parquet, in {made['files']} files; {made['partsRead']} parts read"
        )
        again = catalog.run(context).figures
        say(f"catalog: nothing has changed, so {again['partsRead']} parts are read the next time")
        found = scrub.run(context).figures
        say(f"scrub: {found['ok']} of {found['objects']} objects are what the index says, {found['damaged']} are not")
        report = stats.run(context)
        say(f"stats: {report.figures['artifacts']} artifacts of {report.figures['models']} models")
        page = html(report)
        say(f"stats: the report is one page of {len(page) // 1024} KiB, with {len(report.listings)} tables")
    finally:
        spark.stop()
