"""What a person or a program sees: results on stdout, everything else on stderr."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bayou.config.wording import escaped
from bayou.errors import BayouError
from bayou.wire.javascript import pretty


@dataclass(frozen=True, slots=True)
class Terminal:
    """With `json`, stdout carries one document and stderr carries errors as documents too (repository spec 8.1)."""

    json: bool = False
    quiet: bool = False

    def say(self, text: str) -> None:
        """Tell a person what happened. Not a result: whoever wants that reads stdout."""
        if not self.quiet:
            print(escaped(text), file=sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        self.say(f"warning: {text}")

    def failure(self, error: BayouError) -> None:
        if self.json:
            document = {"error": error.message, "code": str(error.kind), "hint": error.remedy}
            print(pretty(document).decode(), file=sys.stderr)
            return
        red, plain = ("\033[31m", "\033[0m") if sys.stderr.isatty() else ("", "")
        first, *more = map(escaped, error.message.splitlines() or [""])
        print(f"{red}Error:{plain} {first}", *more, sep="\n", file=sys.stderr)
        print(f"  -> {escaped(error.remedy)}", file=sys.stderr)

    def document(self, value: object) -> None:
        """The one document of a command with --json."""
        sys.stdout.write(pretty(value).decode() + "\n")

    def line(self, text: str) -> None:
        print(escaped(text))

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]], *, footer: str = "") -> None:
        """A table: drawn for a person, in plain aligned columns that nothing is cut from for a pipe."""
        cells = [[escaped(_cell(value)) for value in row] for row in rows]
        if cells and sys.stdout.isatty():
            _draw(columns, cells)
        elif cells:
            _align(columns, cells)
        if footer:
            self.say(footer)


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case str() | int() | float():
            return str(value)
        case _:
            return _compact(value)


def _compact(value: object) -> str:
    from bayou.wire.javascript import compact  # noqa: PLC0415 - only for values within values

    return compact(value).decode()


def _draw(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich.console import Console  # noqa: PLC0415 - rich takes 40 ms, which only a person's table is worth
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    Console().print(table)


def _align(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    lines = [columns, *cells]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    for line in lines:
        padded = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        print("  ".join(padded).rstrip())


def size_text(size: int) -> str:
    """A number of bytes as a person reads it."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"
