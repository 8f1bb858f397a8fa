"""Make a folder a repo: its marker, its runtime folders, and what git is to ignore of it (repository spec 1.1, 1.6)."""

import os
import time
import uuid
from pathlib import Path

from bayou.config import files, marker
from bayou.config.diskerrors import named_failures
from bayou.config.marker import Marker
from bayou.layout.places import LOCAL, MARKER
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
BEGIN, END = "# BEGIN swamp managed section - DO NOT EDIT", "# END swamp managed section"
_IGNORED = (f"{LOCAL}/", ".swamp-sources.yaml")


def create(folder: Path) -> Marker:
    """Make the folder a repo, by its marker, which comes last. `Conflict` where it has one: nothing is changed then."""
    marker.check_absent(folder)
    with named_failures(folder / MARKER, "made"):
        folder.mkdir(parents=True, exist_ok=True)
    for name in _FOLDERS:
        path = folder / LOCAL / name
        with named_failures(path, "made"):
            path.mkdir(parents=True, exist_ok=True)
    _ignore(folder / ".gitignore")
    values = {"swampVersion": _FORMATS_OF, "initializedAt": to_text(time.time_ns()), "repoId": str(uuid.uuid4())}
    return marker.create(folder, {**values, "gitignoreManaged": True})


def _ignore(path: Path) -> None:
    """Keep runtime data out of version control, and whatever else the file says as it is, byte for byte."""
    with named_failures(path, "written"), files.alone(path.parent):
        target = Path(os.path.realpath(path))  # a symbolic link stays one
        there = os.path.lexists(target)
        rules = target.read_bytes() if there else b""
        newline = b"\r\n" if b"\r\n" in rules else b"\n"
        missing = [line.encode() for line in _IGNORED if line.encode() not in rules.splitlines()]
        if not missing:
            return
        gap = b"" if not rules or rules.endswith(b"\n") else newline
        content = rules + gap + newline.join([BEGIN.encode(), *missing, END.encode(), b""])
        if there:
            files.replace(target, content)
        else:
            files.publish(target, content)
