"""The syntax tree that the engine checked is read as it was meant."""

import pytest

from bayou.errors import Corrupt
from bayou.query.engine import Program, environment
from bayou.query.expressions import Call, Checked, Constant, Fold, Literal, Name, Node, Select, Sequence, read, roots
from bayou.query.protobuf import message


def _checked(text: str) -> Checked:
    return read(environment().compile(text).serialize())


def _call(text: str) -> Call:
    tree = _checked(text).tree
    assert isinstance(tree, Call)
    return tree


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("null", None),
        ("true", True),
        ("false", False),
        ("0", 0),
        ("-1", -1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775807", 2**63 - 1),
        ("18446744073709551615u", 2**64 - 1),
        ("0.0", 0.0),
        ("-1.5e300", -1.5e300),
        ('""', ""),
        (r'"a\u0000é😀"', "a\0é😀"),
        (r'b"\xff\x00"', b"\xff\0"),
    ],
)
def test_constants(written: str, value: Literal) -> None:
    constant = _call(f"attributes.a == {written}").arguments[1]
    assert isinstance(constant, Constant)
    assert (constant.value, type(constant.value)) == (value, type(value))


def test_paths_and_questions_for_keys() -> None:
    asked, compared = _call("has(attributes.a.b) && attributes.a.b == 1").arguments
    assert isinstance(asked, Select)
    assert asked.only_asks
    assert asked.key == "b"
    assert isinstance(compared, Call)
    selected = compared.arguments[0]
    assert isinstance(selected, Select)
    assert not selected.only_asks
    assert isinstance(selected.operand, Select)
    assert isinstance(selected.operand.operand, Name)


def test_the_target_of_a_method_is_its_first_argument() -> None:
    method, function = _call('name.matches("a") && matches(name, "a")').arguments
    assert method == function


def test_lists_with_optional_elements_are_not_plain() -> None:
    plain, optional = _call('name in ["a"] && name in [?tags[?"a"]]').arguments
    assert isinstance(plain, Call)
    assert isinstance(optional, Call)
    assert isinstance(plain.arguments[1], Sequence)
    assert plain.arguments[1].plain
    assert isinstance(optional.arguments[1], Sequence)
    assert not optional.arguments[1].plain


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('name == "a" && size > 1', {"name", "size"}),
        ('name == "version"', {"name"}),
        ("attributes.version == 1", {"attributes"}),
        ("attributes.list.exists(x, x == 2)", {"attributes"}),
        ("attributes.list.exists(version, version == 2)", {"attributes"}),
        ("attributes.list.exists(version, version == 2) && version == 1", {"attributes", "version"}),
        ("attributes.list.all(x, x > version)", {"attributes", "version"}),
        ('{name: size, "a": [version]} == {}', {"name", "size", "version"}),
        ("(isLatest ? tags.a : tags.b) == source", {"isLatest", "tags", "source"}),
        ("attributes.a.map(x, x + size).filter(name, name > 1) == []", {"attributes", "size"}),
    ],
)
def test_roots_are_the_free_names(text: str, names: set[str]) -> None:
    assert roots(_checked(text).tree) == names


def test_a_part_of_a_checked_text_is_a_program_of_its_own() -> None:
    checked = _checked('attributes.a == 1 && name == "x"')
    assert isinstance(checked.tree, Call)
    data = {"attributes": {"a": 1}, "name": "y"}
    programs = [Program.of(checked.program(part.encoded)) for part in checked.tree.arguments]
    assert [program(data) for program in programs] == [(True, None), (False, None)]


def test_comprehensions_keep_what_they_go_over_and_bind() -> None:
    tree = _checked("attributes.list.exists(x, x == name)").tree
    assert isinstance(tree, Fold)
    assert isinstance(tree.over, Select)
    assert "x" in tree.variables


def test_what_is_no_checked_expression_is_refused() -> None:
    with pytest.raises(Corrupt, match="CheckedExpr"):
        read(message([(1, b"type.googleapis.com/cel.expr.ParsedExpr"), (2, b"")]))


def test_a_chain_of_thousands_is_read() -> None:
    tree: Node = _checked(" || ".join(f"size == {number}" for number in range(5000))).tree
    assert roots(tree) == {"size"}
