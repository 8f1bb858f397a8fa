"""From where a datastore is to a store that is ready to use."""

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from bayou.config.declaration import PLUGIN_GROUP
from bayou.config.locations import GCS, S3, Azure, Folder, Location, Misfit, Mongo, Plugin
from bayou.errors import ErrorKind, Unsupported, UsageError
from bayou.storage.credentials import aws_credentials, azure_cli_is_logged_in
from bayou.storage.filesystem import FilesystemStore
from bayou.storage.limit import Limit, Window
from bayou.storage.port import Store
from bayou.storage.prefix import Prefix
from bayou.storage.record import Record, Tally
from bayou.storage.retry import Patience, Retry
from bayou.storage.timelimit import TimeLimit

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

_NO_RETRIES: "RetryConfig" = {"max_retries": 0}
_PART_RETRIES: "RetryConfig" = {"max_retries": 5, "retry_timeout": timedelta(minutes=3)}


def connect(
    location: Location,
    *,
    concurrency: int = 50,
    request_seconds: float = 30.0,
    patience: Patience | None = None,
    tally: Tally | None = None,
) -> Store:
    """Open a store with all that makes it fit for use.

    From the outside in: retries, the window, the time limit, the count, the prefix.
    """
    store = open_bare(location)
    prefix = getattr(location, "prefix", "")
    if prefix:
        store = Prefix(store, prefix)
    store = Record(store, tally if tally is not None else Tally())
    return Retry(Limit(TimeLimit(store, request_seconds), Window(concurrency)), patience)


def open_bare(location: Location) -> Store:
    """Open the store itself, without its prefix and without wrappers."""
    match location:
        case Folder(path):
            return FilesystemStore(path)
        case S3():
            return _s3(location)
        case GCS():
            return _gcs(location)
        case Azure():
            return _azure(location)
        case Plugin(kind, config):
            return _plugin(kind, config)
        case Mongo():
            message = "a MongoDB database is not an object store"
            remedy = "Use a folder, S3, GCS or Azure location here."
            raise Unsupported(message, kind=ErrorKind.STORE_CANNOT, remedy=remedy)


_AWS_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


def _with_endpoint_of_environment(location: S3) -> S3:
    """The endpoint that AWS's tools take from the environment. obstore takes it too, but leaves out the bucket."""
    name = next((name for name in _AWS_ENDPOINTS if os.environ.get(name)), None)
    if name is None or location.endpoint is not None:
        return location
    try:
        return replace(location, endpoint=os.environ[name])
    except Misfit as misfit:
        message = f"{name}: {misfit.problem}"
        remedy = f"Correct {name} in the environment, or unset it."
        raise UsageError(message, kind=ErrorKind.INVALID_CONFIG, remedy=remedy) from None


def _s3(location: S3) -> Store:
    from obstore.store import S3Store  # noqa: PLC0415 - loads the native library, which a folder does not need

    from bayou.storage.bucket import Bucket  # noqa: PLC0415
    from bayou.storage.versions import ETags  # noqa: PLC0415

    location = _with_endpoint_of_environment(location)
    by_path = location.path_style or _is_nobodys_parent(location.endpoint)
    config: dict[str, Any] = {"virtual_hosted_style_request": not by_path}
    if location.region is not None:
        config["region"] = location.region
    if location.endpoint is not None:
        # By this name, as a variable of that name would win over any other.
        config["aws_endpoint_url_s3"] = (
            location.endpoint if by_path else _with_bucket(location.endpoint, location.bucket)
        )
    credentials = aws_credentials(os.environ, Path.home()).provider
    options = _client_options(location.endpoint, dict(location.headers))

    def client(retries: "RetryConfig") -> S3Store:
        return S3Store(
            location.bucket, client_options=options, retry_config=retries, credential_provider=credentials, **config
        )

    return Bucket(client(_NO_RETRIES), client(_PART_RETRIES), ETags())


def _gcs(location: GCS) -> Store:
    from obstore.store import GCSStore  # noqa: PLC0415

    from bayou.storage.bucket import Bucket  # noqa: PLC0415
    from bayou.storage.versions import Generations  # noqa: PLC0415

    config: dict[str, Any] = {}
    if location.endpoint is not None:
        config["base_url"] = location.endpoint
        if location.endpoint.startswith("http://"):
            config["bearer_token"] = "emulator"  # noqa: S105 - nobody sends a real token over plain HTTP
    options = _client_options(location.endpoint, dict(location.headers))

    def client(retries: "RetryConfig") -> GCSStore:
        return GCSStore(location.bucket, client_options=options, retry_config=retries, **config)

    return Bucket(client(_NO_RETRIES), client(_PART_RETRIES), Generations())


def _azure(location: Azure) -> Store:
    from obstore.store import AzureStore  # noqa: PLC0415

    from bayou.storage.bucket import Bucket  # noqa: PLC0415
    from bayou.storage.versions import ETags  # noqa: PLC0415

    config: dict[str, Any] = {}
    if location.account is not None:
        config["account_name"] = location.account
    if location.endpoint is not None:
        config["endpoint"] = location.endpoint
    if azure_cli_is_logged_in(os.environ, Path.home()):
        config["use_azure_cli"] = True
    options = _client_options(location.endpoint, dict(location.headers))

    def client(retries: "RetryConfig") -> AzureStore:
        return AzureStore(location.container, client_options=options, retry_config=retries, **config)

    return Bucket(client(_NO_RETRIES), client(_PART_RETRIES), ETags())


def _plugin(kind: str, config: Mapping[str, object]) -> Store:
    from importlib.metadata import entry_points  # noqa: PLC0415 - 30 ms that nobody else has to pay

    for found in entry_points(group=PLUGIN_GROUP, name=kind):
        store = found.load()(config)
        if not isinstance(store, Store):
            message = f"the datastore type {kind!r} of {found.value} gave a {type(store).__name__}, not a Store"
            raise Unsupported(message, kind=ErrorKind.STORE_CANNOT)
        return store
    message = f"no installed package offers the datastore type {kind!r}"
    remedy = "Install the package that does, or correct the type."
    raise UsageError(message, kind=ErrorKind.INVALID_CONFIG, remedy=remedy)


def _client_options(endpoint: str | None, headers: dict[str, str]) -> "ClientConfig":
    # obstore's own limit is on a whole body, however large; ours (`TimeLimit`) is on each answer and each piece.
    options: ClientConfig = {"timeout": timedelta(days=7), "connect_timeout": timedelta(seconds=10)}
    if endpoint is not None and endpoint.startswith("http://"):
        options["allow_http"] = True
    if headers:
        options["default_headers"] = headers
    return options


def _is_nobodys_parent(endpoint: str | None) -> bool:
    """Whether no bucket can have a host name below this one: it is an address, or this machine's own name."""
    host = urlsplit(endpoint or "").hostname or ""
    try:
        ip_address(host)
    except ValueError:
        return host == "localhost"
    return True


def _with_bucket(endpoint: str, bucket: str) -> str:
    parts = urlsplit(endpoint)
    return urlunsplit(parts._replace(netloc=f"{bucket}.{parts.netloc}"))
