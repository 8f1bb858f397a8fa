"""Catalogs: files as any client may leave them, and all that a catalog says about them."""

# ruff: noqa: S608, SLF001 - it looks inside on purpose

import os
import shutil
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bayou.catalog import Catalog
from bayou.domain.artifacts import Artifact, ArtifactKey, Chain, Owner, OwnerType
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.layout.artifacts import name_folder
from bayou.tree import Tree
from bayou.wire import metadata

TYPE = "aws/ec2/vpc"
MODEL_ID = "0b2f6c1e-7a51-4c3e-9a55-1f4f0d6a1c01"


def key_of(name: str = "state", model_id: str = MODEL_ID, model_type: str = TYPE) -> ArtifactKey:
    return ArtifactKey(Model(ModelType(model_type), model_id), name)


def artifact_of(key: ArtifactKey, version: int, *, chain: Chain = Chain(), **changes: Any) -> Artifact:  # noqa: ANN401, B008
    fields = {
        "id": f"{key.model.id[:30]}{version:06}",
        "name": key.name,
        "version": version,
        "content_type": "application/json",
        "lifetime": "infinite",
        "garbage_collection": 10,
        "tags": {"type": "resource", "modelName": "web"},
        "owner": Owner(
            owner_type=OwnerType.MODEL_METHOD,
            owner_ref=key.model.id,
            workflow_name=chain.workflow or None,
            job_name=chain.job or None,
            step_name=chain.step or None,
        ),
        "created_at": "2026-04-02T09:15:00.125Z",
    }
    return Artifact(**{**fields, **changes})


@dataclass
class Files:
    """The files of one repo, changed as a client does that knows of no catalog."""

    root: Path
    tree: Tree = field(init=False)

    def __post_init__(self) -> None:
        self.tree = Tree(self.root / ".swamp", self.root / ".swamp", durable=False)

    @property
    def path(self) -> Path:
        return self.root / ".swamp" / "catalog.bayou.db"

    def folder(self, key: ArtifactKey) -> Path:
        return self.root / ".swamp" / name_folder(key.model, key.name)

    def versions(self, key: ArtifactKey) -> list[int]:
        folder = self.folder(key)
        return sorted(int(one.name) for one in folder.iterdir() if one.name.isdigit()) if folder.is_dir() else []

    def claim(self, key: ArtifactKey) -> int:
        number = max(self.versions(key), default=0) + 1
        (self.folder(key) / str(number)).mkdir(parents=True)
        return number

    def finish(self, key: ArtifactKey, number: int, content: bytes | None = b'{"a":1}', **changes: Any) -> Artifact:  # noqa: ANN401
        """Content first, metadata last. Without content it is as a lazy pull leaves it."""
        artifact = artifact_of(key, number, **{"size": len(content or b""), **changes})
        folder = self.folder(key) / str(number)
        if content is not None:
            (folder / "raw").write_bytes(content)
        self.put(folder / "metadata.yaml", metadata.encode(artifact))
        return artifact

    def put(self, path: Path, content: bytes) -> None:
        temporary = self.root / f".{uuid.uuid4()}.tmp"
        temporary.write_bytes(content)
        temporary.rename(path)

    def mark(self, key: ArtifactKey, number: int | None) -> None:
        if number is None:
            (self.folder(key) / "latest").unlink(missing_ok=True)
        else:
            self.put(self.folder(key) / "latest", str(number).encode())

    def write(self, key: ArtifactKey, content: bytes | None = b'{"a":1}', **changes: Any) -> Artifact:  # noqa: ANN401
        number = self.claim(key)
        artifact = self.finish(key, number, content, **changes)
        self.mark(key, number)
        return artifact

    def delete(self, key: ArtifactKey, number: int | None = None) -> None:
        shutil.rmtree(self.folder(key) if number is None else self.folder(key) / str(number), ignore_errors=True)

    def age(self, seconds: float = 60) -> None:
        """As if all of it had been written some time ago: what a sweep has seen then, it need not look at again."""
        for folder, _, names in os.walk(self.root / ".swamp" / "data"):
            for path in (folder, *(f"{folder}/{name}" for name in names)):
                changed = Path(path).stat().st_mtime_ns - int(seconds * 1e9)
                os.utime(path, ns=(changed, changed))


def contents(catalog: Catalog) -> dict[str, list[tuple[Any, ...]]]:
    """All that a catalog says, but for the numbers of its rows and the times of files."""
    with catalog._database.reading() as connection:
        columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(artifact)")]
        told = [f"a.{name}" for name in columns if name not in {"row", "name_row", "stamp"}]
        which = "a.namespace, a.type, a.model_id, a.name, a.version"
        return {
            "artifact": sorted(connection.execute(f"SELECT {', '.join(told)} FROM artifact a"), key=repr),
            "tag": sorted(
                connection.execute(f"SELECT {which}, t.key, t.value FROM tag t JOIN artifact a ON a.row = t.artifact")
            ),
            "attribute": sorted(
                connection.execute(
                    f"SELECT {which}, t.key, t.kind, t.value FROM attribute t JOIN artifact a ON a.row = t.artifact"
                ),
                key=repr,
            ),
            "left over": [
                *connection.execute("SELECT * FROM tag WHERE artifact NOT IN (SELECT row FROM artifact)"),
                *connection.execute("SELECT * FROM attribute WHERE artifact NOT IN (SELECT row FROM artifact)"),
                *connection.execute("SELECT * FROM artifact WHERE name_row NOT IN (SELECT name_row FROM name)"),
            ],
            "problem": sorted(connection.execute("SELECT path, message FROM problem")),
        }


def rebuilt(files: Files, path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """What a new catalog says, made from the files alone."""
    with Catalog.open(path, files.tree) as new:
        new.rebuild()
        return contents(new)
