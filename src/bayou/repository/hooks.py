"""Hooks of agents: what they tell of the commands that an agent runs (repository spec 3.4)."""

import re
from collections.abc import Mapping
from typing import NamedTuple

# Each agent has names of its own for the same things.
_TOOL = ("tool_name", "toolName", "tool")
_INPUT = ("tool_input", "toolInput", "args", "input")
_RESPONSE = ("tool_response", "toolResponse", "tool_output", "output")
_SESSION = ("session_id", "sessionId", "sessionID", "conversation_id")
_CODE = ("exitCode", "exit_code", "returncode")
_SHELLS = frozenset({"bash", "shell", "execute_bash", "execute_cmd"})
_SPOKEN_CODE = re.compile(r"(?:exit|status) code:? (\d{1,3})\b", re.IGNORECASE)


class Heard(NamedTuple):
    command: str
    session: str | None
    cwd: str | None
    exit_code: int | None


def heard(document: Mapping[str, object]) -> Heard | None:
    """The shell command that a hook is about; None where it is about anything else."""
    tool, given = _first(document, _TOOL), _first(document, _INPUT)
    if not (isinstance(tool, str) and tool.lower() in _SHELLS and isinstance(given, Mapping)):
        return None
    command = given.get("command")
    if not (isinstance(command, str) and command):
        return None
    session, cwd = _first(document, _SESSION), document.get("cwd")
    return Heard(
        command,
        session if isinstance(session, str) else None,
        cwd if isinstance(cwd, str) else None,
        _exit_code(_first(document, _RESPONSE)),
    )


def _first(document: Mapping[str, object], names: tuple[str, ...]) -> object:
    return next((document[name] for name in names if document.get(name) is not None), None)


def _exit_code(response: object) -> int | None:
    """As a number, or as a sentence tells it."""
    if isinstance(response, Mapping):
        number = _first(response, _CODE)
        if isinstance(number, int):
            return number
        response = " ".join(text for text in response.values() if isinstance(text, str))
    spoken = _SPOKEN_CODE.search(response) if isinstance(response, str) else None
    return int(spoken[1]) if spoken else None
