"""Model types: what a person wrote, and the one normalised text that folders and comparisons use."""

import re
import unicodedata
from dataclasses import dataclass, field

from bayou.errors import ErrorKind, UsageError

# Every client must put a type into the same folder, so this is the JavaScript set, written out. Python's `\s` and
# `str.strip` also take U+001C-001F and U+0085, and do not take U+FEFF.
WHITESPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
RESERVED_COLLECTIVES = frozenset({"swamp", "si"})

# The passes of the spec in one: no separator is made by replacing another.
_SEPARATORS = re.compile(f"(?:::|[{WHITESPACE}./])+")


@dataclass(frozen=True, slots=True, order=True)
class ModelType:
    """A type such as `AWS::EC2::VPC`. Two spellings of one normalised text are equal (repository spec 1.2).

    A normalised text never holds a `.`, so it cannot climb out of a folder; but a backslash or a control character is
    kept, as the existing clients do. `Model` refuses such a type, and so does whatever makes a path of it.
    """

    raw: str = field(compare=False)
    normalised: str = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.raw, str):
            raise _refused(self.raw, "it is not text")
        object.__setattr__(self, "raw", self.raw.strip(WHITESPACE))
        object.__setattr__(self, "normalised", _normalised(self.raw))

    def __str__(self) -> str:
        return self.normalised

    @property
    def segments(self) -> tuple[str, ...]:
        """The nested folders of the type."""
        return tuple(self.normalised.split("/"))

    @property
    def user_namespace(self) -> str | None:
        """`@acme` of `@acme/geo`; None for a type that no user namespace owns."""
        return self.segments[0] if self.normalised.startswith("@") else None

    @property
    def collective(self) -> str:
        """Who publishes the type: the first segment, without its `@`."""
        return self.segments[0].removeprefix("@")

    @property
    def is_reserved(self) -> bool:
        return self.collective in RESERVED_COLLECTIVES


def _normalised(text: str) -> str:
    normalised = _SEPARATORS.sub("/", _lowered(text)).strip("/")
    if not normalised:
        raise _refused(text, "it is empty" if not text else "nothing but separators is in it")
    return normalised


def _lowered(text: str) -> str:
    """Lower case as JavaScript has it.

    `str.lower` is the same algorithm (full mappings, so U+0130 becomes `i` and U+0307; final sigma by context) and was
    compared with it over all of Unicode: they differ only where one side's Unicode is newer. Such a letter would send
    two machines to two folders, so what this Python's tables do not know is refused rather than guessed.
    """
    if not text.isascii():
        for character in text:
            if unicodedata.category(character) in ("Cn", "Cs"):
                raise _refused(text, f"U+{ord(character):04X} is no character of Unicode {unicodedata.unidata_version}")
    return text.lower()


def _refused(text: object, reason: str) -> UsageError:
    return UsageError(
        f"{text!r} is not a model type: {reason}",
        kind=ErrorKind.INVALID_NAME,
        remedy="Name a type such as aws/ec2/vpc or @acme/lookup.",
    )
