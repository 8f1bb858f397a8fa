"""Views of the other side around one place: what is listed there, whether that changed or not."""

from collections.abc import Mapping

from bayou.domain.content import ContentId
from bayou.layout.artifacts import Part
from bayou.remotes.parts import part_name
from bayou.sync.ends import Ends
from bayou.sync.planning import Planned


def listed_of_name(ends: Ends, planned: Planned, folder: str) -> Mapping[str, ContentId | None]:
    """The files of the versions of a name that the index lists: where it did not change, that is what the base says."""
    if part_name(f"{folder}/1/{Part.RAW}") in planned.there.changed:
        return planned.there.family(folder)
    return ends.journal.base.in_folder(folder)
