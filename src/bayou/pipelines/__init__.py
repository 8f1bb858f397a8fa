"""PySpark: whatever is about all of a datastore, from one machine to a cluster.

Executors call the same code as everybody else (`storage`, `remotes`, `layout`, `wire`), the driver commits. `session`
builds a session, `source` is what `spark.read.format("bayou")` reads, `jobs` are what `bayou pipeline run` runs.
Nothing here imports Spark before it is needed.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayou.pipelines.sessions import register, session

__all__ = ["register", "session"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - what is asked for
    if name in __all__:
        from bayou.pipelines import sessions  # noqa: PLC0415 - with Spark, a second

        return getattr(sessions, name)
    raise AttributeError(name)
