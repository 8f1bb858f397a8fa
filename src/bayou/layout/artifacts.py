"""Paths of artifacts: `data/{type}/{model}/{name}/{version}/{raw,metadata.yaml}`, and `latest` beside the versions."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from bayou.domain.models import Model
from bayou.domain.names import check_data_name
from bayou.errors import UsageError
from bayou.layout.safety import check_path
from bayou.layout.typefolders import type_at

# Strict: existing clients would list `7.bak` and `07` as version 7, but nobody writes them. Numbers of 15 digits are
# what every client can count to.
_VERSION = re.compile(r"[1-9][0-9]{0,14}")
_AMONG_NAMES = re.compile(rf"(?<![^/]){_VERSION.pattern}(?![^/])")
_END_OF_VERSIONS = 10**15

LATEST = "latest"


class Part(StrEnum):
    RAW = "raw"
    METADATA = "metadata.yaml"


_PARTS = {str(part): part for part in Part}


@dataclass(frozen=True, slots=True)
class VersionFile:
    model: Model
    name: str
    version: int
    part: Part

    def __post_init__(self) -> None:
        check_data_name(self.name)
        if not 0 < self.version < _END_OF_VERSIONS:
            raise UsageError(f"{self.version} is not a version: they are counted from 1")
        check_path(self.path)

    @property
    def path(self) -> str:
        return f"{version_folder(self.model, self.name, self.version)}/{self.part}"


@dataclass(frozen=True, slots=True)
class LatestMarker:
    model: Model
    name: str

    def __post_init__(self) -> None:
        check_data_name(self.name)
        check_path(self.path)

    @property
    def path(self) -> str:
        return f"{name_folder(self.model, self.name)}/{LATEST}"


def model_folder(model: Model) -> str:
    return f"data/{model.type}/{model.id}"


def name_folder(model: Model, name: str) -> str:
    return f"{model_folder(model)}/{name}"


def version_folder(model: Model, name: str, version: int) -> str:
    return f"{name_folder(model, name)}/{version}"


def version_of(folder: str) -> int | None:
    """The version whose folder is called that, or None."""
    return int(folder) if _VERSION.fullmatch(folder) else None


def versions_among(folders: Iterable[str]) -> frozenset[int]:
    """The versions whose folders are among these: all in one step, as a name may have thousands at each write."""
    return frozenset(map(int, _AMONG_NAMES.findall("/".join(folders))))


def read_artifact(segments: list[str]) -> VersionFile | LatestMarker | None:
    """What a path below `data` is. It is read from its end, so that types of any depth are told from ids and names.

    Like every `read_…` here it answers None for a path of another shape, and raises where a name in it can be no name.
    """
    if segments[-1] == LATEST:
        model = _model(segments, 2)
        return LatestMarker(model, segments[-2]) if model else None
    part = _PARTS.get(segments[-1])
    if part and len(segments) > 2 and _VERSION.fullmatch(segments[-2]):
        model = _model(segments, 3)
        return VersionFile(model, segments[-3], int(segments[-2]), part) if model else None
    return None


def _model(segments: list[str], tail: int) -> Model | None:
    """The model whose folder this is without its last `tail` segments."""
    end = len(segments) - tail - 1
    return _model_at("/".join(segments[1:end]), segments[end]) if end >= 2 else None


@lru_cache(maxsize=65536)
def _model_at(type_path: str, model_id: str) -> Model | None:
    model_type = type_at(type_path)
    return Model(model_type, model_id) if model_type else None
