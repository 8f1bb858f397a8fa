"""Models: which id the model of a type and a name has, and which model somebody means (design 4.7)."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from bayou.domain.models import Model, derived_id
from bayou.domain.modeltypes import ModelType
from bayou.domain.names import check_model_name
from bayou.errors import Conflict, ErrorKind, NotFound, UsageError
from bayou.layout.definitions import definition_stem
from bayou.repository.definitions import Definition, automatic, find, is_called, walk
from bayou.tree import Tree

_AUTO = "auto-definitions"
_SHORTEST_PREFIX = 4

_State = tuple[tuple[int, int] | None, ...]


class _Known(NamedTuple):
    model: Model
    files: tuple[Path, ...]
    """Where it was found, and where a definition that counts more would be."""
    state: _State


class Models:
    """`folder` is the repo's own folder of definitions, which people write; None where there is no repo."""

    def __init__(self, tree: Tree, folder: Path | None) -> None:
        self._tree = tree
        self._folder = folder
        self._known: dict[tuple[ModelType, str], _Known] = {}

    def of(self, model_type: ModelType, name: str) -> Model:
        """The model that is written to. One that nobody has defined is defined now, the same on every machine."""
        check_model_name(name)
        return self.find(model_type, name) or self._define(model_type, name)

    def find(self, model_type: ModelType, name: str) -> Model | None:
        """The model with this name, where there is a definition: what people wrote counts more than what we did."""
        known = self._known.get((model_type, name))
        if known is not None and _state(known.files) == known.state:
            return known.model
        state_before = _state(self._counting(model_type, name))
        found = self._find(model_type, name)
        if found is None:
            self._known.pop((model_type, name), None)
            return None
        files = (*self._counting(model_type, name), found.file)
        state = _state(files)
        if state[:-1] == state_before:
            self._known[model_type, name] = _Known(found.model, files, state)
        return found.model

    def all(self) -> Iterator[Model]:
        """All that are defined, in the repo or in the datastore."""
        for folder in self._folders():
            for definition in walk(folder):
                yield definition.model

    def meant(self, reference: str, candidates: Iterable[Model]) -> Model:
        """Which of these is meant (`chosen`). Ids that were given up lead to the one that was kept."""
        models = list(candidates)
        if len({(model.type, model.id) for model in models}) > 1:
            kept = self.kept_ids()
            models = [kept.get(model, model) for model in models]
        return chosen(reference, models)

    def chain(self, model: Model) -> list[Model]:
        """A model by its id, and by the ids that lead to it."""
        return [model, *(given_up for given_up, kept in self.kept_ids().items() if kept == model)]

    def kept_ids(self) -> dict[Model, Model]:
        """Models as they are called by ids that were given up, and as they are called now."""
        found = (definition for folder in self._folders() for definition in walk(folder))
        return {each.model: Model(each.model.type, each.alias_of, each.model.name) for each in found if each.alias_of}

    def _find(self, model_type: ModelType, name: str) -> Definition | None:
        auto = definition_stem(name, derived_id(self._tree.namespace, model_type, name))
        stems = (_file_stem(name), auto) if self._folder else (auto,)
        found = (find(folder, model_type, name, stem) for folder, stem in zip(self._folders(), stems, strict=True))
        return next(filter(None, found), None)

    def _define(self, model_type: ModelType, name: str) -> Model:
        model = Model(model_type, derived_id(self._tree.namespace, model_type, name), name)
        path, content = automatic(model)
        with self._tree.change(path) as change:
            if change.create(path, content):
                return model
        found = self.find(model_type, name)  # somebody was faster
        if found is None:
            raise Conflict(
                f"{path} is there already, and defines another model than {name!r}",
                kind=ErrorKind.ALREADY_EXISTS,
                remedy="Give one of the two models another name.",
            )
        return found

    def _folders(self) -> tuple[Path, ...]:
        auto = self._tree.locate(_AUTO)
        return (self._folder, auto) if self._folder else (auto,)

    def _counting(self, model_type: ModelType, name: str) -> tuple[Path, ...]:
        """The places where a definition would count more than any other."""
        if self._folder is None:
            return ()
        of_type = self._folder.joinpath(*model_type.segments)
        return of_type, of_type / f"{_file_stem(name)}.yaml"


def chosen(reference: str, candidates: Iterable[Model]) -> Model:
    """The one of these that is meant by its name, by `TYPE/NAME`, by its id or by the beginning of that."""
    known = {}
    for model in candidates:
        if model.name is not None or (model.type, model.id) not in known:
            known[model.type, model.id] = model
    models = list(known.values())
    prefix, slash, name = reference.rpartition("/")
    if slash:
        models = [model for model in models if model.type == ModelType(prefix)]
    for matches in (
        [model for model in models if is_called(model, name)],
        [model for model in models if model.id == name],
        [model for model in models if len(name) >= _SHORTEST_PREFIX and model.id.startswith(name)],
    ):
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise _ambiguous(reference, matches)
    raise _missing(reference, models)


def _ambiguous(reference: str, matches: list[Model]) -> UsageError:
    shown = ", ".join(sorted(f"{model} ({model.id})" for model in matches))
    return UsageError(
        f"{reference!r} can be each of {shown}",
        kind=ErrorKind.INVALID_NAME,
        remedy="Write TYPE/NAME, or more of the id.",
    )


def _missing(reference: str, models: list[Model]) -> NotFound:
    from difflib import get_close_matches  # noqa: PLC0415 - for a message only

    names = {name: str(model) for model in models for name in (model.name or model.id, str(model))}
    near = sorted({names[name] for name in get_close_matches(reference, names, n=3)})
    return NotFound(
        f"there is no model {reference!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""),
        kind=ErrorKind.MODEL_MISSING,
        remedy="Check the name, or write TYPE/NAME. A model comes into being with what is first written to it.",
    )


def _file_stem(name: str) -> str:
    """What the file of a definition is called by whoever calls it by the name. A backslash is in no file of ours."""
    return name.replace("\\", "")


def _state(files: Iterable[Path]) -> _State:
    return tuple(map(_stamp, files))


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(file)  # noqa: PTH116 - before each write: a Path costs as much as the system call
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_ino
