"""Retention over all versions of all namespaces at once, by windows: which of them may go, and why.

Read it beside `repository.retention.judge`, which says the same of one name; a random test holds one against the other.
What a policy means is decided before (`retentionrows`); here versions are only ordered, counted and compared.
"""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from bayou.domain.lifetimes import Expired
from bayou.repository.retention import SKEW

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SURPLUS = "surplus"

_NAME = ("namespace", "type", "model_id", "name")
_NAMES = ", ".join(_NAME)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def decided(versions: "DataFrame", now: datetime) -> "DataFrame":
    """A row for each name of which something goes, or whose ages nobody can tell (`skewed`).

    `versions` are those of the table `retention`. A number is never used again, so how many there are and their sum
    say later whether a name has the versions that it had.
    """
    future = (now + SKEW - _EPOCH) // timedelta(milliseconds=1)
    # One sort serves all: every window is of a name, and the first is in the order of the others' partitions.
    ranked = versions.selectExpr("*", f"row_number() OVER (PARTITION BY {_NAMES} ORDER BY version DESC) AS rank")
    head = "struct(version, rank, keep, keep_until, live_until, ended, created_ms)"
    told = ranked.selectExpr(
        "*",
        f"max_by({head}, IF(is_latest, version, NULL)) OVER (PARTITION BY {_NAMES}) AS head",
        f"coalesce(max(created_ms) OVER (PARTITION BY {_NAMES}) > {future}, false) AS skewed",
        f"count(*) OVER (PARTITION BY {_NAMES}) AS count",
        f"sum(version) OVER (PARTITION BY {_NAMES}) AS total",
    )
    judged = told.selectExpr(
        "*",
        f"""coalesce(
            head.ended,
            IF(NOT skewed AND head.created_ms <= head.live_until, '{Expired.DURATION.value}', NULL)
        ) AS expired""",
        # Never the latest of a step, nor what waits to be advanced.
        """NOT is_latest AND version < head.version AND (
            coalesce(rank - head.rank >= head.keep, false)
            OR coalesce(NOT skewed AND created_ms <= head.keep_until, false)
        ) AS surplus""",
    )
    found = judged.filter("expired IS NOT NULL OR surplus OR skewed").selectExpr(
        *_NAME, "version", "bytes", "skewed", "count", "total", "expired", "expired IS NOT NULL OR surplus AS goes"
    )
    names: DataFrame = found.groupBy(*_NAME).agg(*_aggregates())
    return names


def _aggregates() -> "list[Column]":
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - as everybody calls them, with Spark

    return [
        F.expr(text)
        for text in (
            "array_sort(collect_list(IF(goes, version, NULL))) AS versions",
            "coalesce(sum(IF(goes, bytes, 0)), 0) AS bytes",
            f"coalesce(first(expired), '{SURPLUS}') AS reason",
            "first(expired) IS NOT NULL AS whole",
            "first(skewed) AS skewed",
            "first(count) AS count",
            "first(total) AS total",
        )
    ]
