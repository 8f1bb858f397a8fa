"""Meanings: what a path says it is. A small closed set, for whoever goes through a cache or an index to match on.

What can be known from a path alone:
- Artifacts, outputs, runs, evaluated and automatic definitions, audit logs and bundles have shapes that exclude each
  other, and every part can be read back: the shapes are fixed at their ends, so whatever stands between the folder and
  the end is the type, however deep. A numeric data name is told from a version by its place.
- For these, `meaning(x.path) == x`, unless somebody's id gives a file one of the names that are internal wherever they
  stand (`_catalog.db-…`). And `meaning(path).path == path` always.

What cannot:
- How a type was written: only its normalised text is in a path. A path that no normalised type leads to is `Unknown`.
- Whether the stem of a definition is a name or an id, since ids look like names.
- Whether a version is finished, deferred or a stream, and whether what `latest` says exists: that is in the files.
- Which model an evaluated definition belongs to, and the name of any model.
- Whether the first segment is a namespace: the caller takes the bound one off first. Other namespaces are `Unknown`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from bayou.errors import UsageError
from bayou.layout.artifacts import LatestMarker, VersionFile, read_artifact
from bayou.layout.audit import AuditLog, read_audit
from bayou.layout.bundles import Bundle, read_bundle
from bayou.layout.definitions import (
    AutoDefinition,
    EvaluatedDefinition,
    EvaluatedWorkflow,
    read_auto,
    read_evaluated,
    read_workflow,
)
from bayou.layout.internal import never_crosses
from bayou.layout.keys import CATALOG_EXPORT
from bayou.layout.records import OutputRecord, RunRecord, read_output, read_run


@dataclass(frozen=True, slots=True)
class CatalogExport:
    """The rows of a namespace's catalog, for other namespaces to read."""

    @property
    def path(self) -> str:
        return CATALOG_EXPORT


@dataclass(frozen=True, slots=True)
class Internal:
    """Not data: it never crosses (`bayou.layout.internal`)."""

    path: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Data of which the path says nothing more. It is synced as it is."""

    path: str


Known = (
    VersionFile
    | LatestMarker
    | OutputRecord
    | RunRecord
    | EvaluatedDefinition
    | EvaluatedWorkflow
    | AutoDefinition
    | AuditLog
    | Bundle
    | CatalogExport
)
Meaning = Known | Internal | Unknown

_READERS: dict[str, Callable[[list[str]], Known | None]] = {
    "data": read_artifact,
    "outputs": read_output,
    "workflow-runs": read_run,
    "definitions-evaluated": read_evaluated,
    "workflows-evaluated": read_workflow,
    "auto-definitions": read_auto,
    "audit": read_audit,
    "files": read_bundle,
}


def meaning(path: str) -> Meaning:
    """What this path, relative to its namespace, is. Every text has a meaning, whether it is safe or not."""
    if never_crosses(path):
        return Internal(path)
    if path == CATALOG_EXPORT:
        return CatalogExport()
    segments = path.split("/")
    read = _READERS.get(segments[0])
    try:
        return (read(segments) if read else None) or Unknown(path)
    except UsageError:
        # A part of it could never have been a name.
        return Unknown(path)
