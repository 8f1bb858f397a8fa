"""Lines of the audit logs: one JSON object each (repository spec 3.4, 3.5).

Ours say more: whether the command succeeded, and, as `prev`, the sha256 of the line before, so that a line that was
changed, removed or put in shows. Existing clients pass over what they do not know.
"""

import hashlib
from typing import Final

import msgspec

from bayou.wire.javascript import compact

FIRST: Final = "0" * 64
"""The `prev` of a log's first line."""


class CommandEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A command that was run. Existing clients write an exit code and an error only for one that failed."""

    timestamp: str
    command: str
    cwd: str = ""
    session_id: str | None = None
    exit_code: int | None = None
    error: str | None = None
    status: str | None = None
    """`success` or `error`."""
    duration_ms: int | None = None

    @property
    def failed(self) -> bool:
        return self.status == "error" or bool(self.exit_code) or bool(self.error)


class VaultEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What was done with a secret. Never its value."""

    action: str = "get"
    timestamp: str
    vault_name: str
    vault_type: str = ""
    secret_key: str
    caller_context: str = "unknown"


Entry = CommandEntry | VaultEntry


def decode_command(line: bytes) -> CommandEntry | None:
    """None for what is no entry."""
    try:
        return msgspec.json.decode(line, type=CommandEntry)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def decode_vault(line: bytes) -> VaultEntry | None:
    """None for what is no entry."""
    try:
        return msgspec.json.decode(line, type=VaultEntry)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def encode(entry: Entry, prev: str | None = None) -> bytes:
    """A whole line. An exit code and an error are only written where there is a failure to tell of."""
    document = {name: _text(value) for name, value in msgspec.to_builtins(entry).items() if value is not None}
    for name in ("exitCode", "error"):
        if not document.get(name):
            document.pop(name, None)
    return compact(document | ({"prev": prev} if prev else {})) + b"\n"


def _text(value: object) -> object:
    """Text that every reader takes: a command may hold bytes that are none, and these are spelled out."""
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def link(line: bytes) -> str:
    """What the next line says about this one, which is given without its newline."""
    return hashlib.sha256(line).hexdigest()
