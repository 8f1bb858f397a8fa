"""Something to ask: a catalog whose rows are put in directly, and a datastore that is written to properly."""

# ruff: noqa: SLF001 - rows as no file could say them

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from bayou.catalog import Catalog
from bayou.catalog.attributes import LARGEST, attributes_of, first_level, has_attributes
from bayou.catalog.rows import STORED
from bayou.domain.artifacts import Artifact, ArtifactKey
from bayou.domain.models import Model
from bayou.query import Results, query
from bayou.query.fields import FIELDS
from bayou.repository.saving import save
from bayou.testing.bench import Bench
from bayou.testing.strategies.predicates import Subject
from bayou.tree import Tree
from bayou.wire.times import to_milliseconds


class Contents(Tree):
    """A tree in memory, which counts what is read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, folder)
        self.files: dict[str, bytes] = {}
        self.reads: list[str] = []

    def read(self, path: str, *, at_most: int | None = None) -> bytes | None:  # noqa: ARG002 - nothing is that large
        self.reads.append(path)
        return self.files.get(path)


class Shelf:
    """A catalog to fill."""

    def __init__(self, folder: Path) -> None:
        self.tree = Contents(folder / "tree")
        self.catalog = Catalog.open(folder / "catalog.db", self.tree)
        self._names = count(1)

    def clear(self) -> None:
        with self.catalog._database.writing() as connection:
            connection.execute("DELETE FROM artifact; DELETE FROM tag; DELETE FROM attribute")
        self.tree.files.clear()
        self.tree.reads.clear()

    def put(self, *subjects: Subject) -> None:
        """In this order, which is that of their row numbers."""
        with self.catalog._database.writing() as connection:
            for subject in subjects:
                fields, content = subject.fields, subject.content
                known, first = self._attributes(fields, content)
                row = {
                    **dict.fromkeys(STORED, ""),
                    **{field.column: fields.get(name, 0 if field.type != "string" else "")
                       for name, field in FIELDS.items() if field.column},
                    "type": "t", "model_id": "m", "name_row": next(self._names), "size_known": 1, "stamp": 0,
                    "garbage_collection": 10,
                    "tags": json.dumps(fields["tags"], ensure_ascii=False),
                    "created_ms": to_milliseconds(str(fields["createdAt"])),
                    "hydrated": int(content is not None), "attributes_known": int(known),
                }  # fmt: skip
                row.pop("row")
                sql = f"INSERT INTO artifact({', '.join(row)}) VALUES({', '.join('?' * len(row))}) RETURNING row"
                ((number,),) = connection.execute(sql, tuple(row.values())).fetchall()
                for key, value in dict(fields["tags"]).items():  # type: ignore[call-overload]
                    connection.execute("INSERT INTO tag VALUES(?, ?, ?)", (number, key, value))
                for key, kind, value in first:
                    connection.execute("INSERT INTO attribute VALUES(?, ?, ?, ?)", (number, key, kind, value))
                if content is not None:
                    self.tree.files[f"data/t/m/{fields['name']}/{fields['version']}/raw"] = content

    @staticmethod
    def _attributes(fields: dict[str, object], content: bytes | None) -> tuple[bool, Sequence[tuple[object, ...]]]:
        if not has_attributes(str(fields["contentType"])):
            return True, ()
        if content is None or len(content) > LARGEST:
            return False, ()
        first = first_level(attributes_of(content))
        return first is not None, first or ()


@dataclass
class Desk:
    """A datastore with one model, and short ways to write to it and to ask it."""

    bench: Bench

    def write(self, name: str, content: object, *, model: Model | None = None, **said: object) -> Artifact:
        """Tags are what is not a part of a draft."""
        drafted = {one: said.pop(one) for one in ("content_type", "owner", "lifetime", "streaming") if one in said}
        tags = {"type": "resource", "modelName": model.name if model and model.name else "web-01", **said}
        key = ArtifactKey(model or self.bench.model, name)
        self.bench.clock.now_ns += 1_000_000_000
        return save(self.bench.holdings, key, content, self.bench.draft(tags=tags, **drafted))

    def ask(self, predicate: str | None = None, **options: Any) -> Results:  # noqa: ANN401 - of `query`
        return query(self.bench.holdings.catalog, self.bench.tree, predicate, **options)

    def names(self, predicate: str | None = None, **options: Any) -> list[str]:  # noqa: ANN401 - of `query`
        return [f"{record.name} {record.version}" for record in self.ask(predicate, **options)]

    def dehydrate(self, name: str, version: int = 1) -> bytes:
        """Take the content away, as if it was never fetched."""
        raw = self.bench.path(name, version, "raw")
        content = raw.read_bytes()
        raw.unlink()
        self.bench.holdings.catalog.refresh(self.bench.key(name))
        return content
