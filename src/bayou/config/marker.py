"""The marker `.swamp.yaml`, which makes a folder a repo (repository spec 1.6)."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bayou.config import files
from bayou.config.block import Block
from bayou.config.diskerrors import named_failures
from bayou.config.wording import escaped, refusal
from bayou.errors import Conflict, ErrorKind, UsageError
from bayou.layout.places import LOCAL, MARKER

KEYS = (
    "swampVersion",
    "initializedAt",
    "upgradedAt",
    "modelsDir",
    "workflowsDir",
    "vaultsDir",
    "driversDir",
    "datastoresDir",
    "reportsDir",
    "repoId",
    "telemetryEndpoint",
    "telemetryDisabled",
    "telemetryKeepFlushed",
    "tools",
    "tool",
    "logLevel",
    "gitignoreManaged",
    "datastore",
    "trustedCollectives",
    "trustMemberCollectives",
    "lastSkillMigrationWarning",
    "skillMigrationDismissed",
    "lastStalenessWarning",
    "autoGc",
    "defaultVault",
)
"""The keys of repository spec 1.6. Most are for the existing clients alone."""

_MAX_BYTES = 2**20  # it is a small file that somebody wrote by hand
_REMOVED = ("defaultDriver", "defaultDriverConfig")


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker as it was read: its text, which a write edits, and what it says."""

    path: Path
    text: str
    values: Mapping[str, object]

    def block(self) -> Block:
        return Block(self.values, where=str(self.path))

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools, where the older `tool: x` means a list of one; it stays in the file as its owner wrote it."""
        block = self.block()
        tools, tool = block.texts("tools"), block.text("tool")
        if tools is not None:
            return tools
        return () if tool in {None, "none"} else (str(tool),)

    def unknown(self) -> Iterator[str]:
        """Warn about keys beside those of the specification."""
        return self.block().unknown(KEYS)


def read(repo: Path) -> Marker | None:
    """Read the marker of a folder; `None` where there is none."""
    path = repo / MARKER
    with named_failures(path, "read"):
        content = _content(path)
        if content is None and (repo / LOCAL).is_dir():
            raise refusal(
                f"{repo} is only partly initialised: it has {LOCAL}/ but no {MARKER}",
                kind=ErrorKind.REPO_INCOMPLETE,
                remedy=f"Take {MARKER} back from version control, or run `bayou init` in {repo}.",
            )
    if content is None:
        return None
    try:
        # Not read as text, which would change \r\n to \n.
        return _parsed(path, content.decode())
    except UnicodeDecodeError as error:
        raise _invalid(path, f"not UTF-8 at byte {error.start}") from None


def save(marker: Marker, values: Mapping[str, object]) -> Marker:
    """Make the marker say `values`, changing nothing else in the file."""
    from bayou.config.editing import edited  # noqa: PLC0415 - PyYAML takes 19 ms, which only a write or a read of a marker pays

    text = edited(marker.text, values, str(marker.path))
    if text != marker.text:
        with named_failures(marker.path, "written"):
            target = Path(os.path.realpath(marker.path))  # a symbolic link stays one, and a circle of them is no file
            with files.alone(target.parent):
                if not target.is_file() or _content(target) != marker.text.encode():
                    raise Conflict(escaped(f"{marker.path} was changed by somebody else since it was read"))
                files.replace(target, text.encode())
    return _parsed(marker.path, text)


def check_absent(repo: Path) -> None:
    """Refuse a folder that is a repo already."""
    path = repo / MARKER
    if os.path.lexists(path):
        raise _exists(path)


def create(repo: Path, values: Mapping[str, object]) -> Marker:
    """Write the marker of a new repo."""
    from bayou.config.editing import edited  # noqa: PLC0415 - as in save

    path = repo / MARKER
    text = edited("", values, str(path))
    with named_failures(path, "written"), files.alone(repo):
        try:
            files.publish(path, text.encode())
        except FileExistsError:
            raise _exists(path) from None
    return _parsed(path, text)


def _content(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if len(content) > _MAX_BYTES:
        raise _invalid(path, f"larger than {_MAX_BYTES} bytes")
    return content


def _parsed(path: Path, text: str) -> Marker:
    from bayou.config.document import load  # noqa: PLC0415 - as in save

    values = load(text, str(path))
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise _invalid(
            path, f"expected a mapping of settings, found a {'list' if isinstance(values, list) else 'single value'}"
        )
    for key in _REMOVED:
        if key in values:
            raise _invalid(path, f"{key} is no longer supported", f"Remove {key} from {path}.")
    return Marker(path, text, values)


def _exists(path: Path) -> Conflict:
    return Conflict(
        escaped(f"{path} is there already"),
        kind=ErrorKind.ALREADY_EXISTS,
        remedy="The folder is a repo; nothing is to be done.",
    )


def _invalid(path: Path, problem: str, remedy: str | None = None) -> UsageError:
    return refusal(
        f"{path}: {problem}", remedy=remedy or f"Correct {path} by hand, or take it back from version control."
    )
