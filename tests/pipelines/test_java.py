"""Java is found where it is, and what is too old or broken is passed over."""

import os
import subprocess
from pathlib import Path

import pytest

from bayou.errors import Unsupported
from bayou.pipelines import java
from bayou.pipelines.archive import archive_of, cache_folder, making, using
from bayou.pipelines.java import Java, find_java


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def installed(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").write_text("#!/bin/sh\n")
    (folder / "bin" / "java").chmod(0o755)
    (folder / "release").write_text(f'IMPLEMENTOR="Somebody"\nJAVA_VERSION="{version}"\n')
    return folder


def test_the_environment_comes_first_then_the_path(no_java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named, found = installed(no_java / "named", "21.0.1"), installed(no_java / "found", "17")
    (no_java / "bin").symlink_to(found / "bin")
    assert find_java(no_java) == Java(found, 17, "17")
    monkeypatch.setenv("JAVA_HOME", str(named))
    assert find_java(no_java) == Java(named, 21, "21.0.1")


def test_what_is_too_old_or_broken_is_passed_over(no_java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(installed(no_java / "old", "1.8.0_402")))
    found = installed(no_java / "found", "17.0.15")
    (no_java / "bin").symlink_to(found / "bin")
    assert find_java(no_java).home == found
    monkeypatch.setenv("JAVA_HOME", str(no_java / "nowhere"))
    assert find_java(no_java).home == found


def test_without_any_java_the_package_brings_one_that_runs(no_java: Path) -> None:
    found = find_java(no_java / "cache")
    assert found.home.is_relative_to(no_java / "cache")
    # As Spark's launcher calls it; the runtime does not know that module.
    command = [str(found.home / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PATH": os.defpath})  # noqa: S603 - ours
    assert found.version in done.stderr
    assert find_java(no_java / "cache") == found


def test_without_the_package_it_says_what_to_install(no_java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_of_package", lambda _: None)
    with pytest.raises(Unsupported, match="none was found") as failure:
        find_java(no_java)
    assert "spark,jdk" in failure.value.remedy


def test_an_archive_is_for_one_java_and_one_spark(tmp_path: Path) -> None:
    one, other = Java(tmp_path, 17, "17.0.15"), Java(tmp_path, 25, "25.0.2")
    paths = {archive_of(java, tmp_path, spark, tmp_path) for java in (one, other) for spark in ("4.0.0", "4.1.0")}
    assert len(paths) == 4
    assert {path.suffix for path in paths} == {".jsa", ".aot"}


def test_only_an_archive_that_is_there_is_used(tmp_path: Path) -> None:
    archive = tmp_path / "classes.jsa"
    assert not using(archive)
    archive.touch()
    assert any(str(archive) in option for option in using(archive))
    assert any(str(archive) in option for option in making(archive))


def test_the_cache_is_where_the_user_keeps_caches(tmp_path: Path) -> None:
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "bayou" / "spark"
    assert cache_folder({"XDG_CACHE_HOME": "relative"}) == Path.home() / ".cache" / "bayou" / "spark"
