"""Two repos share a bucket: one moved there with all it had, the other one has only what it looked at."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import bayou
from demo.show import say


def tour(scratch: Path, url: str) -> None:
    os.environ["SWAMP_HOME"] = str(scratch / "home")  # where the caches are: not in yours
    one, two = scratch / "one", scratch / "two"
    for folder in (one, two):
        _bayou(scratch, "init", folder.name)
    for host, status in {"web-01": "ok", "web-02": "failed"}.items():
        _write(one, host, {"status": status})
    _bayou(one, "setup", url)
    _bayou(two, "setup", url)
    _bayou(two, "data", "query", 'attributes.status == "failed"', "--hydrate", "--select", "modelName")
    _both_write_version_one(one, two)
    _bayou(two, "cache", "evict", "--keep", "0")
    _bayou(two, "data", "get", "web-01", "health", "--verify")
    _offline(two)


def _both_write_version_one(one: Path, two: Path) -> None:
    """A run pulls its model before and pushes it after; what is written by hand waits for a sync."""
    for folder in (one, two):
        _note(folder, f"seen by {folder.name}")
    _bayou(one, "sync")
    _bayou(two, "sync")
    _bayou(one, "sync")
    for folder in (one, two):
        with bayou.open(folder) as ds:
            notes = [record.text() for record in ds.versions("web-01", "notes")]
        say(f"versions of web-01/notes in repo {folder.name}, newest first: {notes}")


def _offline(folder: Path) -> None:
    _note(folder, "written offline")
    with bayou.open(folder) as ds:
        standing = ds.syncing.standing()
        here = f"{standing.dirty} paths wait for the next push, {standing.absent} files are there only"
        say(f"without asking anybody: {here}")


def _note(folder: Path, text: str) -> None:
    with bayou.open(folder) as ds:
        ds.write("web-01", "notes", text)


def _write(folder: Path, host: str, health: dict[str, str]) -> None:
    with bayou.open(folder) as ds, ds.model("acme/host", host).run("collect") as run:
        run.write("health", health)


def _bayou(folder: Path, *arguments: str) -> None:
    say(f"{folder.name}$ bayou {shlex.join(arguments)}")
    command = [str(Path(sys.executable).with_name("bayou")), *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)  # noqa: S603 - our own command
    for line in (*done.stdout.splitlines(), *done.stderr.splitlines()):
        say(f"    {line}")
