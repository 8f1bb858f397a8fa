"""Owning: whose the rows of a write are, by the definitions in the bucket, and whether we may write there."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from bayou.domain.artifacts import check_owner
from bayou.domain.entries import Entry
from bayou.domain.models import Model, derived_id
from bayou.domain.modeltypes import ModelType
from bayou.domain.scopes import EVERYTHING, scope_of
from bayou.errors import Conflict, Corrupt, ErrorKind
from bayou.layout.artifacts import Part
from bayou.layout.definitions import AutoDefinition, definition_stem
from bayou.pipelines.frames import Version
from bayou.pipelines.naming import Name
from bayou.pipelines.reading import whole
from bayou.remotes import Head, ObjectRemote, Snapshot
from bayou.remotes.looking import Place
from bayou.remotes.objects import each
from bayou.repository.definitions import automatic, defined, is_called
from bayou.tree.names import artifact_of

Whose = tuple[str, str | None, str | None]
"""The type of a model, and its id, or else its name."""

_DEFINITIONS = "auto-definitions"


def whose(version: Version) -> Whose:
    return version.type, version.model_id, None if version.model_id else version.model_name


async def models_of(
    remote: ObjectRemote, head: Head, wanted: Mapping[Whose, str | None]
) -> tuple[dict[Whose, Model], dict[str, bytes]]:
    """The models that are written to, each with its name where there is one; and the definitions of those that nobody
    has defined, by path.
    """
    models = {one: Model(ModelType(one[0]), one[1], name) for one, name in wanted.items() if one[1] is not None}
    unknown = {
        one: Model(model_type, derived_id(remote.place.namespace, model_type, one[2]), one[2])
        for one in wanted
        if one[2] is not None
        for model_type in (ModelType(one[0]),)
    }
    there = await remote.load(scope_of(unknown.values()), head)
    listed = replace(there, scope=EVERYTHING).entries(_DEFINITIONS)
    known = await each(remote.place.width, unknown.values(), lambda model: _defined(remote.place, listed, model))
    fresh = dict(automatic(model) for model, one in zip(unknown.values(), known, strict=True) if one is None)
    for (one, model), found in zip(unknown.items(), known, strict=True):
        models[one] = found or model
    return models, fresh


async def _defined(place: Place, listed: Mapping[str, Entry], model: Model) -> Model | None:
    """The model with this name, where there is a definition."""
    assert model.name is not None  # noqa: S101 - it is looked for by its name
    stem = definition_stem(model.name, model.id)
    direct = AutoDefinition(model.type, stem).path
    # A name that can be no file's: others may have filed it under an id of their own.
    others = [path for path in listed if path.startswith(f"{_DEFINITIONS}/{model.type}/")] if stem != model.name else []
    for path in dict.fromkeys([direct, *others]):
        if path in listed:
            found = defined(await whole(place, listed[path]), path, model.type)
            if found is not None and is_called(found[0], model.name):
                return Model(model.type, found[1] or found[0].id, model.name)
    if direct in listed:
        raise Conflict(
            f"{direct} is there already, and defines another model than {model.name!r}",
            kind=ErrorKind.ALREADY_EXISTS,
            remedy="Give one of the two models another name.",
        )
    return None


async def check_owners(place: Place, there: Snapshot, names: Iterable[tuple[Name, Iterable[int]]]) -> None:
    """Nobody but the owner writes the next version of a name, as anywhere else. Each with the numbers it has."""

    async def check(pair: tuple[Name, Iterable[int]]) -> None:
        name, numbers = pair
        for number in sorted(numbers, reverse=True):
            entry = there.find(name.path(number, Part.METADATA))
            if entry is None:
                continue
            with suppress(Corrupt):  # it has no say, so that it does not keep its owner from writing a new one
                last = artifact_of(await whole(place, entry), entry.key, name.key, number)
                for owner in name.owners:
                    check_owner(name.key.name, last.owner, owner)
                return

    await each(place.width, names, check)
