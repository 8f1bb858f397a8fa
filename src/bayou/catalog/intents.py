"""Intents: what is about to change, written down before it does, so that nobody's crash leaves the rows behind."""

from collections.abc import Iterable, Mapping
from typing import cast

import apsw

from bayou.catalog.owners import Owner, is_alive, this_process
from bayou.catalog.reading import Hint
from bayou.domain.artifacts import Artifact, ArtifactKey
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.layout.typefolders import type_at


class Settling:
    """Handed to whoever changes files: it may say what it wrote, to spare the catalog reading that back."""

    def __init__(self) -> None:
        self._hints: dict[ArtifactKey, dict[int, Hint]] = {}

    def wrote(self, key: ArtifactKey, artifact: Artifact, raw: bytes | None = None) -> None:
        """This version is finished. `raw` is its whole content, where that is at hand.

        It is believed about this version as long as the files agree that there is one, and about nothing else.
        """
        self._hints.setdefault(key, {})[artifact.version] = Hint(artifact, raw)

    def hints(self, key: ArtifactKey) -> Mapping[int, Hint]:
        return self._hints.get(key, {})


def intend(connection: apsw.Connection, keys: Iterable[ArtifactKey]) -> list[int]:
    """Write it down, within a transaction; the numbers to take it back by."""
    numbers = []
    for key in keys:
        connection.execute(
            "INSERT INTO intent(type, model_id, name, host, pid, started) VALUES(?, ?, ?, ?, ?, ?)",
            (key.model.type.normalised, key.model.id, key.name, *this_process()),
        )
        numbers.append(connection.last_insert_rowid())
    return numbers


def forget(connection: apsw.Connection, intents: Iterable[int]) -> None:
    connection.executemany("DELETE FROM intent WHERE intent = ?", ((intent,) for intent in intents))


def left_behind(connection: apsw.Connection) -> dict[int, ArtifactKey]:
    """The intents of processes that are gone."""
    found = list(connection.execute("SELECT intent, host, pid, started, type, model_id, name FROM intent"))
    if not found:
        return {}
    owners = {Owner(*owner) for _, *owner, _, _, _ in found}
    gone = {owner for owner in owners if not is_alive(owner)}
    return {
        intent: key_at(type_path, model_id, name)
        for intent, host, pid, started, type_path, model_id, name in found
        if Owner(host, pid, started) in gone
    }


def key_at(type_path: str, model_id: str, name: str) -> ArtifactKey:
    """The key of what the tables call by these three."""
    return ArtifactKey(Model(cast(ModelType, type_at(type_path)), model_id), name)
