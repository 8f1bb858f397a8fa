"""Random predicates, and rows to try them on: what two ways of evaluating a query must agree about.

Everything is drawn from a `random.Random`, so that it can be Hypothesis's own, or a fast one for long runs.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

TEXTS = (
    "", "a", "b", "ab", "abc", "prod", "prod-1", "Prod", "é", "ée", "😀", "😀a", "z\U0010ffff", "a\0", "a\0b", "\0",
    "a b", "%", "_", "'", '"', "\\", "1", "true", "null", "2026-04-02T09:15:00.125Z", "\ue000", "\ud7ff", "failed",
    "\ufffd", "x" * 300,
)  # fmt: skip
KEYS = ("a", "b", "n", "s", "env", "my-key", "in", "é", "", "k\0", "nested", "list", "type")
NUMBERS = (
    0, 1, 2, -1, 3, 255, 2**31, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 0.0, -0.0, 1.0, 1.5,
    -2.5, 2.0**53, 2.0**53 + 2, 1e300, -1e300, 9.3e18, 0.1,
)  # fmt: skip
HUGE = (2**63, 2**64, -(2**63) - 1, 10**30)
TIMES = (
    "2026-04-02T09:15:00.125Z", "2026-04-02T09:15:00.126Z", "1969-12-31T23:59:59.999Z", "0001-01-01T00:00:00.000Z",
    "9999-12-31T23:59:59.999Z", "2026-01-01T00:00:00.000Z",
)  # fmt: skip
NO_TIMES = ("", "yesterday", "2026-13-01T00:00:00.000Z")
MOMENTS = (
    "2026-04-02T09:15:00.125Z", "2026-04-02T09:15:00.1255Z", "2026-04-02T11:15:00.125+02:00", "2026-01-01T00:00:00Z",
    "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "nonsense", "2026-04-02T09:15:60Z", "2026-04-02",
)  # fmt: skip
STRINGS = ("name", "id", "modelName", "stepName", "createdAt", "ns", "contentType", "checksum", "lifecycle", "source")
INTS = ("version", "size")
BOOLS = ("isLatest", "streaming")
CONTENT_TYPES = ("application/json",) * 6 + ("text/plain", "application/octet-stream", "application/json; x")


@dataclass(frozen=True)
class Subject:
    """A row to try predicates on."""

    fields: dict[str, object]
    """By the names of a query, without attributes and content."""
    content: bytes | None
    """None where it is not on this machine."""
    created_ms: int | None = field(default=None)


def subject(random: Random, number: int) -> Subject:
    content_type = random.choice(CONTENT_TYPES)
    created = random.choice(TIMES) if random.random() < 0.9 else random.choice(NO_TIMES)
    fields: dict[str, object] = {
        **{name: _some(random, TEXTS, "") for name in STRINGS},
        "name": f"{_name(random)}{number}",
        "id": f"id-{random.randrange(3)}",
        "version": random.choice((1, 2, 3, 10**15 - 1)),
        "size": random.choice((0, 1, 255, 1024, 2**31, 2**53 + 1)),
        "isLatest": random.random() < 0.8,
        "streaming": random.random() < 0.3,
        "createdAt": created,
        "contentType": content_type,
        "lifecycle": "active" if random.random() < 0.9 else "deleted",
        "ns": "" if random.random() < 0.9 else "other",
        "tags": {_some(random, KEYS, "env"): random.choice(TEXTS) for _ in range(random.randrange(4))},
    }
    here = random.random() < 0.85 and fields["ns"] == ""
    return Subject(fields, _content(random, content_type) if here else None)


def predicate(random: Random) -> list[str]:
    """The operands of the `&&` that a predicate is."""
    return [_condition(random, random.randrange(4)) for _ in range(random.choice((1, 1, 1, 2, 2, 3)))]


def literal(value: object) -> str:
    """A value as it is written in CEL."""
    match value:
        case str():
            escaped = "".join(_escaped(character) for character in value)
            return f'"{escaped}"'
        case float():
            return repr(value)
        case _:
            return json.dumps(value)


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return f"\\U{ord(character):08x}" if ord(character) < 32 else character


def _condition(random: Random, depth: int) -> str:
    if depth > 0 and random.random() < 0.6:
        one, other = (_condition(random, depth - 1) for _ in range(2))
        return random.choice(
            (
                f"({one}) && ({other})",
                f"({one}) || ({other})",
                f"!({one})",
                f"({_condition(random, depth - 1)}) ? ({one}) : ({other})",
                f"({one}) == ({other})",
            )
        )
    return random.choice(_LEAVES)(random)


def _ordered(random: Random) -> str:
    value, kind = _term(random)
    operator = random.choice(("<", "<=", ">", ">=", "==", "!="))
    return _sides(random, value, operator, _operand(random, kind))


def _equal(random: Random) -> str:
    value, _ = _term(random)
    return _sides(random, value, random.choice(("==", "!=")), _any_literal(random))


def _sides(random: Random, one: str, operator: str, other: str) -> str:
    mirrored = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
    if random.random() < 0.8:
        return f"{one} {operator} {other}"
    return f"{other} {mirrored.get(operator, operator)} {one}"


def _between(random: Random) -> str:
    one, kind = _term(random)
    other = next(
        (value for value, of_kind in (_term(random) for _ in range(20)) if "dyn" in (kind, of_kind) or of_kind == kind),
        one,
    )
    return f"{one} {random.choice(('==', '!=', '<', '>='))} {other}"


def _listed(random: Random) -> str:
    value, _ = _term(random)
    elements = ", ".join(_any_literal(random) for _ in range(random.randrange(4)))
    return f"{value} in [{elements}]"


def _on_text(random: Random) -> str:
    value, _ = _term(random, ("string", "dyn"))
    function = random.choice(("startsWith", "endsWith", "contains", "matches"))
    sought = (
        random.choice(("a.*", "^prod", "b$", "(a|é)+", ".", "", "[0-9]"))
        if function == "matches"
        else random.choice(TEXTS)
    )
    return f"{value}.{function}({literal(sought)})"


def _length(random: Random) -> str:
    value = random.choice((_term(random, ("string", "dyn"))[0], "tags", "attributes"))
    return f"size({value}) {random.choice(('==', '>', '<', '!='))} {random.choice(('0', '1', '2', '3', '1.5', '300'))}"


def _there(random: Random) -> str:
    root = random.choice(("tags", "attributes", "content"))
    key = random.choice(KEYS)
    if root != "content" and random.random() < 0.5:
        return f"{literal(key)} in {root}"
    plain = random.choice([key for key in KEYS if key.isascii() and key.isidentifier() and key != "in"])
    deeper = f".{random.choice(('a', 'b'))}" if root != "tags" and random.random() < 0.3 else ""
    return f"has({root}.{plain}{deeper})"


def _flag(random: Random) -> str:
    return random.choice(
        (*BOOLS, "true", "false", _path(random, "attributes"), f"{_path(random, 'attributes')} == true")
    )


def _moment(random: Random) -> str:
    operator = random.choice(("<", "<=", ">", ">=", "==", "!="))
    return f"timestamp(createdAt) {operator} timestamp({literal(random.choice(MOMENTS))})"


def _rest(random: Random) -> str:
    """What no SQL is made of."""
    path = _path(random, random.choice(("attributes", "content")))
    text = _term(random, ("string",))[0]
    return random.choice(
        (
            f"{path}.exists(x, x == {_any_literal(random)})",
            f"{path}.all(version, version > {random.choice(('0', '1.5'))})",
            f"{path}.a == {_any_literal(random)}",
            f"{path}[0] == {_any_literal(random)}",
            f"{path}.size() + size > 3",
            f"{text}.lowerAscii() == {literal(random.choice(TEXTS))}",
            f"{text}.substring(1) == {literal(random.choice(TEXTS))}",
            f"{text} + {literal(random.choice(TEXTS))} == {text}",
            f"version {random.choice(('+', '-', '*', '/'))} {random.choice(('1', '1.0', '0.0', '2'))} > size",
            f"size % {random.choice(('2', '0', 'version'))} == 1",
            f"content == {_any_literal(random)}",
            f"content.contains({literal(random.choice(TEXTS))})",
            f"int({text}) == 1",
            f"double({path}) > 1.0",
            f"{path} + 1 == 2",
            f"string(size) == {literal(random.choice(('0', '255')))}",
            f"tags == {{{literal('env')}: {literal('prod')}}}",
            "attributes == {}",
            f"tags.exists(k, k == {literal(random.choice(KEYS))})",
            f"tags.?env.orValue({literal('none')}) == {literal(random.choice(TEXTS))}",
            f"{literal(random.choice(TEXTS))} in {path}",
            f"type({path}) == int",
            f"createdAt < {literal(random.choice(TIMES))}",
        )
    )


_LEAVES: Sequence[Callable[[Random], str]] = (
    _ordered, _ordered, _equal, _equal, _between, _listed, _listed, _on_text, _on_text, _length, _there, _flag,
    _moment, _rest,
)  # fmt: skip


def _term(random: Random, kinds: Sequence[str] = ("string", "int", "bool", "dyn")) -> tuple[str, str]:
    kind = random.choice(kinds)
    match kind:
        case "string":
            return random.choice((*STRINGS, _path(random, "tags"), _path(random, "tags"))), kind
        case "int":
            return random.choice((*INTS, f"size({random.choice(STRINGS)})", "size(tags)")), kind
        case "bool":
            return random.choice(BOOLS), kind
        case _:
            return _path(random, random.choice(("attributes", "attributes", "attributes", "content"))), kind


def _path(random: Random, root: str) -> str:
    key = random.choice(KEYS)
    plain = key.isascii() and key.isidentifier() and key != "in"
    return f"{root}.{key}" if plain and random.random() < 0.7 else f"{root}[{literal(key)}]"


def _operand(random: Random, kind: str) -> str:
    match kind:
        case "string":
            return literal(random.choice(TEXTS))
        case "int":
            return literal(random.choice(NUMBERS))
        case "bool":
            return random.choice(("true", "false"))
        case _:
            return literal(random.choice((*TEXTS[:8], *NUMBERS, True, False)))


def _any_literal(random: Random) -> str:
    return random.choice(
        (literal(random.choice(TEXTS)), literal(random.choice(NUMBERS)), "true", "false", "null", "2u")
    )


def _content(random: Random, content_type: str) -> bytes:
    if not content_type.startswith("application/json"):
        return random.choice((random.choice(TEXTS).encode(), b"\xff\xfe", b"failed 1"))
    if random.random() < 0.1:
        return random.choice((b"", b"[1, 2]", b'"text"', b"{", b"null", b'{"a": "\\ud800"}', b'{"a": 1e999}'))
    value = {random.choice(KEYS): _value(random, 2) for _ in range(random.randrange(6))}
    return json.dumps(value, ensure_ascii=random.random() < 0.5).encode()


def _value(random: Random, depth: int) -> object:
    if depth and random.random() < 0.25:
        if random.random() < 0.5:
            return [_value(random, depth - 1) for _ in range(random.randrange(4))]
        return {random.choice(KEYS): _value(random, depth - 1) for _ in range(random.randrange(3))}
    if random.random() < 0.03:
        return random.choice((*HUGE, "y" * 5000))
    return random.choice((random.choice(TEXTS), random.choice(TEXTS), random.choice(NUMBERS), True, False, None))


def _name(random: Random) -> str:
    return random.choice(("n", "state", "é", "a b"))


def _some(random: Random, options: Sequence[str], usual: str) -> str:
    return random.choice(options) if random.random() < 0.7 else usual
