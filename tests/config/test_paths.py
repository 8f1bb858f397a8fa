"""Paths of the configuration: `~`, `$VAR`, `${VAR}`, relative to a base."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.config.paths import collapsed, resolved
from bayou.errors import UsageError

HOME = Path("/home/me")
ENVIRON = {"DATA": "/data", "SUB": "a/b", "EMPTY": "", "DOLLAR": "$DATA", "X1_y": "x", "HALF": "\udbff"}


def _resolved(text: str) -> str:
    return str(resolved(text, base=Path("/repo"), environ=ENVIRON, home=HOME))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("store", "/repo/store"),
        ("./store", "/repo/store"),
        ("../store", "/store"),
        ("/abs/./x/../y", "/abs/y"),
        ("~", "/home/me"),
        ("~/store", "/home/me/store"),
        ("a/~/b", "/repo/a/~/b"),
        ("a~", "/repo/a~"),
        ("$DATA/store", "/data/store"),
        ("${DATA}/store", "/data/store"),
        ("x/${SUB}y", "/repo/x/a/by"),
        ("~/$SUB", "/home/me/a/b"),
        ("$X1_y-z", "/repo/x-z"),
        ("$DOLLAR", "/repo/$DATA"),
        ("cost-5$", "/repo/cost-5$"),
        ("$5", "/repo/$5"),
    ],
)
def test_a_path_is_expanded_and_resolved(text: str, path: str) -> None:
    assert _resolved(text) == path


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("$NOWHERE/x", "uses $NOWHERE, which is not set"),
        ("${NOWHERE}", "uses $NOWHERE, which is not set"),
        ("a/$EMPTY/b", "uses $EMPTY, which is empty"),
        ("${}", "uses $, which is not set"),
        ("~you/x", "names the home of another user"),
        ("", "the path is empty"),
        ("a\0b", "a NUL character"),
        ("a\ud800", "is not valid Unicode"),
        ("$HALF/a", "is not valid Unicode"),
    ],
)
def test_a_path_that_cannot_be_resolved_says_why(text: str, problem: str) -> None:
    with pytest.raises(UsageError) as refused:
        _resolved(text)
    assert problem in refused.value.message


def test_the_remedy_names_the_variable() -> None:
    with pytest.raises(UsageError) as refused:
        _resolved("$NOWHERE/x")
    assert "NOWHERE" in refused.value.remedy


_FOLDERS = st.text("ab ~.-5é", min_size=1, max_size=4).filter(lambda name: name not in {".", ".."})


@given(st.sampled_from([HOME, Path("/srv")]), st.lists(_FOLDERS, max_size=4))
def test_collapsing_is_undone_by_resolving(top: Path, names: list[str]) -> None:
    path = top.joinpath(*names)
    text = collapsed(path, HOME)
    assert _resolved(text) == str(path)
    assert str(HOME) not in text


def test_a_path_that_would_be_read_as_a_variable_is_not_written() -> None:
    with pytest.raises(UsageError, match="would be read as a variable"):
        collapsed(Path("/srv/$DATA"), HOME)
