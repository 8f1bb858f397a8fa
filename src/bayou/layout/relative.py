"""From what callers say to a path: relative to the cache, then relative to the bound namespace.

Two steps, each taken exactly once, since the existing clients' trouble here is a step taken twice or not at all
(W-23 and W-29 in the sync spec).
"""

from pathlib import PurePath

from bayou.domain.namespaces import SOLO
from bayou.errors import ErrorKind, UsageError


def in_cache(cache: PurePath, path: str | PurePath) -> str:
    """The path relative to the cache, from an absolute or a cache-relative one; the cache itself is "".

    Lexical: `a/../b` is `b`, and where a symbolic link gives the cache two spellings, both arguments must use one.
    What leaves the cache is refused; a caller that marks what changed takes that for "anything may have changed".
    """
    # `/` lets an absolute path replace the cache instead of being joined below it.
    inside = _resolved(cache / path)
    root = _resolved(cache)
    if inside is None or root is None or inside[: len(root)] != root:
        raise UsageError(
            f"{str(path)!r} is not below the cache {str(cache)!r}",
            kind=ErrorKind.INVALID_PATH,
            remedy="Give a path below the cache, absolute or relative to it.",
        )
    return "/".join(inside[len(root) :])


def in_namespace(namespace: str, path: str) -> str | None:
    """The cache-relative path (or key) without its namespace; None when it is not below it.

    One prefix is taken off, never two: `infra/infra/x` is `infra/x` of the namespace `infra`.
    """
    if namespace == SOLO:
        return path
    return path[len(namespace) + 1 :] if path.startswith(f"{namespace}/") else None


def _resolved(path: PurePath) -> list[str] | None:
    """The segments with every `..` applied, or None where they climb above where the path starts."""
    segments: list[str] = []
    anchored = 1 if path.anchor else 0
    for part in path.parts:
        if part != "..":
            segments.append(part)
        elif len(segments) > anchored:
            segments.pop()
        else:
            return None
    return segments
