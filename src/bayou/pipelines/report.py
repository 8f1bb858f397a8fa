"""Reports: what a job found and did, as a value, as JSON, and as one HTML file that needs nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows under a title. `chart` names the column that is also drawn, as bars beside the first one."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]
    chart: str | None = None

    def to_dict(self) -> dict[str, object]:
        return {"title": self.title, "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows]}


@dataclass(frozen=True, slots=True)
class Report:
    job: str
    url: str
    namespaces: tuple[str, ...]
    dry_run: bool
    figures: Mapping[str, Cell]
    listings: tuple[Listing, ...] = ()
    metrics: Mapping[str, Cell] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        return {
            "job": self.job,
            "url": self.url,
            "namespaces": list(self.namespaces),
            "dryRun": self.dry_run,
            **self.figures,
            "listings": [listing.to_dict() for listing in self.listings],
            "metrics": dict(self.metrics),
        }


_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1c2733;background:#fff}
h1{font-size:1.5rem;margin-bottom:0}h2{font-size:1.1rem;margin-top:2rem}p.where{color:#5b6b7a;margin-top:.2rem}
table{border-collapse:collapse;width:100%;font-size:.9rem}th{text-align:left;color:#5b6b7a;font-weight:600}
td,th{padding:.25rem .8rem .25rem 0;border-bottom:1px solid #e4e9ee;vertical-align:top;overflow-wrap:anywhere}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(11rem,1fr));gap:.8rem}
dt{color:#5b6b7a;font-size:.8rem}dd{margin:0;font-size:1.3rem;font-variant-numeric:tabular-nums}
svg{display:block;width:9rem;height:.8rem}rect{fill:#2f7d8c}
@media(prefers-color-scheme:dark){body{background:#14191f;color:#dfe6ec}td,th{border-color:#2a333c}rect{fill:#57b3c4}}
"""


def html(report: Report) -> str:
    """The report as a page."""
    where = f"{report.url}, {_namespaces(report)}"
    title = f"{report.job}{' (dry run)' if report.dry_run else ''}"
    figures = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{_shown(value)}</dd></div>" for name, value in report.figures.items()
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
        f'<h1>{escape(title)}</h1><p class="where">{escape(where)}</p><dl>{figures}</dl>'
        f"{''.join(map(_table, report.listings))}{_table(_of_metrics(report))}</html>\n"
    )


def _namespaces(report: Report) -> str:
    named = [name or "the solo namespace" for name in report.namespaces]
    return f"namespaces {', '.join(named)}" if len(named) > 1 else (named or [""])[0]


def _of_metrics(report: Report) -> Listing:
    return Listing("How it ran", ("metric", "value"), list(report.metrics.items()))


def _table(listing: Listing) -> str:
    if not listing.rows:
        return ""
    numeric = [
        all(isinstance(row[at], int | float | None) for row in listing.rows) for at in range(len(listing.columns))
    ]
    drawn = None if listing.chart is None else listing.columns.index(listing.chart)
    most = max((_number(row[drawn]) for row in listing.rows), default=0) if drawn is not None else 0
    head = "".join(f"<th{_class(n)}>{escape(c)}</th>" for c, n in zip(listing.columns, numeric, strict=True))
    lines = []
    for row in listing.rows:
        cells = "".join(f"<td{_class(n)}>{_shown(value)}</td>" for value, n in zip(row, numeric, strict=True))
        bar = "" if drawn is None else f"<td>{_bar(_number(row[drawn]), most)}</td>"
        lines.append(f"<tr>{cells}{bar}</tr>")
    head += "" if drawn is None else "<th></th>"
    return f"<h2>{escape(listing.title)}</h2><table><tr>{head}</tr>{''.join(lines)}</table>"


def _bar(value: float, most: float) -> str:
    width = 100 * value / most if most else 0
    return f'<svg viewBox="0 0 100 8" preserveAspectRatio="none"><rect width="{width:.1f}" height="8" rx="1"/></svg>'


def _number(value: Any) -> float:  # noqa: ANN401 - a cell
    return float(value) if isinstance(value, int | float) else 0.0


def _class(numeric: bool) -> str:  # noqa: FBT001 - said of a column
    return ' class="n"' if numeric else ""


def _shown(value: Cell) -> str:
    match value:
        case None:
            return "&mdash;"
        case bool() | str():
            return escape(str(value))
        case int():
            return f"{value:,}"
        case _:
            return f"{value:,.2f}"
