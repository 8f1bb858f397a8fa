"""Confinement: no symbolic link leads a checked path out of its base (W-42 in the sync spec)."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bayou.errors import BayouError, ErrorKind, UsageError
from bayou.storage.confine import confined


@pytest.fixture
def base(tmp_path: Path) -> Path:
    base = tmp_path / "cache"
    (base / "data" / "inner").mkdir(parents=True)
    (base / "data" / "file").write_text("mine")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("theirs")
    (tmp_path / "cache-sibling").mkdir()
    return base


@pytest.mark.parametrize("rel", ["data/file", "data/inner", "data/new", "new/deep/er/file", "data/file/below-a-file"])
def test_what_meets_no_link_is_below_the_base(base: Path, rel: str) -> None:
    assert confined(base, rel) == base / rel


def test_the_base_need_not_exist(tmp_path: Path) -> None:
    assert confined(tmp_path / "none", "a/b") == tmp_path / "none" / "a" / "b"


@pytest.mark.parametrize("rel", ["../outside/secret", "/etc/passwd", "data/../../outside", "a\\b", "", "data//file"])
def test_an_unsafe_text_is_refused_before_the_disk_is_asked(base: Path, rel: str) -> None:
    with pytest.raises(UsageError) as caught:
        confined(base, rel)
    assert caught.value.kind is ErrorKind.INVALID_PATH


@pytest.mark.parametrize(
    ("target", "rel"),
    [
        pytest.param("../../outside", "data/link/secret", id="relative link to a folder"),
        pytest.param("../../outside", "data/link/missing/leaf", id="missing leaf below the link"),
        pytest.param("../../outside/secret", "data/link", id="link as the leaf"),
        pytest.param("../../nowhere", "data/link", id="dangling"),
        pytest.param("../../cache-sibling", "data/link/x", id="folder whose name begins like the base"),
        pytest.param("..", "data/link/../link", id="unsafe text and link"),
        pytest.param("/", "data/link/etc/passwd", id="absolute"),
        pytest.param("link", "data/link", id="circle"),
        pytest.param("link", "data/link/x", id="below a circle"),
        pytest.param("inner/../../../outside", "data/link/x", id="by way of the inside"),
    ],
)
def test_a_link_that_leaves_is_refused(base: Path, target: str, rel: str) -> None:
    (base / "data" / "link").symlink_to(target)
    with pytest.raises(UsageError) as caught:
        confined(base, rel)
    assert caught.value.kind is ErrorKind.INVALID_PATH


def test_a_link_to_a_link_that_leaves_is_refused(base: Path) -> None:
    (base / "data" / "second").symlink_to("../../outside")
    (base / "data" / "first").symlink_to("second")
    with pytest.raises(UsageError, match="leaves"):
        confined(base, "data/first/secret")


def test_a_link_that_stays_inside_is_followed(base: Path) -> None:
    (base / "data" / "link").symlink_to("inner")
    (base / "absolute").symlink_to(base / "data")
    assert confined(base, "data/link/x") == base / "data" / "link" / "x"
    assert confined(base, "absolute/link/x") == base / "absolute" / "link" / "x"


def test_a_link_inside_that_leads_to_one_that_leaves_is_refused(base: Path) -> None:
    (base / "data" / "inner" / "out").symlink_to("../../../outside")
    (base / "data" / "link").symlink_to("inner")
    with pytest.raises(UsageError, match="leaves"):
        confined(base, "data/link/out/secret")


def test_a_base_that_is_reached_over_a_link_is_no_escape(base: Path, tmp_path: Path) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(base)
    (base / "absolute").symlink_to(base / "data")
    assert confined(alias, "absolute/file").read_text() == "mine"


def test_what_the_disk_cannot_look_up_is_an_error_of_ours(base: Path) -> None:
    with pytest.raises(BayouError):
        confined(base, "/".join(["x" * 200] * 30))


def test_nothing_beyond_an_escaping_link_is_looked_at(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (base / "data" / "link").symlink_to("../../outside")
    looked_at: list[str] = []

    def recorded(real: Callable[..., object]) -> Callable[..., object]:
        def look(path: object, *args: object, **kwargs: object) -> object:
            looked_at.append(str(path))
            return real(path, *args, **kwargs)

        return look

    for name in ("stat", "lstat", "readlink", "open", "scandir"):
        monkeypatch.setattr(os, name, recorded(getattr(os, name)))
    with pytest.raises(UsageError, match="leaves"):
        confined(base, "data/link/secret")
    assert looked_at
    assert not [path for path in looked_at if path.endswith("secret")]
