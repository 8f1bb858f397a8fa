"""Other clients read what we write as we do, and we read what they write: through two YAML parsers of JavaScript.

One start of Node.js for all documents: the property is drawn as a batch, once.
"""

import json
import math
import subprocess
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bayou.testing import strategies
from bayou.wire import metadata, outputs, runs
from bayou.wire.yamldocument import load, load_record
from bayou.wire.yamllines import read
from bayou.wire.yamltext import lines

T = TypeVar("T")

ROOT = Path(__file__).parents[2]
NODE = ROOT / ".venv/bin/node"

# What both parsers see in each text, and how js-yaml, whose kind the existing clients use, would write that.
SCRIPT = """
const jsYaml = require("js-yaml"), yaml = require("yaml"), fs = require("fs");
const marked = (_, value) => typeof value === "number" && !Number.isFinite(value) ? {odd: String(value)} : value;
const results = JSON.parse(fs.readFileSync(0, "utf8")).map((text) => {
  const seen = jsYaml.load(text);
  return {js: seen, modern: yaml.parse(text), written: jsYaml.dump(seen, {lineWidth: 80})};
});
process.stdout.write(JSON.stringify(results, marked));
"""


class Seen(msgspec.Struct):
    """What other parsers say of a text."""

    js: object
    modern: object
    written: str


def through_node(texts: list[str]) -> list[Seen]:
    if not (NODE.exists() and (ROOT / "node_modules/js-yaml").is_dir()):
        pytest.fail("js-yaml is missing: run `make install`")
    ran = subprocess.run(  # noqa: S603 - our own script
        [NODE, "-e", SCRIPT], input=json.dumps(texts).encode(), capture_output=True, check=True, cwd=ROOT
    )
    return msgspec.convert(json.loads(ran.stdout), list[Seen])


def batch(strategy: st.SearchStrategy[T], count: int) -> list[T]:
    """Draw many values at once."""
    drawn: list[T] = []

    @settings(
        max_examples=count,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(value: T) -> None:
        drawn.append(value)

    draw()
    return drawn


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | strategies.ODD_TEXTS


def test_metadata_means_the_same_to_other_clients() -> None:
    artifacts = batch(strategies.artifacts(), 300)
    texts = [metadata.encode(artifact).decode() for artifact in artifacts]
    for artifact, text, seen in zip(artifacts, texts, through_node(texts), strict=True):
        assert seen.js == seen.modern == load(text)
        assert metadata.decode(seen.written.encode(), "theirs") == artifact, seen.written


def test_records_and_any_other_content_mean_the_same_to_other_clients() -> None:
    texts = [
        *(lines(document) for document in batch(st.dictionaries(_TEXT, strategies.json_values(), min_size=1), 150)),
        *(outputs.encode(output).decode() for output in batch(strategies.outputs(), 100)),
        *(runs.encode(run).decode() for run in batch(strategies.runs(), 150)),
    ]
    for text, seen in zip(texts, through_node(texts), strict=True):
        document = load(text)
        assert equal(seen.js, document)
        assert equal(seen.modern, document)
        assert equal(load_record(seen.written), document), seen.written
        found = read(seen.written)
        assert found is None or equal(found, document), seen.written


def equal(theirs: object, ours: object) -> bool:
    """Whether two documents say the same. JavaScript knows one kind of number, and -0 is 0 in JSON."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return theirs.keys() == ours.keys() and all(equal(theirs[key], ours[key]) for key in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(theirs) == len(ours) and all(equal(*pair) for pair in zip(theirs, ours, strict=True))
    if isinstance(ours, float) and isinstance(theirs, int | float):
        return math.isclose(theirs, ours, rel_tol=0)
    return type(theirs) is type(ours) and theirs == ours
