"""Scoping: which paths belong to the models of a scope, and which shards may hold them.

The first is exact, the second is generous: shards are shared (`bayou.domain.partitions`), so whoever reads the shards
of a scope keeps of them what `covers` says and nothing else.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from bayou.domain.models import Model
from bayou.domain.partitions import partition_key
from bayou.domain.scopes import Scope
from bayou.layout.artifacts import LatestMarker, Part, VersionFile
from bayou.layout.definitions import AutoDefinition, EvaluatedDefinition
from bayou.layout.meanings import meaning
from bayou.layout.records import OutputRecord

# Stands for a data name or a method, which nobody knows beforehand.
_ANY = "\uffff"
_LEGACY_FOLDERS = ("data", "outputs", "definitions-evaluated")  # sync spec 1.6, at its end
_STAMP = "1970-01-01T00-00-00-000Z"


@dataclass(frozen=True, slots=True)
class CandidateKeys:
    """The shards that can hold what belongs to one model: by name, and by what their names begin with."""

    exact: frozenset[str]
    prefixes: frozenset[str]

    def include(self, partition: str) -> bool:
        return partition in self.exact or partition.startswith(tuple(self.prefixes))

    def among(self, listed: Iterable[str]) -> list[str]:
        """Those that exist, of the partitions that meta lists."""
        return [partition for partition in listed if self.include(partition)]


def candidate_keys(model: Model) -> CandidateKeys:
    """All the shards to look at for one model: the three that existing clients try, and where things really are (W-20).

    The latter are found by asking for the shard of one path of each kind, so this and the paths cannot drift apart. A
    kind that no shard can hold (the evaluated definition of a type of one segment) adds nothing: it is derived and need
    not travel.
    """
    paths = (
        VersionFile(model, _ANY, 1, Part.RAW).path,
        LatestMarker(model, _ANY).path,
        OutputRecord(model.type, _ANY, model.id, _STAMP).path,
        EvaluatedDefinition(model.type, model.id).path,
        AutoDefinition(model.type, model.id).path,
    )
    legacy = {"--".join((folder, *model.type.segments, model.id)) for folder in _LEGACY_FOLDERS}
    keys = legacy | {key for key in map(partition_key, paths) if key is not None}
    open_ended = {key for key in keys if _ANY in key}
    return CandidateKeys(
        exact=frozenset(keys - open_ended),
        prefixes=frozenset(key[: key.rindex(_ANY)] for key in open_ended),
    )


def covers(scope: Scope, path: str) -> bool:
    """Whether this path is within the scope. What belongs to no model is only within everything.

    So is a file below `outputs` or `definitions-evaluated` of a shape that no client writes (`outputs/T/I/x/1/raw`):
    whose it is would be a guess.
    """
    if scope.models is None:
        return True
    found = meaning(path)
    match found:
        case VersionFile() | LatestMarker():
            return found.model in scope.models
        case OutputRecord():
            return Model(found.type, found.definition_id) in scope.models
        case EvaluatedDefinition() | AutoDefinition():
            return (found.type, found.stem) in scope.names or Model(found.type, found.stem) in scope.models
        case _:
            return False
