"""The CEL engine: what it is told about fields and numbers, and what its answers mean.

Three things are not as in plain CEL. Numbers of different kinds are compared, and reckoned with, as predicates written
for the existing clients expect it, whose numbers are all doubles: `size > 1.5`, `version + 1.0`, `size / 1024.0`.
Values of different kinds may be compared for equality and are then different. A key that is not there is no failure.

The engine compares like that already; only its checker forbids it for fields of known type. So the checker is given
wider declarations of the same functions. Mixed arithmetic it does not have, so that is added.
"""

import math
import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache, lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from bayou.query.fields import FIELDS

if TYPE_CHECKING:
    from cel_expr_python import cel

LONGEST: Final = 100_000
"""The engine takes that many characters."""


class Outcome(Enum):
    """What became of an evaluation that gave no value."""

    MISSING = "missing"
    """A path leads nowhere in this row."""
    UNKNOWN = "unknown"
    """Content is needed that was not given."""
    FAILED = "failed"


# A path that leads nowhere, in all the ways in which the engine says so.
_MISSING: Final = re.compile(
    r"\w+: (?:Key not found in map|Applying SELECT to non-message type|Index error|Invalid container type)"
)
_UNKNOWN: Final = re.compile(r'UNKNOWN: No value with name "(?:attributes|content)"')
_CODE: Final = re.compile(r"^(?:[A-Z_]+: )|(?: \[[A-Z_]+\])$")

_ORDERED: Final = ("bool", "string", "bytes", "timestamp", "duration")
_NUMBERS: Final = ("int", "uint", "double")


def outcome_of(message: str) -> Outcome:
    if _MISSING.match(message):
        return Outcome.MISSING
    return Outcome.UNKNOWN if _UNKNOWN.match(message) else Outcome.FAILED


def plainly(message: str) -> str:
    """The message without the codes of the engine, on one line."""
    return " ".join(_CODE.sub("", message).replace("ERROR: <input>:", "").split())


@cache
def environment() -> "cel.Env":
    from cel_expr_python import cel  # noqa: PLC0415 - for queries only
    from cel_expr_python.ext import ext_optional, ext_strings  # noqa: PLC0415 - the same

    declared = {
        "string": cel.Type.STRING,
        "int": cel.Type.INT,
        "bool": cel.Type.BOOL,
        "dyn": cel.Type.DYN,
        "map<string,string>": cel.Type.Map(cel.Type.STRING, cel.Type.STRING),
        "map<string,dyn>": cel.Type.Map(cel.Type.STRING, cel.Type.DYN),
    }
    arithmetic = [
        cel.FunctionDecl(
            f"_{operator}_",
            [
                cel.Overload(f"{name}_{one}_{other}", cel.Type.DOUBLE, [of_type[one], of_type[other]], impl=reckon)
                for of_type in [{"int": cel.Type.INT, "double": cel.Type.DOUBLE}]
                for one, other in [("int", "double"), ("double", "int")]
            ],
        )
        for operator, (name, reckon) in _ARITHMETIC.items()
    ]
    return cel.NewEnv(
        config=cel.NewEnvConfigFromYaml(_comparisons()),
        variables={field.name: declared[field.type] for field in FIELDS.values()},
        extensions=[
            ext_strings.ExtStrings(),
            ext_optional.ExtOptional(),
            cel.CelExtension("bayou.numbers", arithmetic),
        ],
    )


class Program:
    """A checked expression, or a part of one."""

    def __init__(self, expression: "cel.Expression") -> None:
        self._expression = expression

    @classmethod
    def of(cls, serialized: bytes) -> "Program":
        return cls(environment().deserialize(serialized))

    def __call__(self, data: Mapping[str, Any]) -> tuple[object, str | None]:
        """The value, or None and what went wrong, in the engine's words."""
        try:
            found = self._expression.eval(data=data)
        except RuntimeError as error:  # a budget that is used up
            return None, str(error)
        try:
            value = found.plain_value()
        except (TypeError, SystemError):
            return None, "INVALID_ARGUMENT: the value is of a kind that cannot be shown"
        if found.type().name() == "ERROR":
            return None, str(value)
        return value, None


@lru_cache(maxsize=16)
def _pattern(pattern: str) -> Callable[[str], bool | None]:
    """A matcher that knows only what the engine knows: no backtracking, whatever the pattern."""
    from cel_expr_python import cel  # noqa: PLC0415 - for queries only

    env = cel.NewEnv(variables={"text": cel.Type.STRING, "pattern": cel.Type.STRING})
    program = env.compile("text.matches(pattern)")

    @lru_cache(maxsize=10_000)  # the engine reads the pattern anew each time, and names come again and again
    def matches(text: str) -> bool | None:
        value = program.eval(data={"text": text, "pattern": pattern}).value()
        return value if isinstance(value, bool) else None

    return matches


def matches(pattern: str, text: str | None) -> bool | None:
    """Whether the text matches; None where there is no text, no such pattern, or a NUL, at which the engine stops."""
    return None if text is None or "\0" in text else _pattern(pattern)(text)


def trouble_with(pattern: str) -> str | None:
    """Why a pattern is none, or None."""
    found = environment().compile("name.matches(source)").eval(data={"name": "", "source": pattern})
    return plainly(str(found.value())) if found.type().name() == "ERROR" else None


def _comparisons() -> str:
    """Declarations in place of the engine's own, for the same functions."""
    of_any = [("dyn", "dyn")]
    of_order = [*((one, one) for one in _ORDERED), *product(_NUMBERS, _NUMBERS)]
    lines = ["stdlib:", "  exclude_functions:"]
    wider = {"_==_": of_any, "_!=_": of_any, **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), of_order)}
    lines += [f'    - name: "{function}"' for function in (*wider, "@in")]
    lines.append("functions:")
    for function, pairs in wider.items():
        lines += [f'  - name: "{function}"', "    overloads:"]
        for one, other in pairs:
            lines += _overload(f"bayou{function}{one}_{other}", f"{{type_name: {one}}}", f"{{type_name: {other}}}")
    lines += ['  - name: "@in"', "    overloads:"]
    lines += _overload("bayou_in_list", "{type_name: dyn}", "{type_name: list, params: [{type_name: dyn}]}")
    lines += _overload(
        "bayou_in_map", "{type_name: dyn}", "{type_name: map, params: [{type_name: dyn}, {type_name: dyn}]}"
    )
    return "\n".join(lines) + "\n"


def _overload(name: str, one: str, other: str) -> list[str]:
    return [f'      - id: "{name}"', f"        args: [{one}, {other}]", "        return: {type_name: bool}"]


def _divided(one: float, other: float) -> float:
    """As processors do it, where Python raises."""
    if other:
        return one / other
    return math.nan if not one or math.isnan(one) else math.copysign(math.inf, one) * math.copysign(1, other)


_ARITHMETIC: Final[Mapping[str, tuple[str, Callable[[float, float], float]]]] = {
    "+": ("add", lambda one, other: float(one) + float(other)),
    "-": ("subtract", lambda one, other: float(one) - float(other)),
    "*": ("multiply", lambda one, other: float(one) * float(other)),
    "/": ("divide", lambda one, other: _divided(float(one), float(other))),
}
