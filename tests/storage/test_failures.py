"""What obstore's errors mean: row by row for real texts, and on real servers."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from urllib.parse import quote
from xml.sax.saxutils import escape

import pytest
from obstore import exceptions as obs

from bayou.config.locations import GCS, S3, Azure, Location
from bayou.errors import BayouError, Conflict, Denied, ErrorKind, NotFound, Unavailable, Unsupported, UsageError
from bayou.storage import ABSENT, Store, Version, open_bare
from bayou.storage.failures import translate
from bayou.testing.contract.expect import list_keys
from bayou.testing.servers import Server

CALLS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "get": lambda store: store.get("a"),
    "get_if_changed": lambda store: store.get_if_changed("a", Version("1 v")),
    "put": lambda store: store.put("a", b""),
    "create": lambda store: store.put("a", b"", when=ABSENT),
    "replace": lambda store: store.put("a", b"", when=Version('1 "v"')),
    "delete": lambda store: store.delete("a"),
    "list": list_keys,
    "head": lambda store: store.head("a"),
    "copy": lambda store: store.copy("a", "b"),
}
each_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())


def answer(status: str, code: str = "", verb: str = "PUT") -> str:
    """What obstore writes of an answer that was no success."""
    body = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>m</Message></Error>' if code else ""
    return (
        f"Error performing {verb} http://127.0.0.1:39973/bucket/k in 43.5ms - "
        f"Server returned non-2xx status code: {status}: {body}\n\nDebug source:\nGeneric {{ status: 400, }}"
    )


ROWS: list[tuple[type[Exception], str, type[BayouError], ErrorKind]] = [
    # missing
    (FileNotFoundError, answer("404 Not Found", "NoSuchKey"), NotFound, ErrorKind.OBJECT_MISSING),
    (FileNotFoundError, answer("404 Not Found", "BlobNotFound"), NotFound, ErrorKind.OBJECT_MISSING),
    (FileNotFoundError, answer("404 Not Found", "NoSuchKey", "GET"), NotFound, ErrorKind.OBJECT_MISSING),
    # An answer to HEAD has no body; the bucket asks again, with GET.
    (FileNotFoundError, answer("404 Not Found", verb="HEAD"), NotFound, ErrorKind.OBJECT_MISSING),
    # Anybody can answer 404: a proxy, a web server at an endpoint that is wrong.
    (FileNotFoundError, answer("404 Not Found"), Unavailable, ErrorKind.TRANSIENT),
    (FileNotFoundError, answer("404 Not Found") + "<html><h1>404</h1></html>", Unavailable, ErrorKind.TRANSIENT),
    (obs.PreconditionError, answer("404 Not Found") + "<html></html>", Unavailable, ErrorKind.TRANSIENT),
    (FileNotFoundError, answer("404 Not Found", "NoSuchUpload", "POST"), Unavailable, ErrorKind.TRANSIENT),
    (FileNotFoundError, answer("404 Not Found", "NoSuchBucket"), UsageError, ErrorKind.CONTAINER_MISSING),
    (obs.PreconditionError, answer("404 Not Found", "NoSuchBucket"), UsageError, ErrorKind.CONTAINER_MISSING),
    (FileNotFoundError, answer("404 Not Found", "ContainerNotFound"), UsageError, ErrorKind.CONTAINER_MISSING),
    (obs.AlreadyExistsError, answer("409 Conflict", "ContainerBeingDeleted"), UsageError, ErrorKind.CONTAINER_MISSING),
    # conflict
    (
        obs.PreconditionError,
        answer("412 Precondition Failed", "PreconditionFailed"),
        Conflict,
        ErrorKind.PRECONDITION_FAILED,
    ),
    (obs.PreconditionError, answer("404 Not Found", "NoSuchKey"), Conflict, ErrorKind.PRECONDITION_FAILED),
    (
        obs.AlreadyExistsError,
        answer("412 Precondition Failed", "PreconditionFailed"),
        Conflict,
        ErrorKind.ALREADY_EXISTS,
    ),
    (obs.AlreadyExistsError, answer("409 Conflict", "BlobAlreadyExists"), Conflict, ErrorKind.ALREADY_EXISTS),
    # transient
    (obs.GenericError, answer("400 Bad Request", "InvalidBlockList", "PUT"), Unavailable, ErrorKind.TRANSIENT),
    (obs.GenericError, answer("400 Bad Request", "InvalidPart", "POST"), Unavailable, ErrorKind.TRANSIENT),
    (obs.AlreadyExistsError, answer("409 Conflict", "ConditionalRequestConflict"), Unavailable, ErrorKind.TRANSIENT),
    (obs.AlreadyExistsError, answer("409 Conflict", "OperationAborted"), Unavailable, ErrorKind.TRANSIENT),
    (obs.GenericError, answer("400 Bad Request", "RequestTimeout"), Unavailable, ErrorKind.TRANSIENT),
    (obs.GenericError, answer("400 Bad Request", "IncompleteBody"), Unavailable, ErrorKind.TRANSIENT),
    (obs.GenericError, answer("408 Request Timeout"), Unavailable, ErrorKind.TRANSIENT),
    (obs.GenericError, answer("500 Internal Server Error", "InternalError"), Unavailable, ErrorKind.TRANSIENT),
    (obs.GenericError, answer("502 Bad Gateway"), Unavailable, ErrorKind.TRANSIENT),
    (obs.GenericError, answer("504 Gateway Timeout"), Unavailable, ErrorKind.TRANSIENT),
    (obs.GenericError, answer("503 Service Unavailable", "SlowDown"), Unavailable, ErrorKind.THROTTLED),
    (obs.GenericError, answer("503 Service Unavailable"), Unavailable, ErrorKind.THROTTLED),
    (obs.GenericError, answer("429 Too Many Requests"), Unavailable, ErrorKind.THROTTLED),
    (obs.GenericError, answer("500 Internal Server Error", "ServerBusy"), Unavailable, ErrorKind.THROTTLED),
    (obs.GenericError, "Generic S3 error: HTTP error: error sending request", Unavailable, ErrorKind.TRANSIENT),
    (
        obs.GenericError,
        "Generic S3 error: HTTP error: request or response body error",
        Unavailable,
        ErrorKind.TRANSIENT,
    ),
    (OSError, "connection reset by peer", Unavailable, ErrorKind.TRANSIENT),
    # denied
    (obs.PermissionDeniedError, answer("403 Forbidden", "AccessDenied"), Denied, ErrorKind.PERMISSION_DENIED),
    (obs.PermissionDeniedError, answer("403 Forbidden", "AuthorizationFailure"), Denied, ErrorKind.PERMISSION_DENIED),
    (obs.PermissionDeniedError, answer("403 Forbidden"), Denied, ErrorKind.PERMISSION_DENIED),
    (PermissionError, "permission denied", Denied, ErrorKind.PERMISSION_DENIED),
    (
        obs.GenericError,
        "Generic S3 error: DeleteObjects request failed for key k: Access Denied (code: AccessDenied)",
        Denied,
        ErrorKind.PERMISSION_DENIED,
    ),
    (obs.GenericError, answer("400 Bad Request", "ExpiredToken"), Denied, ErrorKind.CREDENTIALS_EXPIRED),
    (obs.PermissionDeniedError, answer("403 Forbidden", "InvalidAccessKeyId"), Denied, ErrorKind.CREDENTIALS_REJECTED),
    (
        obs.PermissionDeniedError,
        answer("403 Forbidden", "SignatureDoesNotMatch"),
        Denied,
        ErrorKind.CREDENTIALS_REJECTED,
    ),
    (
        obs.PermissionDeniedError,
        answer("403 Forbidden", "RequestTimeTooSkewed"),
        Denied,
        ErrorKind.CREDENTIALS_REJECTED,
    ),
    (
        obs.PermissionDeniedError,
        answer("403 Forbidden", "AuthenticationFailed"),
        Denied,
        ErrorKind.CREDENTIALS_REJECTED,
    ),
    (obs.UnauthenticatedError, answer("401 Unauthorized"), Denied, ErrorKind.CREDENTIALS_REJECTED),
    (
        obs.GenericError,
        'Server returned non-2xx status code: 400 Bad Request: {\n  "error": "invalid_grant",\n  "x": "Bad Request"\n}',
        Denied,
        ErrorKind.CREDENTIALS_EXPIRED,
    ),
    (
        obs.GenericError,
        "Error performing PUT http://169.254.169.254/latest/api/token in 1s - HTTP error: error sending request",
        Denied,
        ErrorKind.CREDENTIALS_MISSING,
    ),
    (
        obs.GenericError,
        "Error performing GET http://metadata.google.internal/computeMetadata/v1/x in 1s - HTTP error",
        Denied,
        ErrorKind.CREDENTIALS_MISSING,
    ),
    (
        obs.UnauthenticatedError,
        "External AWS credential provider: UnauthorizedSSOTokenError: The SSO session has expired",
        Denied,
        ErrorKind.CREDENTIALS_EXPIRED,
    ),
    (
        obs.UnauthenticatedError,
        "External AWS credential provider: CredentialRetrievalError: custom-process: exit 1",
        Denied,
        ErrorKind.CREDENTIALS_MISSING,
    ),
    (
        FileNotFoundError,
        "Bulk delete request failed for key k: The specified container does not exist. (code: 404)",
        UsageError,
        ErrorKind.CONTAINER_MISSING,
    ),
    (
        obs.GenericError,
        "Bulk delete request failed for key k: This request is not authorized (code: 403)",
        Denied,
        ErrorKind.PERMISSION_DENIED,
    ),
    (obs.GenericError, "Bulk delete request failed for key k: Busy (code: 503)", Unavailable, ErrorKind.THROTTLED),
    # usage and what the store cannot do
    (obs.GenericError, answer("416 Range Not Satisfiable", "InvalidRange"), UsageError, ErrorKind.INVALID_ARGUMENT),
    (
        obs.GenericError,
        "Wanted range starting at 9, but object was only 5 bytes",
        UsageError,
        ErrorKind.INVALID_ARGUMENT,
    ),
    (obs.GenericError, answer("400 Bad Request", "InvalidRequest"), UsageError, ErrorKind.INVALID_CONFIG),
    (
        obs.GenericError,
        "Received redirect without LOCATION, this normally indicates an incorrectly configured region",
        UsageError,
        ErrorKind.INVALID_CONFIG,
    ),
    (obs.InvalidPathError, 'Encountered object with invalid path: Path "a//b"', UsageError, ErrorKind.INVALID_PATH),
    (obs.UnknownConfigurationKeyError, "Configuration key: 'x' is not known", UsageError, ErrorKind.INVALID_CONFIG),
    (ValueError, "Could not parse", UsageError, ErrorKind.INVALID_CONFIG),
    (obs.GenericError, answer("501 Not Implemented", "NotImplemented"), Unsupported, ErrorKind.STORE_CANNOT),
    (NotImplementedError, "Operation not yet implemented", Unsupported, ErrorKind.STORE_CANNOT),
    (
        obs.GenericError,
        "Generic S3 error: Received non-partial response when range requested",
        Unsupported,
        ErrorKind.STORE_CANNOT,
    ),
]


@pytest.mark.parametrize(("error", "text", "category", "kind"), ROWS)
def test_an_error_is_of_its_kind(
    error: type[Exception], text: str, category: type[BayouError], kind: ErrorKind
) -> None:
    found = translate(error(text), "the/key")
    assert (type(found), found.kind) == (category, kind)
    assert "'the/key'" in found.message
    assert "Debug source" not in found.message
    assert found.remedy


HOSTILE_KEYS = (
    "logs/status code: 503",
    "Server returned non-2xx status code: 503 Busy: <Code>SlowDown</Code>",
    "a/Wanted range",
    "<Code>AccessDenied</Code>",
    "x (code: 501)",
    "The specified container does not exist",
    "External AWS credential provider: b",
    '{"code": "SlowDown"}',
)


@pytest.mark.parametrize("key", HOSTILE_KEYS)
@pytest.mark.parametrize(
    ("error", "frame", "status", "code", "category"),
    [
        (FileNotFoundError, "Object at location {} not found: ", "404 Not Found", "NoSuchKey", NotFound),
        (
            obs.AlreadyExistsError,
            "Object at location {} already exists: Request precondition failure for path {}: ",
            "412 Precondition Failed",
            "PreconditionFailed",
            Conflict,
        ),
        (
            obs.PreconditionError,
            "Request precondition failure for path {}: ",
            "412 Precondition Failed",
            "PreconditionFailed",
            Conflict,
        ),
        (obs.GenericError, "Generic S3 error: ", "500 Internal Server Error", "InternalError", Unavailable),
    ],
)
def test_the_text_of_a_key_does_not_change_the_kind_of_a_failure(  # noqa: PLR0917
    error: type[Exception], frame: str, status: str, code: str, category: type[BayouError], key: str
) -> None:
    body = f"<Error><Code>{code}</Code><Message>m</Message><Key>{escape(key)}</Key></Error>"
    text = (
        f"{frame.format(key, key)}Error performing GET http://127.0.0.1:9/bucket/{quote(key)} in 2.6ms, "
        f"after 5 retries, max_retries: 5 - Server returned non-2xx status code: {status}: {body}"
        f"\n\nDebug source:\n{key}"
    )
    found = translate(error(text), key)
    assert type(found) is category
    assert found.kind is not ErrorKind.THROTTLED
    assert found.message == f"{key!r}: the store answered {status} ({code}: m)"


def test_a_message_says_what_happened_and_not_where_the_object_lies() -> None:
    text = (
        "Generic S3 error: Error performing PUT http://127.0.0.1:9/bucket/the/key in 120.5ms, after 3 retries, "
        "max_retries: 3 - HTTP error: error sending request\n\nDebug source:\nReqwest { x }"
    )
    message = "'the/key': HTTP error: error sending request (http://127.0.0.1:9)"
    assert translate(obs.GenericError(text), "the/key").message == message


def test_a_key_does_not_decide_what_an_error_means() -> None:
    text = "HTTP error: error sending request for http://127.0.0.1/b/169.254.169.254/metadata.google.internal"
    assert translate(obs.GenericError(text), "169.254.169.254").kind is ErrorKind.TRANSIENT


def on_missing_container(server: Server, location: Location) -> Location:
    match location:
        case S3() | GCS():
            return replace(location, bucket="no-such-bucket-here")
        case Azure():
            return replace(location, container="no-such-container-here")
    raise AssertionError(server)


SERVERS = ("azurite", "fake_gcs", "ministack", "moto", "rclone", "seaweedfs")
# fake-gcs-server answers alike whether it is the bucket or the object that is missing; SeaweedFS makes the bucket.
DIFFERENT = {
    "fake_gcs": {"get", "get_if_changed", "head", "delete", "copy"},
    "seaweedfs": {"put", "create", "replace"},
}


@pytest.mark.parametrize(
    ("name", "call"),
    [
        pytest.param(name, call, id=f"{name}-{verb}")
        for name in SERVERS
        for verb, call in CALLS.items()
        if verb not in DIFFERENT.get(name, ())
    ],
)
async def test_a_missing_container_is_a_wrong_setting_and_never_a_missing_object(
    name: str,
    call: Callable[[Store], Awaitable[object]],
    request: pytest.FixtureRequest,
    new_location: Callable[[Server], Location],
) -> None:
    server = request.getfixturevalue(name)
    store = open_bare(on_missing_container(server, new_location(server)))
    with pytest.raises(UsageError) as caught:
        await call(store)
    assert caught.value.kind is ErrorKind.CONTAINER_MISSING


@each_call
async def test_wrong_credentials_are_denied(
    call: Callable[[Store], Awaitable[object]],
    seaweedfs: Server,
    new_location: Callable[[Server], Location],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    location = new_location(seaweedfs)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(Denied):
        await call(open_bare(location))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    with pytest.raises(Denied):
        await call(open_bare(location))


@each_call
async def test_nobody_there_is_unavailable(
    call: Callable[[Store], Awaitable[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    monkeypatch.setattr(sys.modules["bayou.storage.connecting"], "_PART_RETRIES", {"max_retries": 0})
    store = open_bare(S3("bucket", region="us-east-1", endpoint="http://127.0.0.1:9", path_style=True))
    with pytest.raises(Unavailable) as caught:
        await call(store)
    assert caught.value.kind is ErrorKind.TRANSIENT


@each_call
async def test_settings_that_make_no_address_are_a_wrong_setting(
    call: Callable[[Store], Awaitable[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    with pytest.raises(UsageError) as caught:  # what ends with a number has to be an address
        await call(open_bare(S3("bucket", region="us-east-1", endpoint="http://store.1:9")))
    assert caught.value.kind is ErrorKind.INVALID_CONFIG


NO_STORE = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
PAGE = b"<html><head><title>404 Not Found</title></head></html>"


@pytest.mark.parametrize("kind", ["s3", "gcs", "azure"])
@each_call
async def test_what_is_no_object_store_knows_nothing_of_objects(
    call: Callable[[Store], Awaitable[object]], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(NO_STORE % len(PAGE) + (b"" if head.startswith(b"HEAD") else PAGE))
        await writer.drain()
        writer.close()

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "eA==")
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        endpoint = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        location: Location = {
            "s3": S3("bucket", region="us-east-1", endpoint=endpoint, path_style=True),
            "gcs": GCS("bucket", endpoint=endpoint),
            "azure": Azure("container", account="account", endpoint=endpoint),
        }[kind]  # type: ignore[assignment]
        with pytest.raises(Unavailable) as caught:
            await call(open_bare(location))
        assert "endpoint" in caught.value.remedy


async def test_the_mark_of_a_folder_is_no_object(ministack: Server, new_location: Callable[[Server], Location]) -> None:
    """The empty object `folder/` that consoles make for a folder comes as `folder`, as an empty object would."""
    location = new_location(ministack)
    assert isinstance(location, S3)
    store = open_bare(location)
    for key in ("folder/a", "real/a", "real", "empty", "folder/empty"):
        await store.put(key, b"")
    for key in ("folder", "folder/inner"):
        ministack.create_bucket(f"{location.bucket}/{key}")  # a PUT of that path with a slash at its end
    await store.put("folder/inner/b", b"")
    objects = ["empty", "folder/a", "folder/empty", "folder/inner/b", "real", "real/a"]
    assert await list_keys(store) == objects
    assert await list_keys(store, "folder") == objects[1:4]
    ministack.create_bucket(f"{location.bucket}/nothing-below")
    assert "nothing-below" in await list_keys(store), "only a look at each empty object could tell"


async def test_a_key_that_cannot_be_listed_is_named(
    ministack: Server, new_location: Callable[[Server], Location]
) -> None:
    location = new_location(ministack)
    assert isinstance(location, S3)
    store = open_bare(location)
    await store.put("data/a", b"")
    ministack.create_bucket(f"{location.bucket}/data//double")
    with pytest.raises(UsageError) as caught:
        await list_keys(store)
    assert "data//double" in caught.value.message
    assert "remove" in caught.value.remedy
