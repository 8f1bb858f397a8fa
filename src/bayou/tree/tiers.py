"""Tiers: which runtime files of a repo live in the datastore, and which stay beside it (repository spec 7.3)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from bayou.layout.directories import in_datastore


@dataclass(frozen=True, slots=True)
class Tiers:
    """`directories` are those of the datastore; of what is in them, `exclude` keeps some on this machine."""

    directories: tuple[str, ...] = in_datastore()
    exclude: tuple[str, ...] = ()

    def is_shared(self, path: str) -> bool:
        """Whether this path, relative to the namespace, belongs into the datastore."""
        return path.partition("/")[0] in self.directories and not self._is_excluded(path)

    def splits(self, folder: str) -> bool:
        """Whether of the files in this folder some may be shared and others not."""
        return bool(self.exclude) and folder.partition("/")[0] in self.directories

    def _is_excluded(self, path: str) -> bool:
        # Each file is asked about, not its folder alone: patterns below a folder count (weakness 42).
        excluded = False
        for negated, pattern in _patterns(self.exclude):
            if excluded is negated and pattern.fullmatch(path):
                excluded = not negated
        return excluded


@lru_cache(maxsize=16)
def _patterns(exclude: Sequence[str]) -> tuple[tuple[bool, re.Pattern[str]], ...]:
    """The last pattern that matches decides; `!` takes back in; blanks and comments say nothing."""
    lines = (line.strip() for line in exclude)
    return tuple(
        (line.startswith("!"), re.compile(_regex(line.removeprefix("!").removeprefix("/")), re.DOTALL))
        for line in lines
        if line and not line.startswith("#")
    )


_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]]+\]|.", re.DOTALL)
_WILD = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _regex(glob: str) -> str:
    return "".join(_WILD.get(token) or _class_or_text(token) for token in _TOKEN.findall(glob))


def _class_or_text(token: str) -> str:
    if len(token) < 3:
        return re.escape(token)
    body = token[1:-1]
    negated = body.startswith("!")
    inner = re.sub(r"([\\\[^&~|])", r"\\\1", body[1:] if negated else body)
    return f"(?!/)[{'^' if negated else ''}{inner}]"
