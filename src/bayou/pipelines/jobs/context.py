"""What a job works with: a session, a datastore, and somebody to tell how it goes."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from bayou.config import urls
from bayou.pipelines.reach import Reach
from bayou.pipelines.report import Cell, Listing, Report
from bayou.storage.port import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")


@dataclass
class Context:
    spark: "SparkSession"
    reach: Reach
    dry_run: bool = False
    say: Callable[[str], None] = print
    metrics: dict[str, Cell] = field(default_factory=dict)

    def table(self, name: str, **options: str) -> "DataFrame":
        """A table of the data source, of all namespaces of the job."""
        told = {"url": self.reach.url, "namespaces": ",".join(self.reach.namespaces), "table": name, **options}
        return self.spark.read.format("bayou").options(**told).load()

    def on_driver(self, work: Callable[[Store], Awaitable[T]]) -> T:
        """Do something with the store, here."""

        async def opened() -> T:
            async with self.reach.store() as store:
                return await work(store)

        return asyncio.run(opened())

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """A part of the job, announced and timed."""
        self.say(f"{what} …")
        started = time.monotonic()
        yield
        self.metrics[f"seconds: {what}"] = round(time.monotonic() - started, 2)

    def report(self, job: str, figures: Mapping[str, Cell], *listings: Listing) -> Report:
        return Report(
            job,
            urls.displayed(urls.parse(self.reach.url)),
            self.reach.namespaces,
            self.dry_run,
            figures,
            listings,
            self.metrics,
        )


def settled(context: Context) -> Context:
    """With the namespaces that there are, where all were asked for."""
    context.reach = context.on_driver(context.reach.settled)
    return context


def listing(title: str, frame: "DataFrame", *, chart: str | None = None) -> Listing:
    """The rows of a small frame."""
    rows = [tuple(_cell(value) for value in row) for row in frame.collect()]
    return Listing(title, tuple(frame.columns), rows, chart)


def _cell(value: Any) -> Cell:  # noqa: ANN401 - whatever Spark gives
    return value if value is None or isinstance(value, str | int | float) else str(value)
