"""Replace a file that others replace too, and see what was replaced.

Existing clients read the sidecar, think, and rename another one over it, under no lock. What is renamed over in between
is gone for whoever only renames; so two files change places in one step, and what comes back is looked at.
"""

import ctypes
import errno
import os
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_RENAME_SWAP = 2  # macOS calls it by another name
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


def replace_seen(new: Path, target: Path) -> bytes | None:
    """Put the file `new` where `target` is, and return what that held until this moment; None where there was none.

    Where the system cannot exchange files, `target` is read just before it is replaced: almost the same moment.
    """
    while True:
        try:
            if not _exchange(new, target):
                return _replace(new, target)
        except FileNotFoundError:
            if not _create(new, target):
                continue
            return None
        content = new.read_bytes()
        new.unlink()
        return content


def _create(new: Path, target: Path) -> bool:
    try:
        target.hardlink_to(new)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _CANNOT | {errno.EPERM}:
            raise
        new.replace(target)  # a disk without hard links
        return True
    new.unlink()
    return True


def _replace(new: Path, target: Path) -> bytes | None:
    content = None
    with suppress(FileNotFoundError):
        content = target.read_bytes()
    new.replace(target)
    return content


def _exchange(one: Path, other: Path) -> bool:
    """Let two files change places; False where that cannot be done."""
    exchange = _function()
    if exchange is None:
        return False
    if exchange(os.fsencode(one), os.fsencode(other)) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(other))


@lru_cache(maxsize=1)
def _function():  # type: ignore[no-untyped-def]  # noqa: ANN202 - what ctypes makes has no type
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            return lambda one, other: library.renamex_np(one, other, _RENAME_SWAP)
        call = library.renameat2
    except (OSError, AttributeError):
        return None
    return lambda one, other: call(_AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE)
