"""Units of real paths: which files the diff decides about as one, and how two changes of them are merged."""

from collections.abc import Callable

from bayou.domain.units import Classify, Kind, Unit
from bayou.layout.artifacts import LatestMarker, Part, VersionFile, version_folder
from bayou.layout.audit import AuditLog
from bayou.layout.definitions import AutoDefinition, EvaluatedDefinition, EvaluatedWorkflow
from bayou.layout.meanings import CatalogExport, meaning
from bayou.layout.records import OutputRecord, RunRecord

_KINDS: dict[type, Kind] = {
    LatestMarker: Kind.LATEST,
    OutputRecord: Kind.OUTPUT,
    RunRecord: Kind.RUN,
    AutoDefinition: Kind.DEFINITION,
    AuditLog: Kind.AUDIT,
    EvaluatedDefinition: Kind.DERIVED,
    EvaluatedWorkflow: Kind.DERIVED,
    CatalogExport: Kind.DERIVED,
}


def classifier(is_stream: Callable[[VersionFile], bool]) -> Classify:
    """What `bayou.domain.diff` wants to know of a path. Only its metadata says whether a version is a stream."""

    def classify(path: str) -> Unit:
        found = meaning(path)
        if isinstance(found, VersionFile):
            return _version(found, Kind.STREAM if is_stream(found) else Kind.VERSION)
        return Unit(path, _KINDS.get(type(found), Kind.OTHER), (path,))

    return classify


def _version(file: VersionFile, kind: Kind) -> Unit:
    folder = version_folder(file.model, file.name, file.version)
    members = tuple(f"{folder}/{part}" for part in (Part.METADATA, Part.RAW))
    return Unit(folder, kind, members, LatestMarker(file.model, file.name).path)
