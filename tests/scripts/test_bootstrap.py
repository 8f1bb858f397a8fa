"""The installation that stands behind every `make` command: it happens when it has to, and not otherwise."""

import importlib.util
import json
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bootstrap() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "scripts" / "bootstrap.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Installation:
    """A folder that counts how often it was made."""

    def __init__(self, bootstrap: ModuleType, folder: Path) -> None:
        self.bootstrap, self.folder, self.times, self.is_sound = bootstrap, folder, 0, True

    def ensure(self, fingerprint: str, *, fails: bool = False) -> int:
        def install() -> None:
            self.times += 1
            self.folder.mkdir()
            if fails:
                raise OSError("interrupted")

        self.bootstrap.ensure(self.folder, fingerprint, install, is_sound=lambda: self.is_sound)
        return self.times


@pytest.fixture
def installation(bootstrap: ModuleType, tmp_path: Path) -> Installation:
    return Installation(bootstrap, tmp_path / "installed")


def test_what_is_installed_is_not_installed_again(installation: Installation) -> None:
    assert installation.ensure("as of today") == 1
    assert installation.ensure("as of today") == 1


def test_what_was_installed_from_something_else_is_made_anew(installation: Installation) -> None:
    installation.ensure("as of yesterday")
    (installation.folder / "left over").touch()
    assert installation.ensure("as of today") == 2
    assert not (installation.folder / "left over").exists()


def test_what_no_longer_works_is_made_anew(installation: Installation) -> None:
    installation.ensure("as of today")
    installation.is_sound = False
    assert installation.ensure("as of today") == 2


def test_an_interrupted_installation_does_not_count(installation: Installation) -> None:
    with pytest.raises(OSError, match="interrupted"):
        installation.ensure("as of today", fails=True)
    assert installation.ensure("as of today") == 2


def test_the_settings_of_a_tool_install_nothing_but_a_requirement_or_a_move_does(
    bootstrap: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = (ROOT / "pyproject.toml").read_text()
    copy = tmp_path / "pyproject.toml"
    copy.write_text(project)
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    before = bootstrap.python_fingerprint()

    copy.write_text(project.replace("line-length = 120", "line-length = 100") + "\n[tool.other]\n")
    assert bootstrap.python_fingerprint() == before

    copy.write_text(project.replace("[dependency-groups]", '[dependency-groups]\nmore = ["more"]'))
    assert bootstrap.python_fingerprint() != before

    copy.write_text(project)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    copy.rename(moved / copy.name)
    monkeypatch.setattr(bootstrap, "ROOT", moved)
    assert bootstrap.python_fingerprint() != before


def test_new_locks_install_anew(bootstrap: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "LOCK", tmp_path / "dev.txt")
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    prints = []
    for content in ("one", "another"):
        (tmp_path / "dev.txt").write_text(content)
        (tmp_path / "package-lock.json").write_text(content)
        prints.append((bootstrap.python_fingerprint(), bootstrap.node_fingerprint()))
    assert prints[0][0] != prints[1][0]
    assert prints[0][1] != prints[1][1]


@pytest.mark.parametrize("has_uv", [True, False])
def test_whatever_is_fetched_is_checked_against_the_lock(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, *, has_uv: bool
) -> None:
    commands: list[tuple[str, ...]] = []

    def note(*command: object, **_: object) -> bool:
        commands.append(tuple(map(str, command)))
        return has_uv or command[0] != "uv"

    monkeypatch.setattr(bootstrap, "run", note)
    monkeypatch.setattr(bootstrap, "succeeds", note)
    bootstrap.install_python()
    locked, ours = (command for command in commands if "install" in command)
    assert ("uv" in locked) is has_uv
    assert {"--require-hashes", "--no-deps", str(bootstrap.LOCK)} <= set(locked)
    assert {"--no-deps", "--no-build-isolation", str(ROOT)} <= set(ours)
    assert {"--offline", "--no-index"} & set(ours)


def test_an_environment_without_the_project_is_not_sound(
    bootstrap: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bootstrap.python_runs()
    monkeypatch.setattr(bootstrap, "PYTHON", tmp_path / "missing")
    assert not bootstrap.python_runs()
    (tmp_path / "missing").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "missing").chmod(0o755)
    assert not bootstrap.python_runs()


def test_every_development_requirement_is_pinned_with_hashes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["dependency-groups"]
    wanted = [*project["project"]["dependencies"], *(text for group in groups.values() for text in group)]
    lock = (ROOT / "locks" / "dev.txt").read_text()
    pins = dict(re.findall(r"^([a-z0-9._-]+)(?:\[[^]]*\])?==(\S+)[^\n]*\\\n    --hash=sha256:", lock, re.MULTILINE))
    for requirement in (Requirement(text) for text in wanted if isinstance(text, str)):
        assert requirement.name in pins, "run `make lock`"
        assert pins[requirement.name] in requirement.specifier, "run `make lock`"


def test_no_lock_names_a_host() -> None:
    assert "://" not in (ROOT / "locks" / "dev.txt").read_text()
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    assert packages
    assert not [name for name, package in packages.items() if "resolved" in package]
