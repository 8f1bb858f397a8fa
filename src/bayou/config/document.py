"""A configuration file as a YAML document, with its faults as errors that name the file."""

from typing import TYPE_CHECKING

from bayou.config.wording import refusal
from bayou.errors import UsageError
from bayou.wire import yamldocument
from bayou.wire.yamldocument import Fault

if TYPE_CHECKING:
    import yaml


def load(text: str, where: str) -> object:
    try:
        return yamldocument.load(text)
    except Fault as fault:
        raise _error(where, fault) from None


def load_with_marks(text: str, where: str) -> "tuple[yaml.Node | None, object]":
    """Load the node tree as well: each node knows the span of text that it came from."""
    try:
        return yamldocument.load_with_marks(text)
    except Fault as fault:
        raise _error(where, fault) from None


def _error(where: str, fault: Fault) -> UsageError:
    place = f", line {fault.at[0]}, column {fault.at[1]}" if fault.at is not None else ""
    return refusal(
        f"{where}{place}: {fault.problem}", remedy=f"Correct {where} by hand, or take it back from version control."
    )
