"""Results in a notebook."""

import json
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayou.query.results import Results

_LONGEST = 200


def page(results: "Results", most: int) -> str:
    """A table of the first, and how many there are."""
    columns, rows = results.table(most)
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(_text(cell))}</td>' for cell in row)}</tr>" for row in rows)
    lines = [_counted(results, len(rows)), *results.notices]
    below = "".join(f"<p>{escape(line)}</p>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def _counted(results: "Results", shown: int) -> str:
    total = f"{results.total} result{'' if results.total == 1 else 's'}"
    if shown < results.total:
        total = f"{total}, of which these are the first {shown}"
    return f"{total}, and there are more" if results.limited else total


def _text(cell: object) -> str:
    if cell is None:
        return ""
    text = cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
