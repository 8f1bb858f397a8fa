"""Content: what somebody wants to keep, in the form in which it is written, piece by piece.

Bytes are kept as they are given, whatever their type says they are. A text becomes UTF-8, any other value compact JSON.
Files and streams are never whole in memory.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

from bayou.domain.artifacts import JSON
from bayou.errors import ErrorKind, UsageError

BYTES = "application/octet-stream"
TEXT = "text/plain"

_CHUNK = 2**20

# What the standard library does not know, or knows by a name that says less.
_TYPES = {
    ".jsonl": "application/x-ndjson",
    ".log": TEXT,
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".ndjson": "application/x-ndjson",
    ".parquet": "application/vnd.apache.parquet",
    ".tf": TEXT,
    ".toml": "application/toml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}


@runtime_checkable
class Readable(Protocol):
    """A binary stream: an open file, a response, a pipe."""

    def read(self, size: int, /) -> bytes: ...


Given: TypeAlias = bytes | bytearray | memoryview | str | Path | Readable | Iterator[bytes] | object
"""What `content` takes. What is none of the first six is a value, which becomes JSON."""


@dataclass(frozen=True, slots=True)
class Content:
    """`chunks` gives it piece by piece, once; `whole` is it where it was in memory anyhow."""

    chunks: Callable[[], Iterable[bytes]]
    content_type: str
    whole: bytes | None = None


def content(given: Given) -> Content:  # noqa: PLR0911 - one return per form
    """The content that was given, in whichever form. Whether it can be read is asked late, as that takes longest."""
    match given:
        case dict() | list():
            return of_value(given)
        case Content():
            return given
        case bytes():
            return of_bytes(given)
        case bytearray() | memoryview():
            return of_bytes(bytes(given))
        case str():
            return of_text(given)
        case Path():
            return of_file(given)
        case Readable() | Iterator():
            return of_stream(given)
        case _:
            return of_value(given)


def of_bytes(given: bytes, content_type: str = BYTES) -> Content:
    return Content(lambda: (given,), content_type, given)


def of_text(text: str, content_type: str = TEXT) -> Content:
    return of_bytes(_encoded(text, "the text"), content_type)


def of_value(value: object) -> Content:
    """A value as JSON: without blanks, with all letters as they are (repository spec 1.3)."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise _refusal(_reason(value, error)) from None
    return of_bytes(_encoded(text, "the value"), JSON)


def of_file(path: Path) -> Content:
    """A file, which is read when the content is written."""
    return Content(lambda: _file_chunks(path), type_of_file(path.name))


def of_stream(stream: Readable | Iterator[bytes], content_type: str = BYTES) -> Content:
    """A binary stream, or an iterator over pieces of bytes. It is read once, and not closed."""
    return Content(lambda: _pieces(stream), content_type)


def type_of_file(name: str) -> str:
    """The content type that the name of a file speaks for; the same on every machine."""
    suffix = f".{name.rpartition('.')[2].lower()}" if "." in name else ""
    if suffix in _TYPES:
        return _TYPES[suffix]
    import mimetypes  # noqa: PLC0415 - 3 ms, for files only

    # A table of its own: the module's functions know what this machine has installed.
    found, encoding = mimetypes.MimeTypes().guess_type(f"file{suffix}")
    return found if found and not encoding else BYTES


def _file_chunks(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from _chunks(file)
    except OSError as error:
        raise _refusal(f"cannot read the file {str(path)!r}: {error.strerror or error}") from error


def _pieces(stream: Readable | Iterator[bytes]) -> Iterator[bytes]:
    try:
        for piece in _chunks(stream) if isinstance(stream, Readable) else stream:
            if not isinstance(piece, bytes | bytearray | memoryview):
                raise _refusal(f"the stream gives {type(piece).__name__}, not bytes")
            yield piece
    except OSError as error:
        raise _refusal(f"cannot read the stream to its end: {error.strerror or error}") from error


def _chunks(stream: Readable) -> Iterator[bytes]:
    while chunk := stream.read(_CHUNK):
        yield chunk


def _encoded(text: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise _refusal(f"{what} holds {text[error.start]!r}, half a character, which UTF-8 cannot hold") from None


def _reason(value: object, error: Exception) -> str:
    try:
        return _trouble(value, "the value") or f"the value cannot be JSON: {error}"
    except RecursionError:
        return "the value is nested too deeply, or is part of itself"


def _trouble(value: object, where: str) -> str | None:
    """What in a value JSON cannot hold, with the way to it; None where it is none of the usual."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str | int | float | None) or (isinstance(key, float) and not math.isfinite(key)):
                return f"{where} has the key {key!r}; keys are texts"
            if trouble := _trouble(item, f"{where}[{key!r}]"):
                return trouble
        return None if isinstance(value, dict) else _cannot(value, where)
    if isinstance(value, list | tuple):
        return next(filter(None, (_trouble(item, f"{where}[{i}]") for i, item in enumerate(value))), None)
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{where} is {value}, which JSON cannot hold"
    return None if value is None or isinstance(value, str | int) else _cannot(value, where)


def _cannot(value: object, where: str) -> str:
    return f"{where} is of type {type(value).__name__}, which JSON cannot hold"


def _refusal(message: str) -> UsageError:
    return UsageError(
        message,
        kind=ErrorKind.INVALID_CONTENT,
        remedy="Give bytes, text, a file, a binary stream, or a value of texts, finite numbers, lists and mappings.",
    )
