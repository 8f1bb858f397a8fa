"""Contamination: files of other namespaces inside of ours, where some client once copied them (sync spec 4.15)."""

from collections.abc import Mapping
from dataclasses import dataclass

from bayou.layout.directories import DEFAULT
from bayou.layout.keys import MANIFEST
from bayou.layout.relative import in_namespace
from bayou.locks import Hold
from bayou.remotes import Change, Changeset
from bayou.remotes.namespaces import namespaces
from bayou.remotes.objects import each
from bayou.sync.ends import Ends


@dataclass(frozen=True, slots=True)
class Contamination:
    foreign: Mapping[str, tuple[str, ...]]
    """The paths of each foreign namespace, relative to ours."""

    @property
    def paths(self) -> list[str]:
        return [path for paths in self.foreign.values() for path in paths]


async def find(ends: Ends) -> Contamination:
    """What lies in a folder of ours that is called like another namespace.

    A folder that every datastore has is never taken for one, whatever other namespaces are called.
    """
    if not ends.namespace:
        return Contamination({})
    paths = [
        path
        async for page in ends.store.list(ends.namespace)
        for meta in page
        if (path := in_namespace(ends.namespace, meta.key)) is not None
    ]
    inner = {path.removesuffix(f"/{MANIFEST}") for path in paths if path.endswith(f"/{MANIFEST}")}
    known = {*await namespaces(ends.store), *(name for name in inner if "/" not in name)}
    foreign: dict[str, list[str]] = {}
    for path in paths:
        name, _, rest = path.partition("/")
        if name in known - {ends.namespace, *DEFAULT} and rest not in ("", MANIFEST):
            foreign.setdefault(name, []).append(path)
    return Contamination({name: tuple(sorted(foreign[name])) for name in sorted(foreign)})


async def remove(ends: Ends, found: Contamination, hold: Hold) -> int:
    """Unlist it, then remove it; how many objects went. The format of the index stays what it is (sync spec W-34)."""
    listed = (await ends.remote.load()).contents()
    changes = tuple(Change({path: listed[path]}) for path in found.paths if path in listed)
    if changes:
        done = await ends.remote.commit(Changeset(ends.namespace, changes), lambda: hold.seems_held)
        contested = {path for contest in done.contested for path in contest.change.paths}
    else:
        contested = set()
    removable = [path for path in found.paths if path not in contested]
    await each(ends.pushes, removable, lambda path: ends.store.delete(ends.key(path)))
    return len(removable)
