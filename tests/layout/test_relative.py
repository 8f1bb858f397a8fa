"""From what callers say to a path of a namespace: every step once (W-23, W-29 in the sync spec)."""

from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given

from bayou.errors import ErrorKind, UsageError
from bayou.layout.relative import in_cache, in_namespace
from bayou.testing.strategies import namespaces, safe_paths

CACHE = PurePosixPath("/home/me/.swamp/repos/r1")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("data/x/raw", "data/x/raw"),
        ("/home/me/.swamp/repos/r1/data/x", "data/x"),
        ("/home/me/.swamp/repos/r1/", ""),
        ("/home/me/.swamp/repos/r1", ""),
        ("", ""),
        (".", ""),
        ("./data//x/", "data/x"),
        ("data/../outputs/x", "outputs/x"),
        ("../r1/data", "data"),
        ("/home/me/../me/.swamp/repos/r1/data", "data"),
        ("home/me/.swamp/repos/r1/data", "home/me/.swamp/repos/r1/data"),
        (PurePosixPath("data") / "x", "data/x"),
    ],
)
def test_a_path_below_the_cache(path: str | PurePosixPath, expected: str) -> None:
    assert in_cache(CACHE, path) == expected


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../r2/x",
        "data/../../x",
        "/",
        "/etc/passwd",
        "/home/me/.swamp/repos/r10/x",
        "/home/me/.swamp/repos",
        "/../x",
    ],
)
def test_refuses_what_leaves_the_cache(path: str) -> None:
    with pytest.raises(UsageError) as caught:
        in_cache(CACHE, path)
    assert caught.value.kind is ErrorKind.INVALID_PATH


def test_separators_of_windows_become_slashes() -> None:
    cache = PureWindowsPath(r"C:\cache")
    assert in_cache(cache, r"C:\cache\data\x\raw") == "data/x/raw"
    assert in_cache(cache, r"data\x/raw") == "data/x/raw"
    with pytest.raises(UsageError):
        in_cache(cache, r"D:\cache\data")


def test_a_cache_may_itself_be_relative() -> None:
    assert in_cache(PurePosixPath("cache"), "data/x") == "data/x"
    with pytest.raises(UsageError):
        in_cache(PurePosixPath("cache"), "../../x")


@pytest.mark.parametrize("path", ["../../cache/x", "../../../cache", "x/../../../cache/x"])
def test_what_climbs_above_where_a_relative_cache_starts_is_refused_even_if_it_comes_back(path: str) -> None:
    with pytest.raises(UsageError):
        in_cache(PurePosixPath("cache"), path)


@given(safe_paths())
def test_absolute_and_relative_spellings_are_one_path(path: str) -> None:
    assert in_cache(CACHE, path) == in_cache(CACHE, f"{CACHE}/{path}") == path


@given(namespaces(), safe_paths())
def test_the_namespace_comes_off_exactly_once(namespace: str, path: str) -> None:
    prefixed = f"{namespace}/{path}" if namespace else path
    assert in_namespace(namespace, prefixed) == path
    if namespace:
        assert in_namespace(namespace, f"{namespace}/{prefixed}") == prefixed


@pytest.mark.parametrize("path", ["data/x", "infra", "infrared/data/x", "Infra/data/x", "x/infra/data"])
def test_what_is_not_below_the_namespace_has_no_path_in_it(path: str) -> None:
    assert in_namespace("infra", path) is None
