"""A bucket in memory that replicas share: objects, the index that lists them, and tombstones.

Paths are those of the layout; what lies there is JSON. Data that is called `log…` is a stream.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from bayou.domain.content import ContentId
from bayou.domain.units import Kind
from bayou.layout.artifacts import VersionFile
from bayou.layout.meanings import meaning
from bayou.layout.units import classifier

STORE = "store"

classify = cache(classifier(lambda file: file.name.startswith("log")))


def content_of(body: bytes) -> ContentId:
    return hashlib.sha256(body).hexdigest()


def metadata(version_id: str, number: int, *, streaming: bool = False) -> bytes:
    return json.dumps({"id": version_id, "version": number, "streaming": streaming}).encode()


@cache
def number_of(path: str) -> int:
    found = meaning(path)
    return found.version if isinstance(found, VersionFile) else 0


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
        """Remove what is not listed, if all of its unit that lies here was buried: versions may well share a `raw`."""
        for unit in {classify(path) for path in self.objects.keys() - self.index.keys()}:
            there = [path for path in unit.members if path in self.objects]
            if not any(path in self.index or self.holds(path) not in self.buried.get(path, ()) for path in there):
                self.remove(there)

    def repair(self) -> None:
        """What `doctor` does about entries that contradict their objects for longer than any upload takes: the index
        says what lies there, and nothing of a version of which a part is lost.
        """
        whole = [path for path in self.index if all(member in self.objects for member in classify(path).members)]
        self.index = {path: self.holds(path) for path in whole}
        for path in [path for path in self.index if classify(path).kind is Kind.LATEST]:
            if path.replace("latest", f"{int(self.objects[path])}/raw") not in self.index:
                self.remove([path])

    def bury(self, contents: Mapping[str, ContentId]) -> None:
        for path, content in contents.items():
            self.buried.setdefault(path, set()).add(content)

    def revoke(self, contents: Mapping[str, ContentId]) -> None:
        for path, content in contents.items():
            self.buried.get(path, set()).discard(content)
