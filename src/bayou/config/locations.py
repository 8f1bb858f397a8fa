"""Where a datastore is: one frozen value per kind of place, valid by construction.

`storage` builds a store from each. Prefixes are taken verbatim: the physical key is prefix + "/" + key, so the prefix
`a/` gives `a//data/...`, as in the existing clients (sync spec, conventions). No field here is for a credential, and
what may hold one nevertheless is left out of the repr.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from bayou.config import paths
from bayou.config.credentials import has_userinfo, names_credential
from bayou.config.wording import escaped, quoted, repeated
from bayou.errors import ErrorKind, UsageError

_S3_BUCKET = re.compile(r"[a-z0-9][a-z0-9.\-]{1,61}[a-z0-9]")
_GCS_BUCKET = re.compile(r"[a-z0-9][a-z0-9._\-]{1,61}[a-z0-9]")
_AZURE_CONTAINER = re.compile(r"(?=.{3,63}\Z)[a-z0-9]+(-[a-z0-9]+)*")
_AZURE_ACCOUNT = re.compile(r"[a-z0-9]{3,24}")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]*")
_PLUGIN_TYPE = re.compile(r"@[^\s/:@]+/[^\s:]+")
_PLAIN = re.compile(r"[\x21-\x7e]+")

Headers = tuple[tuple[str, str], ...]
"""HTTP headers to send with each request, in order."""


class Misfit(UsageError):  # noqa: N818 - named by what it is, as all categories are
    """A value that a location cannot have. `field` names it, so that whoever read it can say where it stood."""

    default_kind = ErrorKind.INVALID_CONFIG

    def __init__(self, field_name: str, problem: str) -> None:
        self.field = field_name
        self.problem = escaped(problem)
        super().__init__(f"{field_name}: {self.problem}", remedy=f"Correct {field_name}.")


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder on this machine or on a shared disk."""

    type: ClassVar[str] = "filesystem"
    path: Path

    def __post_init__(self) -> None:
        problem = paths.fault(str(self.path))
        if problem is not None:
            raise Misfit("path", problem)


@dataclass(frozen=True, slots=True)
class S3:
    """A bucket of S3 or of a store that speaks its protocol."""

    type: ClassVar[str] = "@swamp/s3-datastore"
    bucket: str
    prefix: str = ""
    region: str | None = None
    endpoint: str | None = None
    path_style: bool = False
    headers: Headers = field(default=(), repr=False)

    def __post_init__(self) -> None:
        _matches(
            "bucket",
            self.bucket,
            _S3_BUCKET,
            "3 to 63 of a-z, 0-9, dot and hyphen, with a letter or digit at both ends",
        )
        _prefix(self.prefix)
        _plain("region", self.region)
        _endpoint(self.endpoint)
        _headers(self.headers)


@dataclass(frozen=True, slots=True)
class GCS:
    """A bucket of Google Cloud Storage. `endpoint` is an emulator or a private endpoint."""

    type: ClassVar[str] = "@swamp/gcs-datastore"
    bucket: str
    prefix: str = ""
    endpoint: str | None = None
    project: str | None = None
    headers: Headers = field(default=(), repr=False)

    def __post_init__(self) -> None:
        expected = "3 to 63 of a-z, 0-9, dot, underscore and hyphen, with a letter or digit at both ends"
        _matches("bucket", self.bucket, _GCS_BUCKET, expected)
        if self.bucket.startswith("goog") or "google" in self.bucket:
            raise Misfit(
                "bucket",
                f'expected a name that neither starts with "goog" nor contains "google", found "{self.bucket}"',
            )
        _prefix(self.prefix)
        _endpoint(self.endpoint)
        _plain("project", self.project)
        _headers(self.headers)


@dataclass(frozen=True, slots=True)
class Azure:
    """A container of Azure Blob Storage. Without `account`, the one of the environment (AZURE_STORAGE_ACCOUNT_NAME)."""

    type: ClassVar[str] = "@bayou/azure-datastore"
    container: str
    prefix: str = ""
    account: str | None = None
    endpoint: str | None = None
    headers: Headers = field(default=(), repr=False)

    def __post_init__(self) -> None:
        expected = "3 to 63 of a-z, 0-9 and single hyphens, with a letter or digit at both ends"
        _matches("container", self.container, _AZURE_CONTAINER, expected)
        _prefix(self.prefix)
        if self.account is not None:
            _matches("account", self.account, _AZURE_ACCOUNT, "3 to 24 of a-z and 0-9")
        _endpoint(self.endpoint)
        _headers(self.headers)


@dataclass(frozen=True, slots=True)
class Mongo:
    """A MongoDB database. The config is kept as it was written; its adapter reads it."""

    type: ClassVar[str] = "@keeb/mongodb-datastore"
    config: Mapping[str, object] = field(hash=False, repr=False)


@dataclass(frozen=True, slots=True)
class Plugin:
    """A place of a type that an installed package offers. Its config is the package's own."""

    type: str
    config: Mapping[str, object] = field(hash=False, repr=False)

    def __post_init__(self) -> None:
        _matches("type", self.type, _PLUGIN_TYPE, "@collective/name")


Location = Folder | S3 | GCS | Azure | Mongo | Plugin


def _matches(name: str, value: str, pattern: re.Pattern[str], expected: str) -> None:
    if not pattern.fullmatch(value):
        raise Misfit(name, f"expected {expected}, found {repeated(value)}")


def _plain(name: str, value: str | None) -> None:
    if value is not None:
        _matches(name, value, _PLAIN, "printable ASCII without spaces")


def _prefix(value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Misfit("prefix", "is not valid Unicode") from None


def _endpoint(value: str | None) -> None:
    if value is None:
        return
    try:
        parts = urlsplit(value)
        valid = (
            parts.scheme in {"http", "https"}
            and bool(parts.hostname)
            and parts.port != 0
            and bool(_PLAIN.fullmatch(value))
        )
    except ValueError:
        valid = False
    if has_userinfo(value):
        raise Misfit("endpoint", "contains credentials, which would end up in logs and shell histories")
    if not valid or "?" in value or "#" in value:
        raise Misfit("endpoint", f"expected http://HOST[:PORT] or https://HOST[:PORT], found {repeated(value)}")


def _headers(headers: Headers) -> None:
    for name, value in headers:
        _header(name, value)
    if len({name.lower() for name, _ in headers}) < len(headers):
        raise Misfit("headers", "names a header twice")


def _header(name: str, value: str) -> None:
    if not _HEADER_NAME.fullmatch(name):
        raise Misfit("headers", f"expected the name of an HTTP header, found {quoted(name)}")
    if names_credential(name):
        raise Misfit(
            "headers", f"{name} is a credential; credentials come from the environment or the machine's identity"
        )
    if not _HEADER_VALUE.fullmatch(value):
        raise Misfit("headers", f"the value of {name} must be printable ASCII")
