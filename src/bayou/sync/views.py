"""Views of the other side around one place: what is listed in a folder, whether that changed or not."""

from bayou.domain.content import ContentId
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
