"""How values of unknown origin are worded in messages and warnings, and the refusal that carries such a message."""

from collections.abc import Mapping

from bayou.config.credentials import has_userinfo
from bayou.errors import ErrorKind, UsageError

_LONGEST = 60


def escaped(text: str) -> str:
    """Escape what a terminal would act on or cannot print. Escaping twice changes nothing."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def quoted(text: str) -> str:
    return f'"{escaped(text)}"'


def repeated(text: str) -> str:
    """Quote a text in a complaint about it, unless it looks like an address with credentials or with a signed query."""
    if has_userinfo(text[1:]) or "?" in text:
        return '(not repeated, because of its "@" or "?")'
    return quoted(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...")


def shown(value: object) -> str:  # noqa: PLR0911 - one return per type
    """Name a value in a complaint, briefly, with its type as the writer of a configuration knows it."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case str():
            return f"the text {repeated(value)}"
        case int() if value.bit_length() > 64:
            return "a number of more than 64 bits"
        case int() | float():
            return f"the number {value}"
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            return f"a value of type {type(value).__name__}"


def described(allowed: range) -> str:
    """Say a range of whole numbers in words."""
    if allowed.stop > 2**53:
        return f"a whole number, {allowed.start} or more"
    return f"a whole number from {allowed.start} to {allowed.stop - 1}"


def refusal(message: str, *, kind: ErrorKind = ErrorKind.INVALID_CONFIG, remedy: str | None = None) -> UsageError:
    """Make the error for a configuration that makes no sense, safe to print whatever it repeats."""
    return UsageError(escaped(message), kind=kind, remedy=None if remedy is None else escaped(remedy))
