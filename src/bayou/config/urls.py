"""Locations as text: a path or `file:///…`, `s3://`, `gs://`, `az://`, `mongodb://`, `@coll/name:{json}` for the rest.

`render` gives the text that `parse` reads back. What a URL cannot say safely in plain characters is percent-encoded.
Credentials in a URL are refused: URLs end up in shell histories, process lists, logs and `.swamp.yaml`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, unquote

from bayou.config import typed
from bayou.config.block import Block
from bayou.config.credentials import BLANK, has_userinfo, names_credential
from bayou.config.declaration import plugin_types, read
from bayou.config.locations import GCS, S3, Azure, Folder, Headers, Location, Misfit, Mongo, Plugin
from bayou.config.wording import refusal
from bayou.domain.suggestions import suggestion
from bayou.errors import ErrorKind, UsageError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(//)?")
_QUERY: Mapping[str, tuple[str, ...]] = {
    "s3": ("region", "endpoint", "path_style", "header"),
    "gs": ("endpoint", "project", "header"),
    "az": ("account", "endpoint", "header"),
    "file": (),
}
_MONGO = ("mongodb", "mongodb+srv")
_FLAGS = {"true": True, "false": False}
_SAFE = "/:@,+=!*()~"

_L = TypeVar("_L")


def is_url(text: str) -> bool:
    """Tell a URL from a path. `s3:x` counts as a mistyped URL; a folder of that name is written `./s3:x`."""
    return _SCHEME.match(text) is not None


def is_typed(text: str) -> bool:
    return text.startswith("@") and ":" in text


def parse(text: str, *, plugins: Callable[[], Iterable[str]] = plugin_types) -> Location:
    """Read a location. A path stays as it is written: what it is relative to is for the caller to say."""
    if is_typed(text):
        declared = Block(typed.parse(text, where="the location"), where="the location")
        return read(declared, declared.block("config"), plugins=plugins)
    match = _SCHEME.match(text)
    if match is None:
        if not text:
            raise _error("the location is empty", "Give a path or a URL such as s3://bucket/prefix.")
        return _fit(Folder, text, path=Path(text))
    scheme = match[1].lower()
    known = [f"{name}://" for name in (*_QUERY, *_MONGO)]
    if match[0].lower() not in known:
        raise _error(
            f'"{match[0]}" does not start a URL of a datastore{suggestion(match[0], known)}',
            f"Use one of {', '.join(known)}, or ./{match[0]}… for a folder of that name.",
        )
    rest = text[match.end() :]
    if any(character <= " " or character == "\x7f" for character in rest):
        raise _error(f"the {scheme}:// URL contains a space or control character", "Percent-encode it: a space is %20.")
    if "#" in rest:
        raise _error(f'the {scheme}:// URL contains a "#"', "Write %23 if it is part of a name.")
    return _mongo(scheme, rest) if scheme in _MONGO else _place(scheme, rest)


def _place(scheme: str, rest: str) -> Location:
    address, _, query = rest.partition("?")
    host, slash, path = address.partition("/")
    if has_userinfo(host) or ":" in unquote(host):
        raise _credentials(scheme, "a user name, password or port before the first slash")
    shown = f"{scheme}://{address}"
    values, headers = _known_settings(scheme, query, shown)
    match scheme:
        case "file":
            if host not in {"", "localhost"}:
                raise _error(
                    f'"{shown}" names the host "{host}"', f"For a folder of this machine: file:///{host}/{path}"
                )
            return _fit(Folder, shown, path=Path(slash + _plain(path, shown, errors="surrogateescape")))
        case "s3":
            flag = values.pop("path_style", "false")
            if flag not in _FLAGS:
                raise _error(f'{shown}: path_style: expected true or false, found "{flag}"', "Write path_style=true.")
            values |= {"bucket": host, "prefix": _plain(path, shown)}
            return _fit(S3, shown, path_style=_FLAGS[flag], headers=headers, **values)
        case "gs":
            return _fit(GCS, shown, bucket=host, prefix=_plain(path, shown), headers=headers, **values)
        case _:
            return _fit(Azure, shown, container=host, prefix=_plain(path, shown), headers=headers, **values)


def _known_settings(scheme: str, query: str, shown: str) -> tuple[dict[str, str], Headers]:
    values: dict[str, str] = {}
    headers: list[tuple[str, str]] = []
    for name, value in _pairs(scheme, query):
        if name not in _QUERY[scheme]:
            raise _error(
                f'"{name}" is not a setting of {scheme}:// URLs{suggestion(name, _QUERY[scheme])}',
                f"The settings of {scheme}:// URLs are: {', '.join(_QUERY[scheme]) or 'none'}.",
            )
        if name == "header":
            headers.append((value.partition(":")[0], value.partition(":")[2]))
        elif name in values:
            raise _error(f"{shown}: {name} is given twice", f"Give {name} once.")
        else:
            values[name] = value
    return values, tuple(headers)


def _mongo(scheme: str, rest: str) -> Mongo:
    address, _, query = rest.partition("?")
    if has_userinfo(address):
        raise _credentials(scheme, "a user name or password before the @")
    _pairs(scheme, query)  # refuses credentials; what else the settings mean is for the driver
    return Mongo({"uri": f"{scheme}://{rest}"})


def displayed(location: Location) -> str:
    """Write a location to be looked at: what only the other side understands may be a credential, and is blanked."""
    match location:
        case S3(headers=headers) | GCS(headers=headers) | Azure(headers=headers):
            return render(replace(location, headers=tuple((name, BLANK) for name, _ in headers)))
        case Mongo(config) | Plugin(_, config):
            return typed.render(location.type, dict.fromkeys(config, BLANK))
        case _:
            return render(location)


def render(location: Location) -> str:  # noqa: PLR0911 - one return per kind of place
    """Write a location as the text that `parse` reads back, with all that it holds: not for logs."""
    match location:
        case Folder(path):
            text = str(path)
            if path.is_absolute():
                return f"file://{quote(text, safe=_SAFE, errors='surrogateescape')}"
            return f"./{text}" if is_url(text) or is_typed(text) else text
        case S3():
            path_style = "true" if location.path_style else None
            settings = [("region", location.region), ("endpoint", location.endpoint), ("path_style", path_style)]
            return _url("s3", location.bucket, location, settings)
        case GCS():
            settings = [("endpoint", location.endpoint), ("project", location.project)]
            return _url("gs", location.bucket, location, settings)
        case Azure():
            settings = [("account", location.account), ("endpoint", location.endpoint)]
            return _url("az", location.container, location, settings)
        case Mongo({"uri": str() as uri, **others}) if not others and _reads_back(uri, location):
            return uri
        case Mongo(config) | Plugin(_, config):
            return typed.render(location.type, config)


def _reads_back(uri: str, location: Mongo) -> bool:
    try:
        return parse(uri) == location
    except UsageError:
        return False


def _url(scheme: str, host: str, location: S3 | GCS | Azure, settings: Iterable[tuple[str, str | None]]) -> str:
    path = f"/{quote(location.prefix, safe=_SAFE)}" if location.prefix else ""
    given = [(name, value) for name, value in settings if value is not None]
    given += [("header", f"{name}:{value}") for name, value in location.headers]
    query = "&".join(f"{name}={quote(value, safe=_SAFE)}" for name, value in given)
    return f"{scheme}://{host}{path}{'?' if query else ''}{query}"


def _pairs(scheme: str, query: str) -> list[tuple[str, str]]:
    pairs = []
    for part in filter(None, query.split("&")):
        name, _, value = part.partition("=")
        # AWS_SESSION_TOKEN hides in a value: authMechanismProperties=AWS_SESSION_TOKEN:…
        if names_credential(name) or "SESSION_TOKEN" in value.upper():
            raise _credentials(scheme, f'"{name}"')
        pairs.append((name, _plain(value, f"{scheme}:// URL, {name}")))
    return pairs


def _plain(text: str, shown: str, errors: str = "strict") -> str:
    try:
        return unquote(text, errors=errors)
    except UnicodeDecodeError:
        raise _error(f"{shown}: what is percent-encoded is not UTF-8", "Percent-encode the UTF-8 form.") from None


def _fit(kind: Callable[..., _L], shown: str, **values: object) -> _L:
    try:
        return kind(**values)
    except Misfit as misfit:
        raise _error(f"{shown}: {misfit.message}", f"Correct {misfit.field} in the URL.") from None


def _credentials(scheme: str, what: str) -> UsageError:
    # The URL is not repeated: the message itself may be logged.
    return _error(
        f"the {scheme}:// URL contains {what}; credentials in URLs end up in shell histories and logs",
        "Leave it out: credentials come from the environment, a profile or the machine's identity.",
    )


def _error(message: str, remedy: str) -> UsageError:
    return refusal(message, kind=ErrorKind.INVALID_URL, remedy=remedy)
