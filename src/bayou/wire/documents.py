"""Documents: from bytes to plain values, and from plain values to forms, with one way to say what is wrong."""

import json
import math
from typing import Final, NoReturn, TypeGuard, TypeVar

import msgspec

from bayou.errors import Corrupt, ErrorKind, Unsupported

_Form = TypeVar("_Form")

_LARGEST_EXACT: Final = 2**53 - 1
_DEEPEST: Final = 64
_LONGEST_PROBLEM: Final = 200  # characters of a message


class Void(msgspec.Struct, frozen=True):
    """An object that is there and says nothing: existing clients treat it as if it were not there.

    Returned, not raised, because what follows is the caller's to decide: "not there" is not "empty", and a
    failed read is never "the old format" (promise 12).
    """

    why: str


def parse(data: bytes, where: str, noun: str) -> object:
    """JSON as `JSON.parse` reads it: of a key that occurs twice the last value counts, and 2048.0 is 2048."""
    try:
        return json.loads(data.decode(), parse_float=_number, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        found = f"{len(data)} bytes that are not JSON ({error})"
    raise Corrupt(where, expected=noun, found=found)


def parse_object(data: bytes, where: str, noun: str) -> dict[str, object]:
    value = parse(data, where, noun)
    if isinstance(value, dict):
        return value
    raise Corrupt(where, expected=noun, found=f"JSON that is no object but {name_of(value)}")


def shape(value: object, form: type[_Form], where: str, noun: str) -> _Form:
    try:
        return converted(value, form)
    except msgspec.ValidationError as error:
        found = f"JSON of another shape ({problem(error)})"
    raise Corrupt(where, expected=noun, found=found)


def converted(value: object, form: type[_Form]) -> _Form:
    """A plain value as a form, or ValidationError: half a character makes msgspec stumble where no text may be."""
    try:
        return msgspec.convert(value, form)
    except UnicodeEncodeError as error:
        raise msgspec.ValidationError(str(error)) from None


def require_shallow(value: object, where: str, noun: str) -> None:
    """Refuse what nests further than anybody means to: what was read must be writable again, from a deeper stack."""
    level = [value]
    for _ in range(_DEEPEST):
        containers = [
            held.values() if isinstance(held, dict) else held for held in level if isinstance(held, dict | list)
        ]
        level = [held for container in containers for held in container]
    if level:
        raise Corrupt(where, expected=noun, found=f"JSON of more than {_DEEPEST} levels")


def require_version_1(version: object, where: str, noun: str) -> None:
    if not is_integer(version):
        raise Corrupt(where, expected=f"a version number in {noun}", found=name_of(version))
    if version != 1:
        refuse_version(version, where, noun)


def refuse_version(version: object, where: str, noun: str) -> NoReturn:
    """Stop at a document of a release to come: what it means cannot be guessed (promise 12)."""
    raise Unsupported(
        f"{where}: this release does not know version {str(version)[:20]} of {noun}",
        kind=ErrorKind.UNKNOWN_FORMAT,
        remedy="Use a newer release of Bayou with this datastore.",
    )


def is_integer(value: object) -> TypeGuard[int]:
    # True is an int to Python; in JSON it is another type.
    return isinstance(value, int) and not isinstance(value, bool)


def problem(error: Exception) -> str:
    return str(error)[:_LONGEST_PROBLEM]


def name_of(value: object) -> str:
    """What JSON calls the type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"


def _number(text: str) -> object:
    value = float(text)
    if math.isinf(value):
        return None  # beyond the range of a double, JavaScript reads infinity and writes null
    return int(value) if value.is_integer() and abs(value) <= _LARGEST_EXACT else value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")
