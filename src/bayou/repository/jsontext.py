"""JSON text: whether bytes are a JSON document, and why not."""

import json

import msgspec


class NotFinite(ValueError):  # noqa: N818 - what it is, not that it is wrong
    """Nothing but NaN or an infinity, as Python and others write them, keeps it from being JSON."""


def check(content: bytes) -> None:
    """`ValueError` says why this is no JSON as JavaScript reads it, with a byte order mark or half characters."""
    try:
        msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        _check_patiently(content)


def _check_patiently(content: bytes) -> None:
    found: list[str] = []
    try:
        json.loads(content.decode("utf-8-sig"), parse_constant=found.append)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if found:
        raise NotFinite(f"it holds {found[0]}, which JSON cannot hold")
