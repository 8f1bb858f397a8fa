"""A datastore in a folder, with its catalog, one model, and a clock that the test sets."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bayou.catalog import Catalog, Row
from bayou.domain.artifacts import ArtifactKey, Owner, OwnerType
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.repository.drafts import Draft
from bayou.repository.holdings import Holdings
from bayou.tree import Tree
from bayou.wire.times import to_milliseconds

DAY = 24 * 3600 * 1_000_000_000


@dataclass
class Clock:
    now_ns: int = (to_milliseconds("2026-04-02T09:15:00.125Z") or 0) * 1_000_000

    def __call__(self) -> int:
        return self.now_ns

    def pass_days(self, days: float) -> None:
        self.now_ns += int(days * DAY)


@dataclass
class Bench:
    """What a test works with: `bench.holdings`, and short ways to say what is written and to see what came of it."""

    root: Path
    holdings: Holdings
    clock: Clock
    model: Model = field(
        default_factory=lambda: Model(ModelType("acme/host"), "9b2f1a52-2f4e-4c0e-8a7b-54f0a2f6f0aa", "web-01")
    )

    @property
    def tree(self) -> Tree:
        return self.holdings.tree

    @property
    def owner(self) -> Owner:
        return Owner(owner_type=OwnerType.MODEL_METHOD, owner_ref=self.model.id)

    def key(self, name: str = "state") -> ArtifactKey:
        return ArtifactKey(self.model, name)

    def draft(self, **said: object) -> Draft:
        return Draft(**{"owner": self.owner, "tags": {"type": "resource", "modelName": "web-01"}, **said})  # type: ignore[arg-type]

    def path(self, name: str, *rest: object) -> Path:
        return self.root.joinpath("data", "acme", "host", self.model.id, name, *map(str, rest))

    def rows(self, name: str = "state") -> dict[int, Row]:
        """What the catalog says, without asking it to look."""
        found = self.holdings.catalog.rows("name = ?", [name], order_by="version")
        return {row.artifact.version: row for row in found}

    def latest_rows(self, name: str = "state") -> list[int]:
        return [version for version, row in self.rows(name).items() if row.is_latest]

    def files(self) -> list[str]:
        return sorted(
            str(found.relative_to(self.root))
            for found in self.root.rglob("*")
            if found.is_file() and "locks" not in found.parts and ".db" not in found.name
        )


@contextmanager
def bench_in(root: Path, *, auto_gc: bool = False, durable: bool = False) -> Iterator[Bench]:
    root.mkdir(exist_ok=True)
    tree, clock = Tree(root, root, durable=durable), Clock()
    with Catalog.open(root / "catalog.bayou.db", tree) as catalog:
        yield Bench(root, Holdings(tree, catalog, auto_gc=auto_gc, clock=clock), clock)
