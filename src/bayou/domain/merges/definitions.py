"""One model that two machines defined with different ids: the published id stays, and both lead to the model."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias

from bayou.domain.merges.resolution import Rehome, TakeRemote

ALIAS = "aliasOf"
"""In a definition: the id that counts. Synced as any definition is, so whoever has the data knows whose it is."""

Aliases: TypeAlias = frozenset[frozenset[str]]
"""Pairs of ids that are one model. They only ever grow, so two machines' lists merge by union."""


def merge_definitions(
    local: Mapping[str, Any], remote: Mapping[str, Any], *, written_here: bool
) -> TakeRemote | Rehome:
    ours, theirs = local.get("id"), remote.get("id")
    if isinstance(ours, str) and isinstance(theirs, str) and ours != theirs:
        return Rehome(given_up=ours, kept=theirs)
    return TakeRemote(keep_aside=written_here)


def alias_of(definition: Mapping[str, Any], kept: str) -> dict[str, Any]:
    """The definition of an id that was given up. It goes on being defined: what was published under it is no orphan."""
    return {**definition, ALIAS: kept}


def with_alias(aliases: Aliases, rehomed: Rehome) -> Aliases:
    return aliases | {frozenset({rehomed.given_up, rehomed.kept})}


def ids_of_model(aliases: Iterable[AbstractSet[str]], model_id: str) -> frozenset[str]:
    """Every id under which artifacts of this model may lie, over any number of conflicts."""
    known = {model_id}
    pairs = list(aliases)
    while reached := {i for pair in pairs if not known.isdisjoint(pair) for i in pair} - known:
        known |= reached
    return frozenset(known)
