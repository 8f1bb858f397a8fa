"""Confinement: a path that was checked as text is also checked against the symbolic links on the disk."""

from pathlib import Path

from bayou.errors import ErrorKind, UsageError
from bayou.layout.safety import check_path
from bayou.storage.oserrors import translated


def confined(base: Path, rel: str) -> Path:
    """`base / rel`, once no existing part of it leads out of `base`; the rest need not exist.

    Links that stay inside are followed: the tree is its user's, who may have laid them (a store refuses all of them).
    Nothing beyond a link that leaves is looked at. One race remains: who may write below `base` can put a link there
    between this look and the use of the path. To close it one would have to open each folder relative to the one before
    (`openat` with `O_NOFOLLOW`); we do not defend against the cache's own user.
    """
    check_path(rel)
    with translated(rel):
        root = here = base.resolve()
        for segment in rel.split("/"):
            here /= segment
            if here.is_symlink():
                target = _target(here)
                if target is None or not target.is_relative_to(root):
                    raise UsageError(
                        f"unsafe path {rel!r}: {str(here)!r} is a symbolic link that leaves {str(base)!r}",
                        kind=ErrorKind.INVALID_PATH,
                        remedy="Replace the link by what it points to, or remove it.",
                    )
                here = target
    return base / rel


def _target(link: Path) -> Path | None:
    """Where the link leads in the end, or None when it leads in a circle."""
    try:
        target = link.resolve()
    except RuntimeError:
        return None
    # Since Python 3.13 a circle is no error but stays unresolved.
    return None if target.is_symlink() else target
