"""What Spark looks for by this name, so that `spark.read.format("bayou")` works wherever Bayou is installed."""

from bayou.pipelines.source import BayouSource as DefaultSource

__all__ = ["DefaultSource"]
