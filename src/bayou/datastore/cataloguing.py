"""The catalog as a file: what goes out of it, and what of other namespaces comes in."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bayou.datastore import federation
from bayou.domain.namespaces import check_namespace
from bayou.layout.artifacts import Part
from bayou.layout.keys import CATALOG_EXPORT
from bayou.repository.versions import path_of

if TYPE_CHECKING:
    from bayou.datastore.datastore import Datastore
    from bayou.query import Stored


class Cataloguing:
    def __init__(self, datastore: "Datastore") -> None:
        self._datastore = datastore

    def export(self, file: Path | None = None) -> tuple[Path, int]:
        """Write it to a file: as Parquet, or as other clients read it, by default where they look for it."""
        catalog = self._datastore.catalog
        catalog.current(self._datastore.progress)
        target = file or self._datastore.tree.root / CATALOG_EXPORT
        write = catalog.export_parquet if target.suffix == ".parquet" else catalog.export
        return target, write(target)

    def pull(self, namespaces: Iterable[str]) -> tuple[dict[str, int], list[str]]:
        """Take over the exports of other namespaces that lie in this datastore; and the names of those without one."""
        return self._take(federation.rows_of(self._datastore.settings, self._datastore.notice, namespaces))

    def pull_from(self, url: str, namespaces: Iterable[str]) -> tuple[dict[str, int], list[str]]:
        """The same from the catalogs in Parquet in a bucket, which `bayou pipeline run catalog` keeps up to date."""
        from bayou.pipelines.catalogs import exported_rows  # noqa: PLC0415 - it opens stores

        return self._take({namespace: exported_rows(url, check_namespace(namespace)) for namespace in namespaces})

    def _take(self, found: Mapping[str, Sequence[Mapping[str, object]] | None]) -> tuple[dict[str, int], list[str]]:
        pulled: dict[str, int] = {}
        missing = []
        for namespace, rows in found.items():
            if rows is None:
                missing.append(namespace)
                continue
            for rejected in self._datastore.catalog.replace_namespace(namespace, rows):
                self._datastore.notice(f"{namespace}, row {rejected.number}: {rejected.reason}")
            pulled[namespace] = len(rows)
        return pulled, missing

    def abroad(self, wanted: "Collection[Stored]") -> "Mapping[Stored, bytes]":
        """The content of versions of other namespaces of this datastore, as far as it can be had."""
        from bayou.query.reach import LARGEST  # noqa: PLC0415 - with queries

        at = {(one.namespace, path_of(one.key, one.version, Part.RAW)): one for one in wanted if one.namespace}
        found = federation.contents_of(self._datastore.settings, at.keys(), at_most=LARGEST)
        return {at[place]: content for place, content in found.items()}

    def size(self) -> int:
        """How many bytes it takes."""
        return self._datastore.catalog_path.stat().st_size
