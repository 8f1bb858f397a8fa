"""Folder paths as people write them in a configuration: `~`, `$VAR` and `${VAR}`, relative to the repo."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from bayou.config.wording import refusal
from bayou.errors import ErrorKind

_VARIABLE = re.compile(r"\$(?:\{([^}]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


def fault(path: str) -> str | None:
    """Why no operating system can take this as a path, or None. Bytes that are not UTF-8 are fine: they have a form."""
    if "\0" in path:
        return "contains a NUL character"
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return "is not valid Unicode"
    return None


def checked(path: str) -> str:
    """Refuse what the operating system cannot take; Python would raise a bare ValueError at some later place."""
    problem = fault(path)
    if problem is not None:
        raise refusal(f"the path {problem}", remedy="Give the path of a folder.")
    return path


def expanded(text: str, environ: Mapping[str, str], home: Path) -> str:
    """Replace a leading `~` and every variable. What a variable holds is taken as it is, never expanded again."""

    def value(match: re.Match[str]) -> str:
        name = match[1] if match[1] is not None else match[2]
        found = environ.get(name)
        if not found:
            raise refusal(
                f'the path "{text}" uses ${name}, which is {"not set" if found is None else "empty"}',
                remedy=f"Set the variable {name}, or write the path out.",
            )
        return found

    tilde, slash, rest = text.partition("/")
    if tilde == "~":
        return checked(f"{home}{slash}{_VARIABLE.sub(value, rest)}")
    if tilde.startswith("~"):
        raise refusal(
            f'the path "{text}" names the home of another user',
            remedy=f'Write the path out, or "./{text}" if a folder of that name is meant.',
        )
    return checked(_VARIABLE.sub(value, text))


def resolved(text: str, *, base: Path, environ: Mapping[str, str], home: Path) -> Path:
    """Find the absolute folder that a text means. `..` is taken out of the text, as the existing clients do."""
    if not text:
        raise refusal("the path is empty", remedy="Give the path of a folder.")
    return Path(os.path.normpath(base / expanded(text, environ, home)))


def collapsed(path: Path, home: Path) -> str:
    """Write a path for a file that other machines read: below `~` where it lies there. The inverse of `resolved`."""
    text = f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
    if _VARIABLE.search(text):
        raise refusal(
            f'the path "{path}" contains a "$" that would be read as a variable',
            kind=ErrorKind.INVALID_PATH,
            remedy="Choose a folder without a $ in its path.",
        )
    return text
