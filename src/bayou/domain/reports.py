"""Reports: what their artifacts are called, and how long they are kept (repository spec 2.1)."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from bayou.domain.names import vary_name

LIFETIME = "30d"
GARBAGE_COLLECTION = 5

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


class ReportNames(NamedTuple):
    markdown: str
    json: str


def report_names(report: str, vary: Iterable[str] = ()) -> ReportNames:
    """The two artifacts of a report: for people, and for programs."""
    base = f"report-{_UNSAFE.sub('-', report).strip('-') or 'unnamed'}"
    values = tuple(vary)
    return ReportNames(vary_name(base, values), vary_name(f"{base}-json", values))


def report_tags(report: str, scope: str, vary: Iterable[str] = ()) -> dict[str, str]:
    tags = {"type": "report", "reportName": report, "reportScope": scope}
    suffix = "-".join(vary)
    return {**tags, "varySuffix": suffix} if suffix else tags
