"""A bucket in memory that replicas share: objects, the index that lists them, and tombstones.

Artifacts are JSON here and paths are short, but they are classified as the layout would.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bayou.domain.content import ContentId
from bayou.domain.units import Kind, Unit

STORE = "store"

_VERSION = re.compile(r"(?P<name>data/t/[^/]+/(?P<short>[^/]+))/(?P<number>[0-9]+)/(?:raw|metadata\.yaml)")
_FOLDERS = {
    "outputs": Kind.OUTPUT,
    "workflow-runs": Kind.RUN,
    "auto-definitions": Kind.DEFINITION,
    "audit": Kind.AUDIT,
    "definitions-evaluated": Kind.DERIVED,
}


def content_of(body: bytes) -> ContentId:
    return hashlib.sha256(body).hexdigest()


def classify(path: str) -> Unit:
    match = _VERSION.fullmatch(path)
    if match:
        folder = f"{match['name']}/{match['number']}"
        kind = Kind.STREAM if match["short"].startswith("log") else Kind.VERSION
        return Unit(folder, kind, (f"{folder}/metadata.yaml", f"{folder}/raw"), f"{match['name']}/latest")
    if path.startswith("data/") and path.endswith("/latest"):
        return Unit(path, Kind.LATEST, (path,))
    return Unit(path, _FOLDERS.get(path.partition("/")[0], Kind.OTHER), (path,))


def metadata(version_id: str, number: int, *, streaming: bool = False) -> bytes:
    return json.dumps({"id": version_id, "version": number, "streaming": streaming}).encode()


def number_of(path: str) -> int:
    match = _VERSION.fullmatch(path)
    return int(match["number"]) if match else 0


@dataclass
class Bucket:
    """The remote: objects, the index that lists them, and tombstones. Anybody may write to any of the three."""

    objects: dict[str, bytes] = field(default_factory=dict)
    index: dict[str, ContentId | None] = field(default_factory=dict)
    buried: dict[str, set[ContentId]] = field(default_factory=dict)

    def put(self, files: Mapping[str, bytes]) -> None:
        self.objects.update(files)
        self.index.update((path, content_of(body)) for path, body in files.items())

    def remove(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.objects.pop(path, None)
            self.index.pop(path, None)

    def holds(self, path: str) -> ContentId | None:
        return content_of(self.objects[path]) if path in self.objects else None

    def sweep(self) -> None:
        """Remove what is not listed, if it is what was buried."""
        for path in self.objects.keys() - self.index.keys():
            if self.holds(path) in self.buried.get(path, ()):
                del self.objects[path]

    def repair(self) -> None:
        """What `doctor` does about entries that contradict their objects for longer than any upload takes."""
        self.index = {path: self.holds(path) for path in self.index if path in self.objects}
        for path in [path for path in self.index if classify(path).kind is Kind.LATEST]:
            if path.replace("latest", f"{int(self.objects[path])}/raw") not in self.index:
                self.remove([path])

    def bury(self, contents: Mapping[str, ContentId]) -> None:
        for path, content in contents.items():
            self.buried.setdefault(path, set()).add(content)

    def revoke(self, contents: Mapping[str, ContentId]) -> None:
        for path, content in contents.items():
            self.buried.get(path, set()).discard(content)
