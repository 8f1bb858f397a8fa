"""The server helpers: what is started answers as promised, on this machine only, and is always gone afterwards."""

import os
import random
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import obstore
import pytest
from obstore.exceptions import AlreadyExistsError
from obstore.store import AzureStore, GCSStore, ObjectStore, S3Store

from bayou.errors import Unavailable, Unsupported
from bayou.testing.servers import SERVERS, Server, azurite, process

LISTENING = "0A"  # as /proc/net/tcp writes it
LOOPBACK = "0100007F"
linux_only = pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes through /proc")


def open_store(server: Server, bucket: str) -> ObjectStore:
    constructors: Mapping[str, Any] = {"s3": S3Store, "gcs": GCSStore, "azure": AzureStore}
    store: ObjectStore = constructors[server.kind](bucket, client_options={"allow_http": True}, **server.settings)
    return store


def keys(store: ObjectStore) -> list[str]:
    return [entry["path"] for page in obstore.list(store) for entry in page]


def refuses(endpoint: str) -> bool:
    where = urlsplit(endpoint)
    with socket.socket() as client:
        return client.connect_ex((where.hostname, where.port)) != 0


def processes_of(folder: Path) -> list[int]:
    """Every live process that has this folder in its environment: the servers below it and their keepers."""
    found = []
    for candidate in Path("/proc").iterdir():
        try:
            if candidate.name.isdecimal() and os.fsencode(folder) in (candidate / "environ").read_bytes():
                found.append(int(candidate.name))
        except OSError:
            continue  # ended meanwhile, or not ours
    return found


def listening_addresses(pids: list[int]) -> set[str]:
    """The local addresses at which these processes accept TCP connections, in the kernel's notation."""
    sockets = set()
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            try:
                sockets.add(descriptor.readlink().name)
            except OSError:
                continue  # closed meanwhile
    rows = [
        line.split() for table in ("tcp", "tcp6") for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    return {row[1].partition(":")[0] for row in rows if row[3] == LISTENING and f"socket:[{row[9]}]" in sockets}


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder below which the servers of this test get theirs."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def web_server(port: int) -> list[str]:
    """The smallest real server: Python's own."""
    return [sys.executable, "-m", "http.server", "--bind", process.HOST, str(port)]


@linux_only
@pytest.mark.parametrize("name", sorted(SERVERS))
def test_a_server_listens_on_the_loopback_only_and_is_gone_afterwards(name: str, temporary: Path) -> None:
    with SERVERS[name]() as server:
        assert server.name == name
        assert not refuses(server.endpoint)
        pids = processes_of(temporary)
        assert listening_addresses(pids) == {LOOPBACK}
    assert refuses(server.endpoint)
    assert processes_of(temporary) == []
    assert list(temporary.iterdir()) == []


def test_a_new_bucket_is_empty_and_apart_from_every_other(server: Server) -> None:
    one, other = open_store(server, server.new_bucket()), open_store(server, server.new_bucket())
    obstore.put(one, "a/b", b"content")
    assert keys(one) == ["a/b"]
    assert keys(other) == []
    assert obstore.get(one, "a/b").bytes() == b"content"
    obstore.delete(one, "a/b")
    assert keys(one) == []


def test_a_server_says_whether_conditional_writes_hold(server: Server) -> None:
    store = open_store(server, server.new_bucket())
    obstore.put(store, "claim", b"first", mode="create")
    if server.conditional:
        with pytest.raises(AlreadyExistsError):
            obstore.put(store, "claim", b"second", mode="create")
        assert obstore.get(store, "claim").bytes() == b"first"
    else:
        obstore.put(store, "claim", b"second", mode="create")
        assert obstore.get(store, "claim").bytes() == b"second"


@linux_only
def test_a_failing_test_leaves_no_server_behind(temporary: Path) -> None:
    with (  # noqa: PT012 - the block is the point
        process.claimed_ports(1) as (port,),
        pytest.raises(ZeroDivisionError),
        process.running(web_server(port), ready=lambda: process.answers(f"http://{process.HOST}:{port}")),
    ):
        assert processes_of(temporary) != []
        raise ZeroDivisionError
    assert refuses(f"http://{process.HOST}:{port}")
    assert processes_of(temporary) == []
    assert list(temporary.iterdir()) == []


@linux_only
def test_a_test_run_that_is_killed_leaves_no_server_behind(tmp_path: Path) -> None:
    script = (
        "import sys; from bayou.testing.servers import rclone\n"
        "with rclone() as server: print(server.endpoint, flush=True); sys.stdin.read()"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(  # noqa: S603 - the script above
        [sys.executable, "-c", script], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as victim:
        assert victim.stdout is not None
        endpoint = victim.stdout.readline().strip()
        survivors = {pid: os.pidfd_open(pid) for pid in processes_of(tmp_path) if pid != victim.pid}
        assert len(survivors) == 2, "a keeper and its server"
        assert not refuses(endpoint)
        victim.send_signal(signal.SIGKILL)
    for pid, descriptor in survivors.items():
        ended, _, _ = select.select([descriptor], [], [], 30)
        os.close(descriptor)
        assert ended, f"process {pid} is still there"
    assert refuses(endpoint)
    assert list(tmp_path.iterdir()) == []


@linux_only
def test_what_a_server_started_ends_with_it(temporary: Path) -> None:
    with process.claimed_ports(1) as (port,):
        nested = f"import subprocess; subprocess.run({web_server(port)!r})"
        ready = f"http://{process.HOST}:{port}"
        with process.running([sys.executable, "-c", nested], ready=lambda: process.answers(ready)):
            descriptors = [os.pidfd_open(pid) for pid in processes_of(temporary)]
            assert len(descriptors) == 3, "a keeper, the server, and what it started"
        for descriptor in descriptors:
            assert select.select([descriptor], [], [], 30)[0]
            os.close(descriptor)


def test_the_output_of_a_server_that_ends_too_early_is_in_the_error() -> None:
    command = [sys.executable, "-c", "print('no such luck'); raise SystemExit(3)"]
    with (
        pytest.raises(Unavailable, match=r"(?s)ended before it answered.*no such luck.*status 3"),
        process.running(command, ready=lambda: False),
    ):
        pytest.fail("it never ran")


def test_a_server_that_never_answers_is_given_up_and_stopped(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "START_SECONDS", 0.0)
    command = [sys.executable, "-c", "import signal; signal.pause()"]
    with (
        pytest.raises(Unavailable, match="did not answer within"),
        process.running(command, ready=lambda: False),
    ):
        pytest.fail("it never answered")
    assert list(temporary.iterdir()) == []


def test_a_server_does_not_see_the_credentials_of_whoever_runs_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "personal")
    command = [sys.executable, "-c", "import os; print('given:', sorted(os.environ)); raise SystemExit(1)"]
    with (
        pytest.raises(Unavailable, match="given:") as caught,
        process.running(command, ready=lambda: False, env={"GIVEN": "1"}),
    ):
        pytest.fail("it never answered")
    assert "AWS_SECRET_ACCESS_KEY" not in caught.value.message
    assert "GIVEN" in caught.value.message


def test_a_missing_program_names_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unsupported, match="no-such-program") as caught:
        process.program("no-such-program", package="pip install something")
    assert "pip install something" in caught.value.remedy
    with pytest.raises(Unsupported, match="no_such_module") as caught:
        process.module_folder("no_such_module", package="pip install another")
    assert "pip install another" in caught.value.remedy
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Unsupported, match="azurite") as caught, azurite():
        pytest.fail("there is none here")
    assert "npm install azurite" in caught.value.remedy


@pytest.fixture
def ports_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody tries the same ports in the same order, which chance would do once in a while."""
    monkeypatch.setattr(random, "sample", lambda population, _: list(population))


@pytest.mark.usefixtures("ports_in_order")
def test_a_claimed_port_is_not_claimed_twice() -> None:
    with process.claimed_ports(3) as ours, process.claimed_ports(3) as theirs:
        assert len({*ours, *theirs}) == 6


@pytest.mark.usefixtures("ports_in_order")
def test_a_port_that_somebody_listens_on_is_not_claimed() -> None:
    with process.claimed_ports(1) as (port,):
        pass
    with socket.socket() as stranger:
        stranger.bind((process.HOST, port))
        stranger.listen()
        with process.claimed_ports(1) as (other,):
            assert other != port
