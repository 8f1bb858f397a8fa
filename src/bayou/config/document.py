"""A configuration file as a YAML document, with its faults as errors that name the file."""

from typing import TYPE_CHECKING

from bayou.config.wording import refusal
from bayou.errors import UsageError
from bayou.wire import yamllines

if TYPE_CHECKING:
    import yaml

    from bayou.wire.yamldocument import Fault


_FEW_LINES = 1000


def load(text: str, where: str) -> object:
    plain = yamllines.read(text) if text.count("\n") <= _FEW_LINES else None
    if plain is not None:
        return plain
    from bayou.wire import yamldocument  # noqa: PLC0415 - PyYAML takes 19 ms, and most files are plain

    try:
        return yamldocument.load(text)
    except yamldocument.Fault as fault:
        raise _error(where, fault) from None


def load_with_marks(text: str, where: str) -> "tuple[yaml.Node | None, object]":
    """Load the node tree as well: each node knows the span of text that it came from."""
    from bayou.wire import yamldocument  # noqa: PLC0415 - as above

    try:
        return yamldocument.load_with_marks(text)
    except yamldocument.Fault as fault:
        raise _error(where, fault) from None


def _error(where: str, fault: "Fault") -> UsageError:
    place = f", line {fault.at[0]}, column {fault.at[1]}" if fault.at is not None else ""
    return refusal(
        f"{where}{place}: {fault.problem}", remedy=f"Correct {where} by hand, or take it back from version control."
    )
