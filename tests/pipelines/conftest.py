"""One Spark session for all tests of this room that use it, which therefore run in one process."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from bayou.pipelines.sessions import session
from bayou.testing.servers.s3 import CREDENTIALS

# A busy machine takes its time to start a worker.
_SETTINGS = {"spark.sql.shuffle.partitions": "2", "spark.python.authenticate.socketTimeout": "120s"}


# First, as xdist looks at groups in the same hook.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as environment:
        for name, value in CREDENTIALS.items():
            environment.setenv(name, value)  # of the test servers, as executors find them
        found = session("local[2]", brief=True, settings=_SETTINGS)
    yield found
    found.stop()
