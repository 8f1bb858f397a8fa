"""The tour of docs/pipelines.md runs as it stands, and its tables and jobs are those of the code."""

import asyncio
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bayou import pipelines
from bayou.cli.pipeline import run
from bayou.pipelines import sessions
from bayou.pipelines.tables import TABLES
from bayou.storage.filesystem import FilesystemStore
from bayou.testing.lakes import fill, lake

DOCUMENT = (Path(__file__).parents[2] / "docs" / "pipelines.md").read_text(encoding="utf-8")


def test_the_tour_runs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lake").mkdir()
    asyncio.run(fill(FilesystemStore(tmp_path / "lake"), lake(models=3)))
    monkeypatch.setattr(sessions, "session", lambda: spark)
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    assert len(blocks) == 7
    names: dict[str, object] = {}
    for block in blocks:
        here = block.replace("s3://team-artifacts/prod", str(tmp_path / "lake")).replace("/checkpoints", str(tmp_path))
        exec(here, names)  # noqa: S102 - our own documentation
    assert "model-1" in capsys.readouterr().out
    assert pipelines.session() is spark


def test_every_table_and_every_job_is_described() -> None:
    rows = [line for line in DOCUMENT.splitlines() if line.startswith("| `")]
    described = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert described == set(TABLES)
    assert set(re.findall(r"^### (\w+)$", DOCUMENT, re.MULTILINE)) == set(run.commands)
