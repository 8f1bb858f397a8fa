"""Where a repo is, and where its cache is (repository spec 1.6, 7.1, 8.1; design 4.7)."""

import os
from collections.abc import Mapping
from pathlib import Path

from bayou.config import environment
from bayou.config.paths import checked, expanded, resolved
from bayou.config.wording import refusal
from bayou.layout.places import LOCAL, MARKER, cache_folder


def find(start: Path) -> Path | None:
    """Find the nearest folder upwards that has a marker."""
    return next((folder for folder in (start, *start.parents) if os.path.isfile(folder / MARKER)), None)  # noqa: PTH113 - Path.is_file raises where a parent may not be read


def choose(start: Path, environ: Mapping[str, str], repo_dir: Path | None, home: Path) -> Path | None:
    """Find the repo to work in: the one given, the one in the environment, the nearest one upwards.

    A folder that is named is taken as it is, so that a command never works in a parent of the folder that was meant.
    """
    if repo_dir is not None:
        return Path(os.path.normpath(start / checked(str(repo_dir))))
    if named := environ.get(environment.REPO_DIR):
        return resolved(named, base=start, environ=environ, home=home)
    return find(start)


def user_folder(environ: Mapping[str, str], home: Path) -> Path:
    """Find the folder with the caches of all repos."""
    named = environ.get(environment.HOME)
    if not named:
        return home / LOCAL
    folder = Path(expanded(named, environ, home))
    if not folder.is_absolute():
        raise refusal(
            f'{environment.HOME}: expected an absolute path, found "{named}"',
            remedy=f"Set {environment.HOME} to an absolute path, or unset it to use {home / LOCAL}.",
        )
    return folder


def cache(user: Path, repo_id: str | None) -> Path:
    """Find the cache of a repo, which all its clones on this machine share."""
    return user / cache_folder(repo_id or "")
