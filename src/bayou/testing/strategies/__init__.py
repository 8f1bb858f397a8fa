"""Hypothesis strategies for everything that has a rule in `bayou.domain` and `bayou.layout`.

For property tests of stores, remotes and anything else that has to cope with whatever a datastore can hold.
"""

from bayou.testing.strategies.artifacts import ODD_TEXTS, artifacts, owners, tags
from bayou.testing.strategies.indexes import entries, index_of, indexes, times
from bayou.testing.strategies.names import (
    data_names,
    model_ids,
    model_names,
    model_types,
    models,
    namespaces,
    raw_model_types,
)
from bayou.testing.strategies.paths import cache_trees, hostile_paths, known_meanings, known_paths, safe_paths
from bayou.testing.strategies.records import json_values, outputs, runs
from bayou.testing.strategies.replicas import Sides, sides

__all__ = [
    "ODD_TEXTS",
    "Sides",
    "artifacts",
    "cache_trees",
    "data_names",
    "entries",
    "hostile_paths",
    "index_of",
    "indexes",
    "json_values",
    "known_meanings",
    "known_paths",
    "model_ids",
    "model_names",
    "model_types",
    "models",
    "namespaces",
    "outputs",
    "owners",
    "raw_model_types",
    "runs",
    "safe_paths",
    "sides",
    "tags",
    "times",
]
