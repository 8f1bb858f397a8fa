"""Content: what can be kept, and what cannot is refused with the place of it."""

import json
from collections.abc import Iterator
from datetime import date
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import ErrorKind, UsageError
from bayou.repository.content import content, of_file, of_stream, of_value, type_of_file

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(values.filter(lambda value: not isinstance(value, str)))
def test_a_value_is_what_its_json_says(value: object) -> None:
    kept = content(value)
    assert kept.whole is not None
    assert json.loads(kept.whole) == value
    assert kept.content_type == "application/json"
    assert list(kept.chunks()) == [kept.whole]


def test_json_is_compact_and_letters_are_as_they_are() -> None:
    assert (
        of_value({"a": [1, 2.5], "\u00fc": "\u4e2d\U0001f600"}).whole
        == '{"a":[1,2.5],"\u00fc":"\u4e2d\U0001f600"}'.encode()
    )


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("nan"), "the value is nan"),
        ({"a": [0, {"b": float("inf")}]}, r"the value\['a'\]\[1\]\['b'\] is inf"),
        ([-float("inf")], r"the value\[0\] is -inf"),
        ({"a": {"when": date(2026, 4, 2)}}, r"the value\['a'\]\['when'\] is of type date"),
        ([{1, 2}], r"the value\[0\] is of type set"),
        ({"a": b"x"}, r"the value\['a'\] is of type bytes"),
        ({("a", "b"): 1}, r"the value has the key \('a', 'b'\)"),
        ({float("nan"): 1}, "the value has the key nan"),
        ({"a": "\ud800"}, "half a character"),
        (object(), "of type object"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_place(value: object, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        of_value(value)
    assert caught.value.kind is ErrorKind.INVALID_CONTENT


def test_a_value_that_never_ends_is_refused() -> None:
    circle: list[object] = []
    circle.append(circle)
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (circle, deep):
        with pytest.raises(UsageError, match="nested too deeply, or is part of itself"):
            of_value(value)


def test_half_a_character_is_no_text() -> None:
    with pytest.raises(UsageError, match="half a character") as caught:
        content("a\udc80")
    assert caught.value.kind is ErrorKind.INVALID_CONTENT


@pytest.mark.parametrize(
    ("name", "content_type"),
    [
        ("a.json", "application/json"),
        ("A.JSON", "application/json"),
        ("plan.txt", "text/plain"),
        ("run.log", "text/plain"),
        ("c.yaml", "application/yaml"),
        ("c.yml", "application/yaml"),
        ("r.md", "text/markdown"),
        ("t.csv", "text/csv"),
        ("p.html", "text/html"),
        ("i.png", "image/png"),
        ("a.tar.gz", "application/octet-stream"),
        ("noname", "application/octet-stream"),
        ("x.unknown", "application/octet-stream"),
        (".json", "application/json"),
        ("", "application/octet-stream"),
    ],
)
def test_the_name_of_a_file_speaks_for_its_type(name: str, content_type: str) -> None:
    assert type_of_file(name) == content_type


def test_a_file_is_read_piece_by_piece(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * (2**21 + 1))
    kept = content(tmp_path / "big")
    assert kept.whole is None
    assert [len(chunk) for chunk in kept.chunks()] == [2**20, 2**20, 1]


def test_a_stream_is_read_piece_by_piece_and_not_closed() -> None:
    stream = BytesIO(b"x" * (2**20 + 1))
    assert [len(chunk) for chunk in content(stream).chunks()] == [2**20, 1]
    assert not stream.closed


@pytest.mark.parametrize("name", ["none", "folder"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match=name) as caught:
        list(of_file(tmp_path / name).chunks())
    assert caught.value.kind is ErrorKind.INVALID_CONTENT


def test_a_stream_of_something_else_is_refused() -> None:
    for stream in (iter(["text"]), iter([1])):
        with pytest.raises(UsageError, match="not bytes"):
            list(of_stream(stream).chunks())  # type: ignore[arg-type]


def test_a_stream_that_breaks_off_is_the_fault_of_the_stream() -> None:
    def broken() -> Iterator[bytes]:
        yield b"a"
        raise ConnectionResetError(104, "Connection reset by peer")

    with pytest.raises(UsageError, match="Connection reset by peer"):
        list(content(broken()).chunks())
