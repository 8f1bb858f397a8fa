"""Queries: CEL, checked before it runs. What SQLite can answer exactly is asked there; the engine does the rest."""

from bayou.query.asking import count, query
from bayou.query.reach import Abroad, Hydrate, Stored
from bayou.query.results import Results
from bayou.query.running import Failures

__all__ = ["Abroad", "Failures", "Hydrate", "Results", "Stored", "count", "query"]
