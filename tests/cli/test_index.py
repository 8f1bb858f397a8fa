"""`bayou index …` and `bayou verify`, on real servers."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bayou import config
from bayou.cli import start
from bayou.storage.connecting import connect
from bayou.testing.computers import Computer, name_of

STATE = name_of()


def with_computer(place: config.Settings, work: Callable[[Computer], Awaitable[Any]], **more: Any) -> Any:  # noqa: ANN401
    """Something that a sync of this repo does."""

    async def run() -> Any:  # noqa: ANN401
        assert place.cache is not None
        async with connect(place.location) as store:
            computer = Computer(place.cache, store, namespace=place.namespace, **more)
            try:
                return await work(computer)
            finally:
                computer.close()

    return asyncio.run(run())


async def _push(computer: Computer) -> None:
    computer.write_version(1, b"one")
    computer.write("logs/a", b"log")
    await computer.push()


def test_an_index_is_shown_migrated_and_rebuilt(place: config.Settings, run: Any) -> None:  # noqa: ANN401
    with_computer(place, _push)
    said = run("index", "status", "--json")
    assert said.code == 0, said.err
    assert (said.json["format"], said.json["entries"], said.json["vouched"]) == ("dual", 4, True)
    said = run("index", "migrate", "--json")
    assert said.code == 0, said.err
    assert (said.json["version"], said.json["entries"], said.json["wasSharded"]) == (2, 4, False)
    assert run("index", "migrate", "--json").json["wasSharded"]
    assert run("index", "status", "--json").json["format"] == "sharded"
    assert run("index", "rebuild", "--json").json["repaired"] == []
    with_computer(place, lambda computer: computer.ends.store.delete(computer.ends.remote.place.keys.meta))
    said = run("index", "rebuild", "--json")
    assert said.json["format"] == "sharded", said.err
    assert run("verify", "--json").code == 0
    for command in ("status", "migrate", "rebuild"):
        said = run("index", command)
        assert (said.code, said.out.startswith("{")) == (0, False)


def test_verify_names_each_difference(place: config.Settings, run: Any) -> None:  # noqa: ANN401
    with_computer(place, _push)
    said = run("verify", "--json")
    assert (said.code, said.json["differences"], said.json["pending"]) == (0, [], {}), said.err

    async def damage(computer: Computer) -> None:
        await computer.ends.store.put(computer.ends.key(f"{STATE}/1/raw"), b"eno")
        await computer.ends.store.delete(computer.ends.key("logs/a"))
        computer.write("logs/new", b"new")

    with_computer(place, damage)
    said = run("verify", "--json")
    assert said.code == 4, said.err
    assert [(each["path"], each["kind"]) for each in said.json["differences"]] == [
        ("logs/a", "dangling"),
        ("logs/new", "unpushed"),
    ]
    said = run("verify", "--content", "--json")
    assert (f"{STATE}/1/raw", "wrong-content") in [(each["path"], each["kind"]) for each in said.json["differences"]]
    said = run("verify")
    assert said.code == 4
    assert "dangling" in said.out
    assert "2 differences" in said.err


def test_a_folder_has_no_index(run: Any) -> None:  # noqa: ANN401
    for command in (("verify",), ("index", "status"), ("index", "migrate")):
        said = run(*command, "--json")
        assert said.code == 1
        assert '"unsupported"' in said.err


@pytest.mark.parametrize("command", [("verify",), ("index", "status"), ("index", "migrate"), ("index", "rebuild")])
def test_help_has_an_example(command: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    assert start.run([*command, "--help"]) == 0
    assert f"Example: bayou {' '.join(command)}" in capfd.readouterr().out
