"""What the disk says of a file that belongs to a configuration, as errors that name the file and what they mean."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bayou.config.wording import escaped, refusal
from bayou.errors import BayouError, Denied, ErrorKind, Unavailable

_FULL = {errno.ENOSPC, errno.EDQUOT}
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS}
_NO_FOLDER = {errno.ENOENT, errno.ENOTDIR, errno.EEXIST}  # the last where a folder was to be made
_NO_FILE = {errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG}


@contextmanager
def named_failures(path: Path, done: str) -> Iterator[None]:
    """Turn what the disk says while something is done to a file into what it means for whoever wanted that."""
    try:
        yield
    except OSError as error:
        raise _failure(path, done, error) from error


def _failure(path: Path, done: str, error: OSError) -> BayouError:
    problem = f"{path} cannot be {done}: {error.strerror}"
    if error.errno in _NO_FOLDER:
        return refusal(
            f"{path.parent} is not a folder", kind=ErrorKind.INVALID_PATH, remedy="Make the folder, or name another."
        )
    if error.errno in _NO_FILE:
        return refusal(problem, remedy=f"Put a file in the place of {path}.")
    if error.errno in _REFUSED:
        return Denied(
            escaped(problem), kind=ErrorKind.PERMISSION_DENIED, remedy=escaped(f"Check the permissions of {path}.")
        )
    if error.errno in _FULL:
        return Unavailable(escaped(problem), kind=ErrorKind.STORE_FULL, remedy="Make room on the disk.")
    return Unavailable(escaped(problem), remedy="Check the disk and run the command again.")
