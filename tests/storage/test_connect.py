"""What is configured is what is asked for: seen by a server that writes down every request."""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from bayou.config.locations import GCS, S3, Azure, Folder, Location, Mongo, Plugin
from bayou.errors import ErrorKind, NotFound, Unavailable, Unsupported, UsageError
from bayou.storage import FilesystemStore, Patience, Retry, Store, Tally, connect, open_bare
from bayou.testing.contract.expect import list_keys, read
from bayou.testing.memory import MemoryStore

ONCE = Patience(attempts=1)


class Seen(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]


class Witness(ThreadingHTTPServer):
    """Have no object for anybody, or answer `status`, and remember who asked for what."""

    status = 404

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[Seen] = []

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Witness

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append(Seen(self.command, self.path, headers))
        self.send_response(self.server.status)
        body = b"" if self.command == "HEAD" else b"<Error><Code>NoSuchKey</Code></Error>"
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer  # noqa: N815 - the base's names

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def witness() -> Iterator[Witness]:
    with Witness() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "c2VjcmV0")


async def ask(location: Location) -> None:
    async with connect(location, patience=ONCE) as store:
        with pytest.raises(NotFound):
            await store.get("data/a b")


async def test_s3_by_path(witness: Witness) -> None:
    await ask(S3("bucket", prefix="team", region="eu-west-3", endpoint=witness.endpoint, path_style=True))
    (seen,) = witness.seen
    assert (seen.method, seen.path) == ("GET", "/bucket/team/data/a%20b")
    assert "Credential=AKIDEXAMPLE/" in seen.headers["authorization"]
    assert "/eu-west-3/s3/" in seen.headers["authorization"]


async def test_s3_by_host(witness: Witness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", witness.endpoint)  # as the name of a bucket resolves to no address here
    await ask(S3("bucket", region="us-east-1", endpoint="http://s3.example.com"))
    (seen,) = witness.seen
    assert seen.path.removeprefix("http://bucket.s3.example.com") == "/data/a%20b"
    assert seen.headers["host"] == "bucket.s3.example.com"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_bucket_has_no_host_below_an_address(witness: Witness, host: str) -> None:
    await ask(S3("bucket", region="us-east-1", endpoint=f"http://{host}:{witness.server_port}"))
    (seen,) = witness.seen
    assert seen.path == "/bucket/data/a%20b"


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
async def test_s3_at_the_endpoint_of_the_environment(
    witness: Witness, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, witness.endpoint)
    await ask(S3("bucket", region="us-east-1", path_style=True))
    monkeypatch.setenv(name, "http://nobody.example.com")
    await ask(S3("bucket", region="us-east-1", endpoint=witness.endpoint, path_style=True))
    assert [seen.path for seen in witness.seen] == ["/bucket/data/a%20b"] * 2


async def test_a_wrong_endpoint_in_the_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "localhost:9000")
    with pytest.raises(UsageError, match="AWS_ENDPOINT_URL: expected http://HOST") as caught:
        connect(S3("bucket", region="us-east-1"))
    assert caught.value.kind is ErrorKind.INVALID_CONFIG


@pytest.mark.parametrize(
    "place", [S3("bucket", region="us-east-1", path_style=True), GCS("bucket"), Azure("bucket", account="account")]
)
async def test_headers_are_sent(witness: Witness, place: S3 | GCS | Azure) -> None:
    headers = (("x-team", "blue"), ("user-agent", "bayou tests"))
    await ask(replace(place, endpoint=witness.endpoint, headers=headers))
    (seen,) = witness.seen
    assert seen.headers["x-team"] == "blue"
    assert seen.headers["user-agent"] == "bayou tests"


async def test_gcs(witness: Witness) -> None:
    await ask(GCS("bucket", prefix="team", endpoint=witness.endpoint))
    (seen,) = witness.seen
    assert seen.path == "/bucket/team%2Fdata%2Fa%20b"
    assert seen.headers["authorization"] == "Bearer emulator"


async def test_azure(witness: Witness) -> None:
    await ask(Azure("container", prefix="team", account="account", endpoint=f"{witness.endpoint}/account"))
    (seen,) = witness.seen
    assert seen.path == "/account/container/team/data/a%20b"
    assert seen.headers["authorization"].startswith("SharedKey account:")


async def test_azure_with_the_login_of_its_command_line_tool(
    witness: Witness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "azureProfile.json").touch()
    token = '{"accessToken": "of-az", "expiresOn": "2099-01-01 00:00:00.000000", "expires_on": 4070908800}'
    token = token.replace("}", ', "subscription": "s", "tenant": "t", "tokenType": "Bearer"}')
    (tmp_path / "az").write_text(f"#!/bin/sh\necho '{token}'\n")
    (tmp_path / "az").chmod(0o755)
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_KEY")
    monkeypatch.setenv("AZURE_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    await ask(Azure("container", account="account", endpoint=f"{witness.endpoint}/account"))
    (seen,) = witness.seen
    assert seen.headers["authorization"] == "Bearer of-az"


async def test_no_request_is_repeated_below_the_retries(witness: Witness) -> None:
    witness.status = 500
    tally = Tally()
    location = S3("bucket", region="us-east-1", endpoint=witness.endpoint, path_style=True)
    async with connect(location, patience=Patience(attempts=3, first_pause=0), tally=tally) as store:
        with pytest.raises(Unavailable):
            await store.get("a")
        assert len(witness.seen) == tally.requests["get"] == 3


async def test_a_throttled_window_narrows(witness: Witness) -> None:
    witness.status = 503
    location = S3("bucket", region="us-east-1", endpoint=witness.endpoint, path_style=True)
    store = connect(location, patience=ONCE, concurrency=8)
    with pytest.raises(Unavailable) as caught:
        await store.get("a")
    assert caught.value.kind is ErrorKind.THROTTLED
    assert isinstance(store, Retry)
    assert store.inner.window.width == 4  # type: ignore[attr-defined] # it is a Limit


@pytest.mark.parametrize("prefix", ["a/", "/a", "a//b"])
@pytest.mark.parametrize("kind", [S3, GCS])
def test_a_prefix_with_an_empty_segment_is_refused_when_it_is_opened(prefix: str, kind: type[S3 | GCS]) -> None:
    with pytest.raises(Unsupported, match="empty segment") as caught:
        connect(kind("bucket", prefix=prefix))
    assert "without a slash at its ends" in caught.value.remedy


async def test_a_folder(tmp_path: Path) -> None:
    async with connect(Folder(tmp_path)) as store:
        await store.put("a", b"content")
        assert await list_keys(store) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"content"
    assert isinstance(open_bare(Folder(tmp_path)), FilesystemStore)


def test_mongo_is_no_object_store() -> None:
    with pytest.raises(Unsupported):
        connect(Mongo({}))


OPENED: list[Any] = []


def make_store(config: Any) -> Store:  # noqa: ANN401 - the plugin's own
    OPENED.append(config)
    return MemoryStore()


def make_nothing(_: object) -> str:
    return "no store"


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages that offer two types, found where they are looked for and nowhere else."""
    offered = EntryPoints(
        EntryPoint(name, f"{__name__}:{function}", "bayou.datastores")
        for name, function in (("@org/good", "make_store"), ("@org/bad", "make_nothing"))
    )
    monkeypatch.setitem(sys.modules, __name__, SimpleNamespace(**globals()))
    monkeypatch.setattr("importlib.metadata.entry_points", offered.select)


@pytest.mark.usefixtures("plugins")
async def test_a_plugin_is_found_by_its_entry_point() -> None:
    config = {"host": "example"}
    async with connect(Plugin("@org/good", config)) as store:
        await store.put("a", b"content")
        assert await read(store, "a") == b"content"
    assert [config] == OPENED


@pytest.mark.usefixtures("plugins")
def test_a_plugin_that_gives_no_store_and_one_that_is_not_there() -> None:
    with pytest.raises(Unsupported, match="not a Store"):
        connect(Plugin("@org/bad", {}))
    with pytest.raises(UsageError, match="@org/missing") as caught:
        connect(Plugin("@org/missing", {}))
    assert caught.value.kind is ErrorKind.INVALID_CONFIG
