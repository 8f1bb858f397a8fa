"""The marker `.swamp.yaml`, which makes a folder a repo (repository spec 1.6)."""

import errno
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bayou.config.block import Block
from bayou.errors import Conflict, Denied, ErrorKind, Unavailable, UsageError
from bayou.layout.places import LOCAL, MARKER

_FULL = {errno.ENOSPC, errno.EDQUOT}
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


def read(repo: Path) -> Marker | None:
    """Read the marker of a folder; `None` where there is none."""
    path = repo / MARKER
    try:
        # The bytes, because reading text would change \r\n to \n.
        text = path.read_bytes().decode()
    except FileNotFoundError:
        if (repo / LOCAL).is_dir():
            raise UsageError(
                f"{repo} is only partly initialised: it has {LOCAL}/ but no {MARKER}",
                kind=ErrorKind.REPO_INCOMPLETE,
                remedy=f"Take {MARKER} back from version control, or run `bayou init` in {repo}.",
            ) from None
        return None
    except UnicodeDecodeError as error:
        raise _invalid(path, f"not UTF-8 at byte {error.start}") from None
    except OSError as error:
        raise _invalid(path, f"cannot be read: {error.strerror}") from None
    return _parsed(path, text)


def save(marker: Marker, values: Mapping[str, object]) -> Marker:
    """Make the marker say `values`, changing nothing else in the file."""
    from bayou.config.editing import edited  # noqa: PLC0415 - PyYAML takes 19 ms, which only a write or a read of a marker pays

    text = edited(marker.text, values, str(marker.path))
    if text != marker.text:
        if not marker.path.exists() or marker.path.read_bytes() != marker.text.encode():
            raise Conflict(f"{marker.path} was changed by somebody else since it was read")
        _replace(marker.path, text)
    return _parsed(marker.path, text)


def create(repo: Path, values: Mapping[str, object]) -> Marker:
    """Write the marker of a new repo."""
    from bayou.config.editing import edited  # noqa: PLC0415 - as in save

    path = repo / MARKER
    if os.path.lexists(path):
        raise Conflict(
            f"{path} is there already",
            kind=ErrorKind.ALREADY_EXISTS,
            remedy="The folder is a repo; nothing is to be done.",
        )
    text = edited("", values, str(path))
    _replace(path, text)
    return _parsed(path, text)


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


def _replace(path: Path, text: str) -> None:
    try:
        _put_in_place(path, text)
    except OSError as error:
        if error.errno in _FULL:
            raise Unavailable(
                f"{path}: no space left", kind=ErrorKind.STORE_FULL, remedy="Make room on the disk."
            ) from error
        raise Denied(
            f"{path} cannot be written: {error.strerror}", remedy=f"Check the permissions of {path}."
        ) from error


def _put_in_place(path: Path, text: str) -> None:
    """Replace a file whole or not at all, with the permissions it had. A symbolic link stays one."""
    target = path.resolve()
    temporary = target.with_name(f"{target.name}.tmp-{os.getpid()}-{os.urandom(4).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if target.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _invalid(path: Path, problem: str, remedy: str | None = None) -> UsageError:
    return UsageError(
        f"{path}: {problem}",
        kind=ErrorKind.INVALID_CONFIG,
        remedy=remedy or f"Correct {path} by hand, or take it back from version control.",
    )
