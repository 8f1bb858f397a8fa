"""`import bayou` costs next to nothing: everything behind the front door is loaded when it is first asked for."""

import subprocess
import sys

import pytest

import bayou

NAMES = [name for name in bayou.__all__ if name != "__version__"]


def run(code: str) -> str:
    """Run in an interpreter of its own, as this one has imported far too much."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout  # noqa: S603


def loaded_by(statement: str) -> set[str]:
    """Give the modules that a statement loads into an interpreter that has loaded only what it starts with."""
    code = f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    return set(run(code).split())


def test_importing_bayou_loads_nothing_heavy_and_nothing_of_others() -> None:
    roots = {module.partition(".")[0] for module in loaded_by("import bayou")}
    assert "bayou" in roots
    assert roots - sys.stdlib_module_names == {"bayou"}
    assert roots.isdisjoint({"asyncio", "concurrent", "dataclasses", "inspect", "json", "logging", "socket", "ssl"})


def test_importing_bayou_loads_none_of_its_rooms() -> None:
    assert {module for module in loaded_by("import bayou") if module.startswith("bayou")} == {"bayou"}


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_loaded_when_it_is_first_used(name: str) -> None:
    there = "'bayou.errors' in sys.modules"
    code = f"import sys, bayou; before = {there}; bayou.{name}; print(before, {there})"
    assert run(code).split() == ["False", "True"]


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_that_of_its_home(name: str) -> None:
    home = sys.modules[getattr(bayou, name).__module__]
    assert getattr(bayou, name) is getattr(home, name)


def test_an_error_needs_nothing_of_others() -> None:
    roots = {module.partition(".")[0] for module in loaded_by("import bayou; bayou.BayouError")}
    assert roots - sys.stdlib_module_names == {"bayou"}


def test_a_datastore_in_a_folder_needs_no_event_loop() -> None:
    loaded = loaded_by("import bayou.datastore, bayou.catalog, bayou.repository.saving, bayou.query")
    assert loaded.isdisjoint({"asyncio", "bayou.storage.connecting", "concurrent.futures", "ssl"})


def test_the_version_is_read_without_anything_else() -> None:
    loaded = loaded_by("import bayou; bayou.__version__")
    assert {module for module in loaded if module.startswith("bayou")} == {"bayou", "bayou._version"}


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="'bayou' has no attribute 'nonsense'"):
        _ = bayou.nonsense


def test_every_public_name_is_shown_before_it_is_loaded() -> None:
    assert set(run("import bayou; print(*dir(bayou))").split()) >= set(bayou.__all__)
