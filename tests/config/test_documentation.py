"""docs/configuration.md says what the code does."""

import re
from pathlib import Path

from bayou.config import environment, load
from bayou.config.declaration import BUILT_IN
from bayou.config.locations import GCS, S3

_DOCUMENT = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()


def _example(language: str) -> str:
    match = re.search(rf"```{language}\n(.*?)```", _DOCUMENT, re.DOTALL)
    assert match is not None
    return match[1]


def test_the_listing_of_the_example_is_what_the_example_gives(tmp_path: Path) -> None:
    (tmp_path / ".swamp.yaml").write_text(_example("yaml"))
    settings = load(tmp_path, {"SWAMP_LOCK_TIMEOUT_MS": "5000"}, home=Path("/home/me"))
    documented = [re.split(r"\s{2,}", line) for line in _example("text").replace("_ms ", "_ms  ").splitlines()]
    actual = [[name, value, origin.replace(str(tmp_path), "/work/repo")] for name, value, origin in settings.listing()]
    shortened = [[name, value[:41] + "…" if name == "directories" else value, origin] for name, value, origin in actual]
    assert [[name, value.rstrip(), origin] for name, value, origin in shortened] == documented
    assert settings.warnings == ()


def test_every_variable_and_every_type_is_documented() -> None:
    names = [value for name, value in vars(environment).items() if name.isupper() and isinstance(value, str)]
    of_buckets = [
        variable(place)
        for place in (S3("lake"), GCS("lake"))
        for variable in (environment.request_timeout_variable, environment.trace_variable)
    ]
    for name in (*names, *of_buckets, *BUILT_IN):
        assert f"`{name}`" in _DOCUMENT


def test_every_key_that_is_read_is_documented() -> None:
    folder = Path(environment.__file__).parent
    source = (folder / "declaration.py").read_text() + (folder / "loading.py").read_text()
    keys = set(
        re.findall(r'(?:block|config|declared)\.(?:required_)?(?:text|texts|flag|number|block)\(\s*"(\w+)"', source)
    )
    assert {"bucket", "apiEndpoint", "syncTimeoutMs", "exclude"} <= keys
    for key in keys:
        assert f"`{key}`" in _DOCUMENT
