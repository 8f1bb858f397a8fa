"""Views of the other side around one place: what is listed in a folder, whether that changed or not."""

from collections.abc import Collection

from bayou.domain.content import ContentId
from bayou.layout.artifacts import Part, version_of
from bayou.remotes.parts import part_name
from bayou.sync.ends import Ends
from bayou.sync.planning import Planned, crosses


def listed_within(ends: Ends, planned: Planned, folder: str) -> dict[str, ContentId | None]:
    """What the index lists in a folder: where it did not change, that is what the base says."""
    changed = planned.there.changed
    found: dict[str, ContentId | None] = {
        path: content for path, content in ends.journal.base.files(folder) if part_name(path) not in changed
    }
    for part in changed:
        for path, entry in planned.there.entries(part).items():
            if path.startswith(f"{folder}/") and crosses(ends.tree.tiers, path):
                found[path] = entry.sha256
    return found


def listed_versions(ends: Ends, planned: Planned, names: Collection[str]) -> dict[str, set[int]]:
    """The versions of each of these names (their folders) that the index lists: by one look, however many there are."""
    found: dict[str, set[int]] = {name: set() for name in names}
    changed = planned.there.changed
    parts = {name: part_name(f"{name}/1/{Part.METADATA}") for name in names}
    calm = [name for name, part in parts.items() if part not in changed]
    listed = [path for path, _ in ends.journal.base.files_in(calm)]
    for part in changed & set(parts.values()):
        listed += [path for path in planned.there.entries(part) if crosses(ends.tree.tiers, path)]
    for path in listed:
        folder, _, file = path.rpartition("/")
        name, _, number = folder.rpartition("/")
        version = version_of(number) if file == Part.METADATA and name in found else None
        if version is not None:
            found[name].add(version)
    return found
