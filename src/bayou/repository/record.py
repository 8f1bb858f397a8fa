"""Records: what users get of a version. Its metadata is there at once, its content is read when it is asked for."""

import hashlib
import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from bayou.catalog import Row
from bayou.catalog.attributes import attributes_of, has_attributes
from bayou.domain.artifacts import MODEL_TAG, SPEC_TAG, TYPE_TAG, Artifact, ArtifactKey, Owner
from bayou.domain.models import Model
from bayou.errors import Corrupt, ErrorKind, NotFound
from bayou.layout.artifacts import Part
from bayou.repository.ephemeral import Held
from bayou.repository.reads import Found
from bayou.repository.versions import path_of
from bayou.storage.oserrors import translated
from bayou.tree import Tree

_CHUNK = 2**20

Hydrate = Callable[[ArtifactKey, int], bool]
"""Fetches the content of a version from where it is; says whether it is on this machine now."""


class Record:
    """One version. Its properties are called as the fields of a query are, in the Python way of writing them."""

    def __init__(
        self,
        row: Row,
        tree: Tree | None,
        *,
        hydrate: Hydrate | None = None,
        content: bytes | None = None,
        abroad: Callable[[], bytes | None] | None = None,
    ) -> None:
        """`tree` is that of the row's namespace, if its files are within reach; `content` what is in memory anyhow;
        `abroad` reads what has no place on this machine.
        """
        self._row = row
        self._tree = tree
        self._hydrate = hydrate
        self._content = content
        self._abroad = abroad

    @property
    def artifact(self) -> Artifact:
        return self._row.artifact

    @property
    def model(self) -> Model:
        return self._row.model

    @property
    def key(self) -> ArtifactKey:
        return ArtifactKey(self.model, self.name)

    @property
    def id(self) -> str:
        return self.artifact.id

    @property
    def name(self) -> str:
        return self.artifact.name

    @property
    def version(self) -> int:
        return self.artifact.version

    @property
    def is_latest(self) -> bool:
        return self._row.is_latest

    @property
    def created_at(self) -> str:
        return self.artifact.created_at

    @property
    def namespace(self) -> str:
        return self._row.namespace

    @cached_property
    def attributes(self) -> Mapping[str, object]:
        """The JSON object that the content is; empty where it is none, or not on this machine (repository spec 5.3)."""
        content = self._bytes() if has_attributes(self.content_type) else None
        return attributes_of(content) if content else {}

    @property
    def tags(self) -> Mapping[str, str]:
        return self.artifact.tags

    @property
    def model_name(self) -> str:
        return self.tags.get(MODEL_TAG, "")

    @property
    def model_id(self) -> str:
        return self.model.id

    @property
    def model_type(self) -> str:
        return str(self.model.type)

    @property
    def spec_name(self) -> str:
        return self.tags.get(SPEC_TAG, "")

    @property
    def data_type(self) -> str:
        return self.tags.get(TYPE_TAG, "")

    @property
    def content_type(self) -> str:
        return self.artifact.content_type

    @property
    def lifetime(self) -> str:
        return self.artifact.lifetime

    @property
    def owner(self) -> Owner | None:
        return self.artifact.owner

    @property
    def owner_type(self) -> str:
        return str(self.owner.owner_type) if self.owner else ""

    @property
    def streaming(self) -> bool:
        return self.artifact.streaming

    @property
    def size(self) -> int:
        return self.artifact.size or 0

    @property
    def content(self) -> object:
        """JSON as what it says, text as text, and anything else, or what is not on this machine, as "" (5.3)."""
        content = self._bytes() if self.artifact.is_text else None
        if content is None:
            return ""
        return self.attributes if has_attributes(self.content_type) else content.decode(errors="replace")

    @property
    def owner_ref(self) -> str:
        return self.owner.owner_ref if self.owner else ""

    @property
    def workflow_id(self) -> str:
        return (self.owner.workflow_id if self.owner else None) or ""

    @property
    def workflow_run_id(self) -> str:
        return (self.owner.workflow_run_id if self.owner else None) or ""

    @property
    def workflow_name(self) -> str:
        return self.artifact.chain.workflow

    @property
    def job_name(self) -> str:
        return self.artifact.chain.job

    @property
    def step_name(self) -> str:
        return self.artifact.chain.step

    @property
    def source(self) -> str:
        return (self.owner.source if self.owner else None) or ""

    @property
    def checksum(self) -> str | None:
        return self.artifact.checksum

    @property
    def lifecycle(self) -> str:
        return str(self.artifact.lifecycle)

    @property
    def renamed_to(self) -> str | None:
        return self.artifact.renamed_to

    @property
    def garbage_collection(self) -> int | str:
        return self.artifact.garbage_collection

    @property
    def path(self) -> Path:
        """The file with the content. Read it, never write to it; it need not be on this machine."""
        if self._tree is None:
            raise self._not_here()
        return self._tree.locate(self._raw)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The content as a binary stream."""
        if self._tree is None:
            content = self._bytes()
            if content is None:
                raise self._not_here()
            yield BytesIO(content)
            return
        self._fetch()
        with self._tree.open(self._raw) as file:
            if file is None:
                raise self._not_here()
            yield file

    def read(self, *, verify: bool = False) -> bytes:
        """All of the content; verified against the checksum that was noted when it was written, where there is one."""
        content = self._bytes()
        if content is None:
            raise self._not_here()
        if verify:
            self._check(hashlib.sha256(content).hexdigest())
        return content

    def verify(self) -> None:
        """Compare the content with the checksum that was noted when it was written; `Corrupt` where they differ.

        Streaming data has no checksum: it may have grown.
        """
        digest = hashlib.sha256()
        for chunk in self.chunks():
            digest.update(chunk)
        self._check(digest.hexdigest())

    def save(self, target: Path) -> None:
        """Write the content to a file, which has all of it or stays as it was."""
        with translated(str(target)):
            temporary = target.with_name(f".{target.name}.{uuid.uuid4()}.tmp")
            try:
                with temporary.open("xb") as file:
                    for chunk in self.chunks():
                        file.write(chunk)
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)

    def chunks(self) -> Iterator[bytes]:
        """The content piece by piece, however large it is."""
        with self.open() as source:
            while chunk := source.read(_CHUNK):
                yield chunk

    def text(self, *, errors: str = "strict") -> str:
        """The content as text, whatever its type says. `errors` is as with `bytes.decode`."""
        try:
            return self.read().decode(errors=errors)
        except UnicodeDecodeError as error:
            found = f"bytes that are no such text at {error.start}"
            raise Corrupt(
                self._raw, expected="UTF-8", found=found, remedy='Read the bytes, or give errors="replace".'
            ) from None

    def json(self) -> object:
        """The content as JSON, whatever its type says."""
        try:
            return json.loads(self.text())
        except (ValueError, RecursionError) as error:
            raise Corrupt(
                self._raw, expected="JSON", found=f"something else ({error})", remedy="Read it as text or bytes."
            ) from None

    def to_dict(self, *, content: bool = False) -> dict[str, object]:
        """As `--json` shows it: the fields of a query, in their order (repository spec 5.3)."""
        fields: dict[str, object] = {
            "id": self.id,
            "name": self.name,
            "version": self.version,
            "isLatest": self.is_latest,
            "createdAt": self.created_at,
            "namespace": self.namespace,
            "attributes": dict(self.attributes),
            "tags": dict(self.tags),
            "modelName": self.model_name,
            "modelId": self.model_id,
            "modelType": self.model_type,
            "specName": self.spec_name,
            "dataType": self.data_type,
            "contentType": self.content_type,
            "lifetime": self.lifetime,
            "ownerType": self.owner_type,
            "streaming": self.streaming,
            "size": self.size,
            "content": self.content if content else "",
            "ownerRef": self.owner_ref,
            "workflowRunId": self.workflow_run_id,
            "workflowName": self.workflow_name,
            "jobName": self.job_name,
            "stepName": self.step_name,
            "source": self.source,
        }
        if not content:
            del fields["content"]
        return fields

    def __repr__(self) -> str:
        latest = ", latest" if self.is_latest else ""
        return (
            f"<Record {self.model}/{self.name} version {self.version}{latest}, {self.content_type}, {self.size} bytes>"
        )

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        from html import escape  # noqa: PLC0415 - for notebooks only

        cells = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(_shown(value))}</td></tr>"
            for name, value in self.to_dict().items()
            if value not in ("", {}, None)
        )
        return f"<table>{cells}</table>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[str, ArtifactKey, int, str]:
        return self.namespace, self.key, self.version, self.id

    @property
    def _raw(self) -> str:
        return path_of(self.key, self.version, Part.RAW)

    def _bytes(self) -> bytes | None:
        if self._content is None and self._abroad is not None:
            self._content = self._abroad()
        if self._content is not None:
            return self._content
        self._fetch()
        return self._tree.read(self._raw) if self._tree else None

    def _fetch(self) -> None:
        if self._hydrate and (self._tree is None or self._tree.size(self._raw) is None):
            self._hydrate(self.key, self.version)

    def _check(self, found: str) -> None:
        if self.checksum and found != self.checksum:
            raise Corrupt(
                self._raw, expected=f"sha256 {self.checksum}", found=f"sha256 {found}", kind=ErrorKind.HASH_MISMATCH
            )

    def _not_here(self) -> NotFound:
        return NotFound(
            f"the content of version {self.version} of {self.key} is not on this machine",
            kind=ErrorKind.CONTENT_MISSING,
            remedy="Fetch it first: bayou sync --hydrate.",
        )


def of_found(tree: Tree, found: Found, *, is_latest: bool, hydrate: Hydrate | None = None) -> Record:
    """The record of a version that was read from its files."""
    row = Row(tree.namespace, found.key.model, found.artifact, is_latest, hydrated=True, row=0)
    return Record(row, tree, hydrate=hydrate)


def of_held(namespace: str, held: Held) -> Record:
    """The record of a version that is in memory."""
    row = Row(namespace, held.key.model, held.artifact, held.is_latest, hydrated=True, row=0)
    return Record(row, None, content=held.raw)


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 200 else f"{text[:199]}\u2026"
