"""What is synced: versions of 5 KiB with their metadata, in 50 models, no two alike."""

import filecmp
import os
import random
from pathlib import Path

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.scopes import Scope, scope_of
from bayou.testing.computers import TYPE, metadata

MODELS = 50
SIZE = 5 << 10
VERSIONS = 9
BLOCK = 2 * VERSIONS + 2


def model_id(number: int) -> str:
    return f"{number:08x}-7a51-4c3e-9a55-1f4f0d6a1c02"


def folder(model: int) -> str:
    return f"data/{TYPE}/{model_id(model)}"


def page(model: int, number: int) -> str:
    """A file that is replaced when it changes."""
    return f"{folder(model)}/report/pages/{number:05}.json"


def scope(model: int) -> Scope:
    return scope_of([Model(ModelType(TYPE), model_id(model))])


def content(seed: str, size: int = SIZE) -> bytes:
    """The same for the same seed, as runs are compared."""
    return random.Random(seed).randbytes(size)  # noqa: S311 - no secret


def plant(root: Path, files: int) -> None:
    """A multiple of 1,000 files: in each model, for every 20, nine versions of a name, its marker, and a page."""
    for model in range(MODELS):
        for number in range(files // MODELS // BLOCK):
            name = f"{folder(model)}/state-{number}"
            for version in range(1, VERSIONS + 1):
                raw = content(f"{name}/{version}")
                _write(root / f"{name}/{version}/raw", raw)
                _write(root / f"{name}/{version}/metadata.yaml", metadata(version, raw, name=f"state-{number}"))
            _write(root / f"{name}/latest", str(VERSIONS).encode())
            _write(root / page(model, number), content(page(model, number)))


def _write(file: Path, body: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(body)


def link(source: Path, target: Path) -> None:
    """Another folder with the same files, at the price of their names."""
    for parent, _, names in os.walk(source / "data"):
        here = target / Path(parent).relative_to(source)
        here.mkdir(parents=True, exist_ok=True)
        for name in names:
            os.link(f"{parent}/{name}", here / name)


def require_equal(one: Path, other: Path, within: str = "data") -> None:
    """Stop unless both hold the same files with the same bytes."""
    files, others = (_files(root, within) for root in (one, other))
    _, different, failed = filecmp.cmpfiles(one, other, files & others, shallow=False)
    if files != others or different or failed:
        raise AssertionError(f"{one} and {other} differ: {sorted(files ^ others)[:3]} {different[:3]} {failed[:3]}")


def require_nothing_else(root: Path, within: str) -> None:
    others = _files(root, "data") - _files(root, within)
    if others:
        raise AssertionError(f"{root} holds more than {within}: {sorted(others)[:3]}")


def _files(root: Path, within: str) -> set[str]:
    found = {file.relative_to(root).as_posix() for file in (root / within).rglob("*") if file.is_file()}
    if not found:
        raise AssertionError(f"there is nothing at all in {root / within}")
    return found
