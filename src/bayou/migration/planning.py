"""The plan of a migration: what of the source is to be copied, and what is done already. Pure: values in, values out.

What was carried last is what both sides agreed on. So what the target holds otherwise is the target's own, and stands.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from bayou.domain.content import ContentId, Graves, Snapshot
from bayou.domain.entries import Entry
from bayou.wire.migration import Carried

Rows: TypeAlias = Mapping[str, tuple[Carried, ...]]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What was carried, by path, oldest first. `copied` lies at the target, and nobody was told; `listed` was there for
    all to see, so what is gone of it was taken away by somebody; `begun` may lie there, if a kill came late enough.
    """

    copied: Rows = field(default_factory=dict)
    listed: Rows = field(default_factory=dict)
    begun: Rows = field(default_factory=dict)

    def of(self, path: str) -> tuple[Carried, ...]:
        return (*self.listed.get(path, ()), *self.copied.get(path, ()), *self.begun.get(path, ()))

    def contents(self, path: str) -> frozenset[ContentId]:
        return frozenset(one.sha256 for one in self.of(path))

    def says(self, path: str, content: ContentId) -> bool:
        """Whether it is written down that this was listed last."""
        last = self.listed.get(path, ())[-1:]
        return path not in self.copied and bool(last) and last[0].sha256 == content

    def agreed(self, path: str, there: ContentId | None) -> ContentId | None:
        """The content that both sides last held. What is there was listed, even if nobody lived to write it down."""
        listed = self.listed.get(path, ())
        rows = [*listed, *(one for one in self.of(path) if one.sha256 == there)]
        return max(rows, key=lambda one: one.at).sha256 if rows else None


@dataclass(frozen=True, slots=True)
class Source:
    entries: Mapping[str, Entry]
    graves: Graves = field(default_factory=dict)
    """What was deleted there on purpose."""


@dataclass(frozen=True, slots=True)
class Target:
    listed: Snapshot
    """What counts there."""
    lying: Mapping[str, int]
    """The objects that there are, with their sizes."""
    graves: Graves = field(default_factory=dict)
    """What was deleted there. Until it is swept it still lies there, and keeps nobody from the place."""


@dataclass(frozen=True, slots=True)
class Plan:
    copies: Mapping[str, Entry]
    """To be copied."""
    replaces: Mapping[str, frozenset[ContentId]]
    """What may lie where these go: what was carried there before, and what was deleted there."""
    ready: Mapping[str, Carried]
    """Copied by a run before, and not listed yet."""
    done: Mapping[str, ContentId]
    theirs: frozenset[str]
    """Changed or removed at the target since it was carried, and not at the source: that stands."""
    differing: frozenset[str]
    """Something else than at the source, and nobody carried it there: named, and left alone."""
    gone: Mapping[str, ContentId]
    """Deleted at the source, on purpose, since it was carried."""
    strays: frozenset[str]
    """Copied, never listed, and at the source no more."""
    unsaid: frozenset[str] = frozenset()
    """Listed as at the source, and the manifest does not say so: whoever was to write it down did not live to, or both
    ends were given the same by others.
    """
    forgotten: frozenset[str] = frozenset()
    """At neither end any more: what was agreed on is void."""

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.copies.values())

    @property
    def is_empty(self) -> bool:
        """Whether the target is as it is to be."""
        return not (self.copies or self.ready or self.gone or self.strays or self.unsaid or self.forgotten)


def plan(source: Source, target: Target, manifest: Manifest) -> Plan:
    copies: dict[str, Entry] = {}
    ready: dict[str, Carried] = {}
    done: dict[str, ContentId] = {}
    theirs: set[str] = set()
    differing: set[str] = set()
    for path, entry in source.entries.items():
        content = content_of(entry, manifest)
        there = target.listed.get(path)
        agreed = manifest.agreed(path, there)
        lies = target.lying.get(path) == entry.size
        if content is not None and content == there and lies:
            done[path] = content
        elif path in target.listed and there not in (None, agreed, content):
            (theirs if content is not None and content == agreed else differing).add(path)
        elif agreed is not None and content == agreed and there != content:
            theirs.add(path)
        elif content is not None and lies and (known := _pending(manifest, path, content)):
            ready[path] = known
        else:
            copies[path] = entry
    gone, strays = _gone(source, target, manifest)
    agreed_on = manifest.copied.keys() | manifest.listed.keys()
    return Plan(
        copies,
        {path: manifest.contents(path) | target.graves.get(path, frozenset()) for path in copies},
        ready,
        done,
        frozenset(theirs),
        frozenset(differing),
        gone,
        strays,
        unsaid=frozenset(path for path, content in done.items() if not manifest.says(path, content)),
        forgotten=frozenset(agreed_on - source.entries.keys() - target.listed.keys() - strays),
    )


def content_of(entry: Entry, manifest: Manifest) -> ContentId | None:
    """What an entry is about. One without a hash is what was carried, if neither its size nor its time is another."""
    if entry.sha256 is not None:
        return entry.sha256
    same = [one for one in manifest.of(entry.key) if (one.size, one.modified) == (entry.size, entry.last_modified)]
    return max(same, key=lambda one: one.at).sha256 if same else None


def _pending(manifest: Manifest, path: str, content: ContentId) -> Carried | None:
    """What was put there last, and waits to be listed."""
    last = manifest.copied.get(path, ())[-1:]
    return last[0] if last and last[0].sha256 == content else None


def _gone(source: Source, target: Target, manifest: Manifest) -> tuple[dict[str, ContentId], frozenset[str]]:
    """What was carried and is at the source no more. That it is not there is no evidence: a tombstone is."""
    gone, strays = {}, set()
    known = manifest.copied.keys() | manifest.listed.keys() | manifest.begun.keys()
    for path in known - source.entries.keys():
        there = target.listed.get(path)
        if path in target.listed:
            if there is not None and there in manifest.contents(path) and there in source.graves.get(path, ()):
                gone[path] = there
        elif path in target.lying and path not in manifest.listed:
            strays.add(path)
    return gone, frozenset(strays)
