"""The catalog: the SQLite index of what is in a tree. It can always be rebuilt from the files, to the same rows."""

from bayou.catalog.catalog import Catalog
from bayou.catalog.intents import Settling
from bayou.catalog.rows import Row

__all__ = ["Catalog", "Row", "Settling"]
