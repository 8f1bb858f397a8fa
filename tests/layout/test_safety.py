"""Path safety: what may be used as a path, by the text alone."""

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import ErrorKind, UsageError
from bayou.layout.safety import check_path, fault
from bayou.testing.strategies import hostile_paths, safe_paths


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        ("/", "absolute"),
        ("/etc/passwd", "absolute"),
        ("//host/share", "absolute"),
        ("C:/Windows", "drive"),
        ("c:x", "drive"),
        ("a\\b", "backslash"),
        ("..\\..\\x", "backslash"),
        ("a\0b", "control character"),
        ("data/a\nb", "control character"),
        ("data/a\n", "control character"),
        ("\x7f", "control character"),
        ("a/\x85", "control character"),
        ("a/\udc80", "not valid Unicode"),
        ("..", "'..'"),
        ("../x", "'..'"),
        ("data/../../x", "'..'"),
        ("data/..", "'..'"),
        (".", "'.'"),
        ("./x", "'.'"),
        ("data/./x", "'.'"),
        ("data/.", "'.'"),
        ("data//x", "empty segment"),
        ("data/", "empty segment"),
        ("x" * 256, "255 bytes"),
        ("data/" + "x" * 256 + "/raw", "255 bytes"),
        ("data/" + "\u00fc" * 128, "255 bytes"),
        ("/".join(["x" * 127] * 8) + "/", "empty segment"),
        ("/".join(["x" * 127] * 8) + "/x", "1024 bytes"),
        ("\u00fc" * 127 + "/x" * 386, "1024 bytes"),
        ("data/" + "\U0001f600" * 64, "255 bytes"),
    ],
)
def test_refuses_and_says_why(path: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        check_path(path)
    assert caught.value.kind is ErrorKind.INVALID_PATH
    assert repr(path) in str(caught.value)


@pytest.mark.parametrize(
    "path",
    [
        "data/a/b/c/1/raw",
        ".catalog-export.json",
        "...",
        "a..b/x",
        "..a/b..",
        ".hidden/..x/x.",
        "data/a:b/c",
        "ab:/x",
        "files/report (final) v1+2 \u00fc.txt",
        " leading and trailing ",
        "con/nul",
        "x" * 255,
        "\u00fc" * 127,
        "/".join(["x" * 127] * 8),
        "\u00fc" * 127 + "/x" * 385,
        "\U0001f600/\u200b",
    ],
)
def test_lets_through(path: str) -> None:
    assert check_path(path) == path


@given(hostile_paths())
def test_no_hostile_path_gets_through(path: str) -> None:
    assert fault(path) is not None


@given(st.text(st.sampled_from("ab./\\\0:C\u00fc \ud800")) | st.text() | safe_paths())
def test_what_gets_through_stays_where_it_is_put(path: str) -> None:
    if fault(path) is None:
        below = posixpath.normpath(posixpath.join("/base", path))
        assert below == f"/base/{path}"
        assert path.encode().decode() == path


@given(st.text(st.sampled_from("ab./\\\0:C\u00fc \ud800\n-")))
def test_every_refusal_has_a_reason_that_is_true(path: str) -> None:
    segments = path.split("/")
    harmless = (
        all(segment not in ("", ".", "..") for segment in segments)
        and not set(path) & set("\\\0\n\ud800")
        and not (path[1:2] == ":" and path[0] in "abC")
    )
    assert (fault(path) is None) == harmless
