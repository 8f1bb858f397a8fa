"""A bucket with many artifacts, as a team would have written them: proper metadata, and an index of all."""

import hashlib
import json
from collections.abc import Mapping
from uuid import NAMESPACE_URL, uuid5

from bayou.domain.artifacts import Artifact, Owner, OwnerType
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.layout.artifacts import LATEST, Part, VersionFile, name_folder
from bayou.remotes import Format
from bayou.storage.port import Store
from bayou.testing.machines import Machine
from bayou.wire import metadata
from bayou.wire.times import to_text

EPOCH_NS = 1_790_000_000 * 10**9
_DAY_NS = 86_400 * 10**9


def model(number: int, type_path: str = "aws/vpc") -> Model:
    return Model(ModelType(type_path), f"id-{number}", f"model-{number}")


def version(  # noqa: PLR0913 - what differs between versions
    owner: Model,
    name: str,
    number: int,
    content: bytes | Mapping[str, object],
    *,
    keep: int | str = 10,
    step: str | None = None,
    lifetime: str = "infinite",
    created_ns: int | None = None,
    content_type: str = "application/json",
    **tags: str,
) -> dict[str, bytes]:
    """The two files of a version."""
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    artifact = Artifact(
        id=str(uuid5(NAMESPACE_URL, f"{owner}/{name}/{number}")),
        name=name,
        version=number,
        content_type=content_type,
        lifetime=lifetime,
        garbage_collection=keep,
        tags={"type": "resource", "modelName": owner.name or owner.id, **tags},
        owner=Owner(owner_type=OwnerType.MANUAL, owner_ref="somebody", workflow_name=step and "flow", step_name=step),
        created_at=to_text(EPOCH_NS + number * _DAY_NS if created_ns is None else created_ns),
        size=len(raw),
        checksum=hashlib.sha256(raw).hexdigest(),
    )
    return {
        VersionFile(owner, name, number, Part.RAW).path: raw,
        VersionFile(owner, name, number, Part.METADATA).path: metadata.encode(artifact),
    }


def latest(owner: Model, name: str, number: int) -> dict[str, bytes]:
    return {f"{name_folder(owner, name)}/{LATEST}": str(number).encode()}


def lake(models: int = 5, names: int = 1, versions: int = 2, type_path: str = "aws/vpc") -> dict[str, bytes]:
    """Models with names with versions, each a small JSON document."""
    files: dict[str, bytes] = {}
    for one in range(models):
        owner = model(one, type_path)
        for name in (f"state-{number}" for number in range(names)):
            for number in range(1, versions + 1):
                content = {"model": one, "version": number}
                files |= version(owner, name, number, content, env="prod" if one % 2 else "dev")
            files |= latest(owner, name, versions)
    return files


async def fill(store: Store, files: Mapping[str, bytes], format_: Format = Format.DUAL, namespace: str = "") -> Machine:
    """Put the files into a bucket, and list them in an index of this format."""
    machine = Machine(store, namespace)
    await machine.push(files)
    if format_ is Format.SHARDED:
        await machine.remote.migrate(lambda: True)
    machine.asked()
    return machine
