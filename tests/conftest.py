"""What every test shares: how hard Hypothesis tries, and real servers that are started once for each worker."""

import asyncio
import inspect
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from bayou.config import newrepo
from bayou.testing.servers import SERVERS, Server

# No deadlines and no complaints about speed in either: a busy machine is not a failure. Everyday runs try new examples
# each time. CI tries those that follow from the commit: the same commit always gets the same verdict, so that it is no
# matter of luck and can be looked into, but each commit tries other ones, so that what is rare comes up sooner or
# later (a set that is fixed for good never met a loss of data that took 15,000 examples to find). What a commit finds
# may be older than itself; it is pinned with @example all the same. `explore` is for a night, or for whoever changed
# a protocol: HYPOTHESIS_PROFILE=explore .venv/bin/pytest tests/domain
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), max_examples=1000, database=None, print_blob=True)
settings.register_profile("explore", settings.get_profile("default"), max_examples=20_000, print_blob=True)
# Whoever is started in the background of a shell inherits that interrupts are ignored, and so do the commands that it
# starts; tests interrupt some of these.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

PROFILE = os.environ.get("HYPOTHESIS_PROFILE") or "default"
settings.load_profile(PROFILE)


def commit() -> str:
    """The commit whose tests these are; "" where git cannot say."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    with suppress(OSError):
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603
    return ""


def pytest_configure(config: pytest.Config) -> None:
    """Before Hypothesis reads its option: whoever names a seed, such as another commit, gets the examples of that."""
    if PROFILE == "ci" and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = commit() or "no commit"


def pytest_report_header(config: pytest.Config) -> str | None:
    return f"hypothesis: --hypothesis-seed={config.option.hypothesis_seed}" if PROFILE == "ci" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test that needs a server, by fixture or by parameter."""
    for item in items:
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        if SERVERS.keys() & {*getattr(item, "fixturenames", ()), *(p for p in parameters if isinstance(p, str))}:
            item.add_marker(pytest.mark.server)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run each async test in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
    return True


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


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repo, which is where we stand, with a home of its own."""
    folder = tmp_path / "repo"
    newrepo.create(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SWAMP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BAYOU_DURABLE", "0")
    for name in ("SWAMP_DATASTORE", "SWAMP_REPO_DIR"):
        monkeypatch.delenv(name, raising=False)
    return folder
