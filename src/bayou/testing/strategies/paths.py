"""Paths: safe ones, hostile ones, those that mean something, and whole caches of them with content."""

import hashlib
import json
import uuid
from collections.abc import Iterable
from functools import cache

from hypothesis import strategies as st

from bayou.domain.models import Model
from bayou.layout.artifacts import LatestMarker, Part, VersionFile
from bayou.layout.audit import AuditKind, AuditLog
from bayou.layout.bundles import Bundle
from bayou.layout.definitions import AutoDefinition, EvaluatedDefinition, EvaluatedWorkflow, definition_stem
from bayou.layout.internal import never_crosses
from bayou.layout.meanings import CatalogExport, Known
from bayou.layout.records import OutputRecord, RunRecord, stamp
from bayou.layout.safety import fault
from bayou.testing.strategies.indexes import times
from bayou.testing.strategies.names import SEGMENT_CHARACTERS, data_names, model_ids, model_types, models

_FOLDERS = ("data", "outputs", "workflow-runs", "audit", "telemetry", "logs", "files", "unknown")
_SEGMENT = st.sampled_from(["a", "b", "A", "1", "2", "latest", "raw", "x y"]) | st.text(
    SEGMENT_CHARACTERS, min_size=1, max_size=8
)
_VERSION = st.integers(1, 12) | st.integers(1, 10**15 - 1)


@cache
def safe_paths() -> st.SearchStrategy[str]:
    """Relative paths of any shape that may be followed, also internal ones."""
    below = st.lists(_SEGMENT, min_size=1, max_size=6).map("/".join)
    anywhere = below | st.tuples(st.sampled_from(_FOLDERS), below).map("/".join)
    return anywhere.filter(lambda path: fault(path) is None)


@st.composite
def hostile_paths(draw: st.DrawFn) -> str:
    """Paths that must never be followed, each for one reason at least."""
    segments = draw(safe_paths()).split("/")
    where = draw(st.integers(0, len(segments)))
    bad = draw(
        st.sampled_from(
            [
                "",
                ".",
                "..",
                "a\\b",
                "..\\..\\b",
                "a\0b",
                "a\nb",
                "\x1b[0m",
                "\x7f",
                "\x85",
                "\ud800",
                "x" * 256,
                "\u00fc" * 128,
            ]
        )
    )
    return draw(
        st.sampled_from(
            [
                "/".join([*segments[:where], bad, *segments[where:]]),
                "/" + "/".join(segments),
                "C:/" + "/".join(segments),
                "/".join([*[".."] * draw(st.integers(1, 8)), "etc", "passwd"]),
            ]
        )
    )


@cache
def known_records() -> st.SearchStrategy[OutputRecord | RunRecord]:
    methods = st.from_regex(r"[a-zA-Z][a-zA-Z0-9_-]{0,12}", fullmatch=True)
    return st.one_of(
        st.builds(OutputRecord, model_types(), methods, model_ids(), times().map(stamp)),
        st.builds(RunRecord, model_ids(), model_ids()),
    )


@cache
def known_meanings() -> st.SearchStrategy[Known]:
    """Everything that a path can be known to be."""
    stems = st.uuids().map(str) | st.from_regex(r"[a-z0-9][a-z0-9_-]{0,20}", fullmatch=True)
    machines = st.just("") | st.from_regex(r"[A-Za-z0-9_-]{1,12}", fullmatch=True)
    return st.one_of(
        st.builds(VersionFile, models(), data_names(), _VERSION, st.sampled_from(Part)),
        st.builds(LatestMarker, models(), data_names()),
        known_records(),
        st.builds(EvaluatedDefinition, model_types(), stems),
        st.builds(AutoDefinition, model_types(), stems),
        st.builds(EvaluatedWorkflow, stems),
        st.builds(AuditLog, st.sampled_from(AuditKind), st.dates(), machines),
        st.builds(Bundle, st.binary(max_size=8).map(lambda content: hashlib.sha256(content).hexdigest())),
        st.just(CatalogExport()),
    )


@cache
def known_paths() -> st.SearchStrategy[str]:
    return known_meanings().map(lambda known: known.path)


@st.composite
def cache_trees(draw: st.DrawFn, *, max_models: int = 3) -> dict[str, bytes]:
    """A whole cache: path to content, as a repo would have it after some work.

    Versions are whole: metadata parses, and its size and checksum are those of `raw`; `latest` names the highest. No
    file is the folder of another and nothing is internal, so a tree can be written to disk and synced as it is.
    """
    tree = draw(st.dictionaries(_others(), st.binary(max_size=64), max_size=6))
    for model in draw(st.lists(models(), max_size=max_models)):
        for name, versions in draw(_histories()).items():
            tree |= _artifact(model, name, versions)
        for started in draw(_starts()):
            output = OutputRecord(model.type, "create", model.id, stamp(started))
            tree[output.path] = _yaml(
                id=_id(output.path), definitionId=model.id, methodName="create", startedAt=started
            )
        evaluated = EvaluatedDefinition(model.type, definition_stem(model.name or "", model.id))
        tree[evaluated.path] = _yaml(type=model.type.normalised, id=model.id, name=model.name)
    return _without_files_that_are_folders(tree)


@cache
def _others() -> st.SearchStrategy[str]:
    # A single file of an artifact would be half a version.
    return (known_paths() | safe_paths()).filter(lambda path: not (never_crosses(path) or path.startswith("data/")))


@cache
def _histories() -> st.SearchStrategy[dict[str, dict[int, bytes]]]:
    """Content by data name and version."""
    versions = st.dictionaries(st.integers(1, 12), st.binary(max_size=64), min_size=1, max_size=3)
    return st.dictionaries(data_names(), versions, max_size=3)


@cache
def _starts() -> st.SearchStrategy[list[str]]:
    return st.lists(times(), max_size=2)


def _artifact(model: Model, name: str, versions: dict[int, bytes]) -> dict[str, bytes]:
    tree = {LatestMarker(model, name).path: str(max(versions)).encode()}
    for version, raw in versions.items():
        path = VersionFile(model, name, version, Part.RAW).path
        tree[path] = raw
        tree[VersionFile(model, name, version, Part.METADATA).path] = _yaml(
            id=_id(path),
            name=name,
            version=version,
            contentType="application/octet-stream",
            lifetime="infinite",
            garbageCollection=10,
            streaming=False,
            tags={"type": "resource"},
            ownerDefinition={"ownerType": "model-method", "ownerRef": model.id},
            createdAt=f"2026-01-{version:02}T00:00:00.000Z",
            size=len(raw),
            checksum=hashlib.sha256(raw).hexdigest(),
        )
    return tree


def _id(path: str) -> str:
    """An id of its own for each path, without a draw."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, path))


# YAML takes these for line breaks or for a byte order mark; JSON does not escape them.
_ESCAPES = str.maketrans({character: f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029\ufeff"})


def _yaml(**fields: object) -> bytes:
    """One key a line, each value as JSON, which YAML is a superset of but for a few characters."""
    lines = (f"{key}: {json.dumps(value, ensure_ascii=False).translate(_ESCAPES)}\n" for key, value in fields.items())
    return "".join(lines).encode()


def _without_files_that_are_folders(tree: dict[str, bytes]) -> dict[str, bytes]:
    folders = {folder for path in tree for folder in _folders_of(path)}
    return {path: content for path, content in tree.items() if path not in folders}


def _folders_of(path: str) -> Iterable[str]:
    segments = path.split("/")
    return ("/".join(segments[:count]) for count in range(1, len(segments)))
