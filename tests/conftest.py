"""What every test shares: how hard Hypothesis tries, and real servers that are started once for each worker."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from bayou.testing.servers import SERVERS, Server

# No deadlines and no complaints about speed in either: a busy machine is not a failure. The CI profile tries the same
# examples every time, so that its verdict is about the change and not about luck; everyday runs try new ones.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "ci",
    settings.get_profile("default"),
    max_examples=1000,
    derandomize=True,
    database=None,
    print_blob=True,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test that needs a server, by fixture or by parameter; keep the tests of one server on one worker."""
    for item in items:
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        needed = SERVERS.keys() & {*getattr(item, "fixturenames", ()), *(p for p in parameters if isinstance(p, str))}
        if needed:
            item.add_marker(pytest.mark.server)
            item.add_marker(pytest.mark.xdist_group("+".join(sorted(needed))))


@pytest.fixture(scope="session")
def azurite() -> Iterator[Server]:
    with SERVERS["azurite"]() as server:
        yield server


@pytest.fixture(scope="session")
def fake_gcs() -> Iterator[Server]:
    with SERVERS["fake_gcs"]() as server:
        yield server


@pytest.fixture(scope="session")
def ministack() -> Iterator[Server]:
    with SERVERS["ministack"]() as server:
        yield server


@pytest.fixture(scope="session")
def moto() -> Iterator[Server]:
    with SERVERS["moto"]() as server:
        yield server


@pytest.fixture(scope="session")
def rclone() -> Iterator[Server]:
    with SERVERS["rclone"]() as server:
        yield server


@pytest.fixture(scope="session")
def seaweedfs() -> Iterator[Server]:
    with SERVERS["seaweedfs"]() as server:
        yield server


@pytest.fixture(params=sorted(SERVERS))
def server(request: pytest.FixtureRequest) -> Server:
    """Each of the servers in turn."""
    chosen = request.getfixturevalue(request.param)
    assert isinstance(chosen, Server)
    return chosen
