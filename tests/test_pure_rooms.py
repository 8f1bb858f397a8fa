"""The rooms that do no I/O import nothing that could, which no list of forbidden modules can promise."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import bayou

ROOT = Path(bayou.__file__).parent
PURE = sorted(
    [*(path for room in ("domain", "layout", "wire") for path in (ROOT / room).rglob("*.py")), ROOT / "errors.py"]
)

MODULES = {
    "bayou.domain",
    "bayou.errors",
    "bayou.layout",
    "bayou.wire",
    "collections.abc",
    "copyreg",
    "dataclasses",
    "datetime",
    "difflib",
    "enum",
    "functools",
    "hashlib",
    "json",
    "math",
    "msgspec",
    "re",
    "struct",
    "typing",
    "unicodedata",
    "uuid",
    "yaml",  # a parser: text in, values out
}
NAMES = {"pathlib": {"PurePath", "PurePosixPath"}}  # arithmetic on text
BUILTINS = {"__import__", "breakpoint", "eval", "exec", "input", "open", "print"}


def offences(source: str) -> Iterator[str]:
    """What a module imports or calls that it must not."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if not _allowed(alias.name))
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = {alias.name for alias in node.names}
            if node.level or not (_allowed(module) or names <= NAMES.get(module, set())):
                yield f"{module}: {', '.join(sorted(names))}"
        elif isinstance(node, ast.Name) and node.id in BUILTINS:
            yield node.id


def _allowed(module: str) -> bool:
    return module in MODULES or any(module.startswith(f"{room}.") for room in MODULES if room.startswith("bayou."))


@pytest.mark.parametrize("path", PURE, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_pure_room_does_no_io(path: Path) -> None:
    assert list(offences(path.read_text())) == []


@pytest.mark.parametrize(
    "line",
    [
        "import aiohttp",
        "import os.path",
        "import zipfile",
        "from pathlib import Path",
        "from pathlib import PurePath, Path",
        "from bayou.storage import connect",
        "from . import x",
        "text = open('x').read()",
        "print('x')",
        "def f():\n    import socket",
        "__import__('os')",
    ],
)
def test_what_would_be_io_is_found(line: str) -> None:
    assert list(offences(line))
