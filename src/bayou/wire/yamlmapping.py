"""Records of the repository as YAML files: one mapping each, from bytes to plain values and back."""

from collections.abc import Mapping
from typing import Final

from bayou.errors import Corrupt, ErrorKind, UsageError
from bayou.wire.documents import name_of
from bayou.wire.yamllines import read
from bayou.wire.yamltext import Inexpressible, lines

MANY: Final = 1_000_000
"""More values than a person writes, and as many as a program may."""


def decode(data: bytes, where: str, noun: str, *, most: int = 10_000) -> dict[str, object]:
    """Read a file of at most so many values. `Corrupt` says why nobody can."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise Corrupt(where, expected=noun, found=f"bytes that are not UTF-8 at {error.start}") from None
    return decode_text(text, where, noun, most=most)


def decode_text(text: str, where: str, noun: str, *, most: int = 10_000) -> dict[str, object]:
    document = read(text)
    return _parse(text, where, noun, most) if document is None else document


def encode(document: Mapping[str, object], noun: str) -> bytes:
    """The file that every client reads back as these values."""
    try:
        return lines(document).encode()
    except (Inexpressible, RecursionError) as error:
        raise UsageError(
            f"{noun} cannot be written: {error}",
            kind=ErrorKind.INVALID_CONTENT,
            remedy="Leave out that value, or store it as data and name it here.",
        ) from None


def _parse(text: str, where: str, noun: str, most: int) -> dict[str, object]:
    from bayou.wire.yamldocument import Fault, load_record  # noqa: PLC0415 - PyYAML takes 19 ms, and is rarely needed

    try:
        document = load_record(text, most=most)
    except Fault as fault:
        raise Corrupt(where, expected=noun, found=f"no YAML that can be read ({fault})") from None
    if not isinstance(document, dict):
        raise Corrupt(where, expected=noun, found=f"YAML that is no mapping but {name_of(document)}")
    return document
