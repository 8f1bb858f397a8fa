"""A snapshot: what an index lists, of everything or of some models. It stays as it is; parts are read on demand."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from bayou.domain.content import ContentId
from bayou.domain.entries import Entry
from bayou.domain.scopes import EVERYTHING, Scope
from bayou.layout.scoping import covers
from bayou.remotes.cache import Cache
from bayou.remotes.looking import Format
from bayou.remotes.parts import part_name
from bayou.wire.index import Index


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`parts` are the digests of the parts that were looked at, by name: equal digests, equal entries.

    So whoever remembers the digests that he agreed to has to look only at the parts that `changed` names. Of a part
    that several models share `entries` gives what is in scope.
    """

    format: Format
    """NONE: there is no index, and these are the objects that lie in the bucket."""
    token: str
    parts: Mapping[str, str]
    cache: Cache = field(repr=False)
    scope: Scope = EVERYTHING
    missing: tuple[str, ...] = ()
    """Shards that the meta lists and that are not there. `index rebuild` puts that right."""

    def changed(self, since: Mapping[str, str]) -> list[str]:
        """The parts that differ from those digests; of everything also those that are listed no more."""
        gone = since.keys() - self.parts.keys() if self.scope.models is None else set()
        return [*(name for name, digest in self.parts.items() if since.get(name) != digest), *sorted(gone)]

    def entries(self, part: str) -> dict[str, Entry]:
        listed = self._index(part).entries
        if self.scope.models is None:
            return dict(listed)
        return {path: entry for path, entry in listed.items() if covers(self.scope, path)}

    def find(self, path: str) -> Entry | None:
        return self.entries(part_name(path)).get(path)

    def all(self) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        for part in self.parts:
            found.update(self.entries(part))
        return found

    def contents(self) -> dict[str, ContentId | None]:
        """What the diff compares. None: an entry without a hash."""
        return {path: entry.sha256 for part in self.parts for path, entry in self.entries(part).items()}

    def skipped(self) -> dict[str, str]:
        """Entries that cannot be used, with the reason."""
        return {path: bad.why for part in self.parts for path, bad in self._index(part).skipped.items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self.all())

    def _index(self, part: str) -> Index:
        digest = self.parts.get(part)
        return Index({}) if digest is None else self.cache.part(digest).index(part)
