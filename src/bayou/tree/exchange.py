"""Put a file into another's place without making the disk write it out.

ext4 does that whenever a file is renamed over another, to spare those who never sync; it takes longer than all the rest
of a write. Whoever exchanges the two gets the same for every reader, and is not spared.
"""

import errno
import os
import stat
from collections.abc import Callable
from functools import cache

_HERE = -100  # AT_FDCWD
_EXCHANGE = 2  # RENAME_EXCHANGE


def put_in_place(source: str, target: str) -> None:
    """Like `os.replace`, but `source` may afterwards be what was at `target` before."""
    exchange = _exchange()
    there, here = os.fsencode(source), os.fsencode(target)
    if exchange is None or not exchange(there, here):
        os.replace(source, target)  # noqa: PTH105 - strings, as in all of this room
    elif stat.S_ISDIR(os.lstat(there).st_mode):
        exchange(there, here)  # a rename would have refused to replace a folder
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)


@cache
def _exchange() -> Callable[[bytes, bytes], bool] | None:
    """Linux alone has it, and not all of its file systems."""
    import ctypes  # noqa: PLC0415 - only whoever wants speed pays for it

    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return None

    def exchange(source: bytes, target: bytes) -> bool:
        if renameat2(_HERE, source, _HERE, target, _EXCHANGE) == 0:
            return True
        error = ctypes.get_errno()
        if error in {errno.ENOENT, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}:
            return False
        raise OSError(error, os.strerror(error), os.fsdecode(target))

    return exchange
