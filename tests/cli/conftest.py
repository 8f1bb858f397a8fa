"""Commands as a shell runs them, in this process where nothing speaks against it."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from bayou import config
from bayou.cli import start
from bayou.config.declaration import written
from bayou.testing.servers import Server
from bayou.testing.servers.places import new_place

COMMAND = (sys.executable, "-c", "from bayou.cli import main; main()")


@dataclass(frozen=True)
class Said:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever it is
        return json.loads(self.out)


Run = Callable[..., Said]


@pytest.fixture
def run(repo: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:  # noqa: ARG001 - stands in it
    """Run a command in this process."""

    def command(*arguments: str, stdin: bytes | None = None) -> Said:
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        code = start.run(arguments)
        return Said(code, *capfd.readouterr())

    return command


Shell = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def command(repo: Path) -> tuple[str, ...]:  # noqa: ARG001 - we stand in it
    """The words that start a process of its own."""
    return COMMAND


@pytest.fixture
def shell(command: tuple[str, ...]) -> Shell:
    """Run a command in a process of its own."""

    def run(*arguments: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run([*command, *arguments], input=stdin, capture_output=True, check=False)  # noqa: S603 - our own command

    return run


@pytest.fixture(params=["ministack", "azurite", "fake_gcs"])
def store_server(request: pytest.FixtureRequest) -> Server:
    """Started before anybody goes to another folder: some look for their program from where they stand."""
    server = request.getfixturevalue(request.param)
    assert isinstance(server, Server)
    return server


@pytest.fixture
def place(store_server: Server, repo: Path, monkeypatch: pytest.MonkeyPatch) -> config.Settings:
    """The settings of the repo, which is connected with a bucket of its own."""
    location = new_place(store_server, monkeypatch.setenv, prefix="p" if store_server.kind == "s3" else "")
    marker = repo / ".swamp.yaml"
    marker.write_text(marker.read_text() + yaml.safe_dump({"datastore": written(location, repo.parent)}))
    return config.load(repo, os.environ, home=repo.parent / "home")
