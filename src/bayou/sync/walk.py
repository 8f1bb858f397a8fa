"""Walk the marked part of a cache: every file in it that belongs into the datastore, in the order of the paths."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from bayou.domain.namespaces import SOLO
from bayou.errors import BayouError
from bayou.layout.internal import never_crosses
from bayou.layout.keys import CATALOG_EXPORT
from bayou.layout.safety import fault
from bayou.storage.oserrors import translated
from bayou.sync import disk
from bayou.sync.disk import Form
from bayou.sync.stats import Stamp
from bayou.tree.tiers import Tiers

_Result = TypeVar("_Result")

Check = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Rules:
    """Which paths, relative to the namespace, belong into the datastore."""

    tiers: Tiers
    is_known: Callable[[str], bool]
    """Whether the base knows a file or something in a folder: what is synced already goes on being synced."""
    is_in_scope: Callable[[str], bool] = lambda _: True

    def take(self, path: str) -> bool:
        if never_crosses(path):
            return False
        if path.partition("/")[0] in self.tiers.directories:
            return self.tiers.is_shared(path)
        return path == CATALOG_EXPORT or self.is_known(path)

    def enter(self, folder: str) -> bool:
        """Whether anything in this folder can belong. A folder that is internal has nothing in it that is not."""
        first = folder.partition("/")[0]
        return not never_crosses(f"{folder}/x") and (first in self.tiers.directories or self.is_known(first))


@dataclass(slots=True)
class Walk:
    """What a walk meets besides files. It goes on after a failure: the rest of the cache is none the worse for it."""

    root: str
    """The folder of the namespace."""
    rules: Rules
    check: Check
    failed: dict[str, BayouError] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    looks: int = 0
    listings: int = 0
    _forms: dict[str, Form | None] = field(default_factory=dict)

    def files(self, path: str) -> Iterator[tuple[str, Stamp]]:
        """The files at or below a path, relative to the namespace; "" is everything."""
        if path and self._is_behind_link(path):
            return
        found = self._guarded(path, lambda: self._look(path)) if path else None
        if path == SOLO or (found is not None and found.form is Form.FOLDER):
            yield from self._below(path)
        elif found is not None and self._takes(path, found.form):
            yield path, found.stamp

    def is_gone(self, path: str) -> bool:
        """The second look: whether nothing at all is there. Where it cannot look it does not say so."""
        if self._is_behind_link(path):
            return False
        return self._guarded(path, lambda: self._look(path)) is None and path not in self.failed

    def met(self, path: str) -> bool:
        """Whether there was something at a path or above it that is not for this walk to judge."""
        while path:
            if path in self.failed or path in self.skipped:
                return True
            path = path.rpartition("/")[0]
        return SOLO in self.failed

    def _below(self, folder: str) -> Iterator[tuple[str, Stamp]]:
        # Not by recursion: nobody says how deep a cache is.
        pending = [iter([(folder, Form.FOLDER)])]
        while pending:
            here = next(pending[-1], None)
            if here is None:
                pending.pop()
                continue
            path, form = here
            self.check()
            if form is Form.FOLDER:
                if path == SOLO or self.rules.enter(path):
                    pending.append(iter(self._listed(path)))
            elif self._takes(path, form):
                found = self._guarded(path, lambda path=path: self._look(path))  # type: ignore[misc]
                if found is not None and found.form is Form.FILE:
                    yield path, found.stamp

    def _listed(self, folder: str) -> list[tuple[str, Form]]:
        self.listings += 1
        found = self._guarded(folder, lambda: disk.names(self._place(folder))) or []
        return [(f"{folder}/{name}" if folder else name, form) for name, form in found]

    def _takes(self, path: str, form: Form) -> bool:
        if not (self.rules.take(path) and self.rules.is_in_scope(path)):
            return False
        why = fault(path) or ("it is not a regular file" if form is not Form.FILE else None)
        if why is not None:
            self.skipped[path] = why
        return why is None

    def _is_behind_link(self, path: str) -> bool:
        """Whether a folder above is a link, at which a walk from further up would have stopped."""
        folder = path.rpartition("/")[0]
        if not folder:
            return False
        if self._is_behind_link(folder) or self._form(folder) is Form.LINK:
            self.skipped[path] = "it is behind a symbolic link"
            return True
        return False

    def _form(self, folder: str) -> Form | None:
        if folder not in self._forms:
            found = self._guarded(folder, lambda: self._look(folder))
            self._forms[folder] = found.form if found is not None else None
        return self._forms[folder]

    def _look(self, path: str) -> disk.Seen | None:
        self.looks += 1
        return disk.look(self._place(path))

    def _guarded(self, path: str, work: Callable[[], _Result]) -> _Result | None:
        """What the look finds. Where it fails, for another reason than that nothing is there, this is remembered."""
        try:
            with translated(path):
                return work()
        except BayouError as error:
            self.failed[path] = error
            return None

    def _place(self, path: str) -> str:
        return f"{self.root}/{path}" if path else self.root
