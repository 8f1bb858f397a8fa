"""Definitions: the files that say which id a model has, in the repo (`models/`) and in the datastore
(`auto-definitions/`).
"""

import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bayou.domain.merges.definitions import ALIAS
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.errors import Corrupt, UsageError
from bayou.layout.definitions import AutoDefinition, definition_stem
from bayou.layout.typefolders import type_at
from bayou.storage.oserrors import translated
from bayou.wire import yamlmapping

NOUN = "a definition of a model"
_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Definition:
    model: Model
    file: Path
    alias_of: str | None = None
    """The id that counts: two machines had defined one model, and data lies under both ids."""


def find(folder: Path, model_type: ModelType, name: str, stem: str) -> Definition | None:
    """The definition of a model below a folder of definitions. The file that should have it is looked at first."""
    of_type = folder.joinpath(*model_type.segments)
    direct = _definition(of_type / f"{stem}.yaml", model_type)
    if direct is not None and _counts(direct, name):
        return direct
    others = (_definition(file, model_type) for file in _files(of_type))
    return next((found for found in others if found is not None and _counts(found, name)), None)


def automatic(model: Model) -> tuple[str, bytes]:
    """The definition of a model that nobody has defined: where it goes, and what it says."""
    assert model.name is not None  # noqa: S101 - it came into being by its name
    document = {
        "type": model.type.raw,
        "id": model.id,
        "name": model.name,
        "version": 1,
        "tags": {},
        "globalArguments": {},
        "methods": {},
    }
    return AutoDefinition(model.type, definition_stem(model.name, model.id)).path, yamlmapping.encode(document, NOUN)


def walk(folder: Path) -> Iterator[Definition]:
    """All definitions below a folder. `Corrupt` names a file that nobody can read: what it defines is not known."""
    for root, folders, files in os.walk(folder, onerror=_raise):
        folders.sort()
        found = [Path(root, file) for file in sorted(files) if file.endswith(_SUFFIXES)]
        model_type = _type_of(Path(root).relative_to(folder)) if found else None
        if model_type is not None:
            yield from filter(None, (_definition(file, model_type) for file in found))


def is_called(model: Model, name: str) -> bool:
    """Whether this is its name, in whichever of the two ways of writing its accents."""
    return model.name is not None and unicodedata.normalize("NFC", model.name) == unicodedata.normalize("NFC", name)


def _counts(definition: Definition, name: str) -> bool:
    return definition.alias_of is None and is_called(definition.model, name)


def _files(of_type: Path) -> list[Path]:
    with translated(str(of_type)):
        try:
            return sorted(file for file in of_type.iterdir() if file.suffix in _SUFFIXES)
        except (FileNotFoundError, NotADirectoryError):
            return []


def _definition(file: Path, model_type: ModelType) -> Definition | None:
    """What a file defines. None where there is none."""
    with translated(str(file)):
        try:
            content = file.read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
    found = defined(content, str(file), model_type)
    return None if found is None else Definition(found[0], file, found[1])


def defined(content: bytes, where: str, model_type: ModelType) -> tuple[Model, str | None] | None:
    """The model that is defined, and the id that it is an alias of. None where it is one of another type than that of
    its folder.
    """
    document = yamlmapping.decode(content, where, NOUN)
    model_id, name, declared = (document.get(key) for key in ("id", "name", "type"))
    if not (isinstance(model_id, str) and isinstance(name, str)):
        raise Corrupt(where, expected=f"{NOUN}, with a text as its id and one as its name", found="none")
    try:
        if isinstance(declared, str) and ModelType(declared) != model_type:
            return None
        alias_of = document.get(ALIAS)
        return Model(model_type, model_id, name), alias_of if isinstance(alias_of, str) else None
    except UsageError as error:
        raise Corrupt(where, expected=NOUN, found=error.message) from None


def _type_of(folders: Path) -> ModelType | None:
    try:
        return type_at(folders.as_posix())
    except UsageError:
        return None


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        with translated(str(error.filename)):
            raise error
