"""Make a folder a repo: its marker, its runtime folders, and what git is to ignore of it (repository spec 1.1, 1.6)."""

import os
import time
import uuid
from pathlib import Path

from bayou.config import files, marker
from bayou.config.marker import Marker
from bayou.layout.places import LOCAL
from bayou.wire.times import to_text

# The release of the existing client whose formats these are; it upgrades older repos by this number.
_FORMATS_OF = "20260812.1.0"

_FOLDERS = (
    "data",
    "outputs",
    "workflow-runs",
    "workflows-evaluated",
    "definitions-evaluated",
    "secrets",
    "audit",
    "vault-bundles",
)
_BEGIN, _END = "# BEGIN swamp managed section - DO NOT EDIT", "# END swamp managed section"
_IGNORED = (f"{LOCAL}/", ".swamp-sources.yaml")


def create(folder: Path) -> Marker:
    """Make the folder a repo. `Conflict` where it is one already: nothing is changed then."""
    folder.mkdir(parents=True, exist_ok=True)
    values = {"swampVersion": _FORMATS_OF, "initializedAt": to_text(time.time_ns()), "repoId": str(uuid.uuid4())}
    made = marker.create(folder, {**values, "gitignoreManaged": True})
    for name in _FOLDERS:
        (folder / LOCAL / name).mkdir(parents=True, exist_ok=True)
    _ignore(folder / ".gitignore")
    return made


def _ignore(path: Path) -> None:
    """Keep runtime data out of version control, and whatever else the file says as it is."""
    with files.alone(path.parent):
        text = path.read_text() if path.exists() else ""
        missing = [line for line in _IGNORED if line not in text.splitlines()]
        if not missing:
            return
        if text and not text.endswith("\n"):
            text += "\n"
        content = f"{text}{os.linesep.join([_BEGIN, *missing, _END])}\n".encode()
        if path.exists():
            files.replace(path, content)
        else:
            files.publish(path, content)
