"""One settings value from four sources, each setting with its origin, every doubt as a warning."""

import pickle
from collections.abc import Mapping
from pathlib import Path

import pytest

from bayou.config import GCS, S3, Arguments, Azure, Folder, Hydration, Mongo, Origin, Plugin, Settings, Source, load
from bayou.errors import ErrorKind, NotFound, UsageError
from bayou.layout.directories import in_datastore

S3_MARKER = """\
repoId: "6f0d7a52"
datastore:
  type: "@swamp/s3-datastore"
  config:
    bucket: lake
    pullConcurrency: 10
    requestTimeoutMs: 5000
  namespace: infra
  directories: [data, outputs]
  exclude: ["logs/**"]
  hydrationStrategy: lazy
  syncTimeoutMs: 60000
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repo = tmp_path / "repo"
    (repo / "deep" / "er").mkdir(parents=True)
    return repo


def _load(
    start: Path, marker: str | None = None, environ: Mapping[str, str] | None = None, arguments: Arguments | None = None
) -> Settings:
    if marker is not None:
        (start / ".swamp.yaml").write_text(marker)
    return load(
        start, environ or {}, arguments or Arguments(), home=start.parent / "home", plugins=lambda: ["@acme/ftp"]
    )


def test_a_repo_without_configuration_keeps_its_data_in_itself(repo: Path) -> None:
    settings = _load(repo, 'repoId: "abc"\n')
    assert settings.location == Folder(repo / ".swamp")
    assert settings.namespace == ""
    assert settings.directories == in_datastore()
    assert settings.exclude == ()
    assert settings.hydration is Hydration.FULL
    assert settings.sync_timeout_ms == 300_000
    assert settings.lock_timeout_ms == 60_000
    assert settings.pull_concurrency == 50
    assert settings.push_concurrency == 25
    assert settings.request_timeout_ms == 30_000
    assert settings.ephemeral_budget == 512 * 1024 * 1024
    assert settings.trace is False
    assert settings.repo == repo
    assert settings.repo_id == "abc"
    assert settings.cache is None
    assert set(settings.origins.values()) == {Origin(Source.DEFAULT)}
    assert settings.warnings == ()


def test_the_marker_says_it_all(repo: Path) -> None:
    settings = _load(repo, S3_MARKER)
    assert settings.location == S3("lake")
    assert settings.namespace == "infra"
    assert settings.directories == ("data", "outputs")
    assert settings.exclude == ("logs/**",)
    assert settings.hydration is Hydration.LAZY
    assert settings.sync_timeout_ms == 60_000
    assert settings.pull_concurrency == 10
    assert settings.push_concurrency == 25
    assert settings.request_timeout_ms == 5000
    assert settings.cache == repo.parent / "home/.swamp/repos/6f0d7a52"
    assert settings.warnings == ()
    from_marker = {name for name, origin in settings.origins.items() if origin.source is Source.MARKER}
    defaults = {"push_concurrency", "lock_timeout_ms", "ephemeral_budget", "durable", "auto_gc", "trace"}
    assert from_marker == settings.origins.keys() - defaults
    assert settings.origins["namespace"] == Origin(Source.MARKER, str(repo / ".swamp.yaml"))


@pytest.mark.parametrize(("said", "durable"), [("0", False), ("false", False), ("1", True), ("", True)])
def test_writes_are_durable_unless_the_environment_says_otherwise(repo: Path, said: str, durable: bool) -> None:  # noqa: FBT001 - a parameter
    assert _load(repo, "repoId: a\n", environ={"BAYOU_DURABLE": said}).durable is durable


def test_an_argument_says_whether_writes_are_durable(repo: Path) -> None:
    settings = _load(repo, "repoId: a\n", environ={"BAYOU_DURABLE": "1"}, arguments=Arguments(durable=False))
    assert settings.durable is False
    assert settings.origins["durable"] == Origin(Source.ARGUMENT, "durable")


def test_the_marker_turns_automatic_collection_on(repo: Path) -> None:
    settings = _load(repo, "repoId: a\nautoGc: true\n")
    assert settings.auto_gc is True
    assert settings.origins["auto_gc"] == Origin(Source.MARKER, str(repo / ".swamp.yaml"))


def test_every_setting_has_an_origin(repo: Path) -> None:
    settings = _load(repo, S3_MARKER)
    assert ("location", "s3://lake", f"marker {repo}/.swamp.yaml") in settings.listing()
    assert ("lock_timeout_ms", "60000", "default") in settings.listing()
    assert ("trace", "off", "default") in settings.listing()
    assert [name for name, _, _ in settings.listing()] == list(settings.origins)
    assert ("namespace", "none", "default") in _load(repo, "repoId: a\n").listing()


def test_settings_travel_to_other_processes(repo: Path) -> None:
    settings = _load(repo, S3_MARKER)
    assert pickle.loads(pickle.dumps(settings)) == settings  # noqa: S301 - our own bytes
    assert hash(settings) == hash(_load(repo))


ARGUMENT, VARIABLE, MARKER = "argument", "environment", "marker"


@pytest.mark.parametrize(
    ("name", "variable", "key", "default"),
    [
        ("sync_timeout_ms", "SWAMP_DATASTORE_SYNC_TIMEOUT_MS", "syncTimeoutMs", 300_000),
        ("lock_timeout_ms", "SWAMP_LOCK_TIMEOUT_MS", None, 60_000),
        ("request_timeout_ms", "SWAMP_S3_REQUEST_TIMEOUT_MS", "config.requestTimeoutMs", 30_000),
        ("pull_concurrency", None, "config.pullConcurrency", 50),
        ("push_concurrency", None, "config.pushConcurrency", 25),
    ],
)
@pytest.mark.parametrize("said_by", [(), (MARKER,), (VARIABLE,), (MARKER, VARIABLE), (MARKER, VARIABLE, ARGUMENT)])
def test_argument_beats_environment_beats_marker_beats_default(  # noqa: PLR0917 - the columns of the table
    repo: Path, name: str, variable: str | None, key: str | None, default: int, said_by: tuple[str, ...]
) -> None:
    # Concurrencies end at 1000, where the timeouts of requests begin.
    scale = 1 if name.endswith("concurrency") else 1000
    marker, environ, arguments = 'repoId: a\ndatastore:\n  type: "@swamp/s3-datastore"\n', {}, Arguments()
    config = "  config:\n    bucket: lake\n"
    expected, source = default, Source.DEFAULT
    if MARKER in said_by and key is not None:
        line = f"{key.removeprefix('config.')}: {scale * 2}\n"
        marker, config = (marker, f"{config}    {line}") if key.startswith("config.") else (f"{marker}  {line}", config)
        expected, source = scale * 2, Source.MARKER
    if VARIABLE in said_by and variable is not None:
        environ = {variable: str(scale * 3)}
        expected, source = scale * 3, Source.ENVIRONMENT
    if ARGUMENT in said_by:
        arguments = Arguments(**{name: scale * 4})  # type: ignore[arg-type] # the five that are numbers
        expected, source = scale * 4, Source.ARGUMENT
    settings = _load(repo, marker + config, environ, arguments)
    assert getattr(settings, name) == expected
    assert settings.origins[name].source is source
    assert settings.warnings == ()


def test_the_datastore_argument_beats_environment_beats_marker(repo: Path) -> None:
    environ = {"SWAMP_DATASTORE": "filesystem:/by/environment"}
    by_environment = _load(repo, S3_MARKER, environ)
    assert by_environment.location == Folder(Path("/by/environment"))
    assert by_environment.origins["location"] == Origin(Source.ENVIRONMENT, "SWAMP_DATASTORE")
    by_argument = _load(repo, S3_MARKER, environ, Arguments(datastore="/by/argument"))
    assert by_argument.location == Folder(Path("/by/argument"))
    assert by_argument.origins["location"] == Origin(Source.ARGUMENT, "datastore")
    by_url = _load(repo, S3_MARKER, environ, Arguments(datastore="s3://other/p?region=eu"))
    assert by_url.location == S3("other", "p", "eu")
    assert by_url.origins["location"] == Origin(Source.URL)


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("filesystem:/srv/x", Folder(Path("/srv/x"))),
        ("filesystem:~/x", "home/x"),
        ("filesystem:$STORE", Folder(Path("/stores/1"))),
        ("filesystem:x", "repo/x"),
        ("s3:lake/a/b", S3("lake", "a/b")),
        ("s3://lake/a?region=eu", S3("lake", "a", "eu")),
        ('@swamp/s3-datastore:{"bucket":"lake"}', S3("lake")),
        ('@swamp/gcs-datastore:{"bucket":"lake"}', GCS("lake")),
        ('@bayou/azure-datastore:{"container":"lake"}', Azure("lake")),
        ('@keeb/mongodb-datastore:{"uri":"mongodb://h"}', Mongo({"uri": "mongodb://h"})),
        ("mongodb://h/db", Mongo({"uri": "mongodb://h/db"})),
        ("@acme/ftp:", Plugin("@acme/ftp", {})),
    ],
)
def test_swamp_datastore_in_all_its_forms(repo: Path, text: str, location: object) -> None:
    settings = _load(repo, "repoId: a\n", {"SWAMP_DATASTORE": text, "STORE": "/stores/1"})
    assert settings.location == (Folder(repo.parent / location) if isinstance(location, str) else location)
    assert settings.warnings == ()


def test_tuning_can_come_with_the_variable(repo: Path) -> None:
    environ = {"SWAMP_DATASTORE": '@swamp/s3-datastore:{"bucket":"lake","pullConcurrency":7}'}
    settings = _load(repo, "repoId: a\n", environ)
    assert settings.pull_concurrency == 7
    assert settings.origins["pull_concurrency"] == Origin(Source.ENVIRONMENT, "SWAMP_DATASTORE")


def test_a_bad_value_names_the_variable(repo: Path) -> None:
    environ = {"SWAMP_DATASTORE": '@swamp/s3-datastore:{"bucket":"lake","pullConcurrency":0}'}
    with pytest.raises(
        UsageError, match=r"SWAMP_DATASTORE: config\.pullConcurrency: expected a whole number from 1 to 1000"
    ):
        _load(repo, "repoId: a\n", environ)
    with pytest.raises(UsageError, match=r"SWAMP_DATASTORE: path: .*uses \$STORE, which is not set"):
        _load(repo, "repoId: a\n", {"SWAMP_DATASTORE": "filesystem:$STORE"})


def test_another_datastore_takes_nothing_from_the_markers_and_says_so(repo: Path) -> None:
    settings = _load(repo, S3_MARKER, {"SWAMP_DATASTORE": "s3:other"})
    assert settings.namespace == ""
    assert settings.directories == in_datastore()
    assert settings.exclude == ()
    assert settings.hydration is Hydration.FULL
    assert settings.sync_timeout_ms == 300_000
    assert settings.pull_concurrency == 50
    [warning] = settings.warnings
    assert "datastore.namespace, datastore.directories, datastore.exclude, datastore.hydrationStrategy" in warning
    assert warning.endswith("not used, because another datastore is named by environment SWAMP_DATASTORE")


@pytest.mark.parametrize(
    ("datastore", "unused"),
    [
        (
            '{type: "@swamp/gcs-datastore", config: {bucket: lake, pullConcurrency: 1, requestTimeoutMs: 5000}}',
            "datastore.config.pullConcurrency, datastore.config.requestTimeoutMs: not used",
        ),
        (
            "{type: s3, bucket: lake, pushConcurrency: 1, syncTimeoutMs: 1}",
            "datastore.syncTimeoutMs, datastore.pushConcurrency: not used",
        ),
    ],
)
def test_tuning_that_goes_unused_is_named(repo: Path, datastore: str, unused: str) -> None:
    [warning] = _load(repo, f"repoId: a\ndatastore: {datastore}\n", {"SWAMP_DATASTORE": "filesystem:x"}).warnings
    assert warning.startswith(f"{repo}/.swamp.yaml: {unused}")


@pytest.mark.parametrize("datastore", ['{type: "@acme/ftp", config: {pullConcurrency: 1}}', "{type: s, config: 5}"])
def test_a_config_that_is_not_ours_has_no_tuning(repo: Path, datastore: str) -> None:
    marker = f"repoId: a\ndatastore: {datastore}\n"
    assert _load(repo, marker, {"SWAMP_DATASTORE": "filesystem:x"}).warnings == ()


@pytest.mark.parametrize(
    ("start", "environ", "repo_dir"),
    [
        ("a\0b", {}, None),
        ("", {}, Path("a\0b")),
        ("", {"SWAMP_REPO_DIR": "a\0b"}, None),
        ("", {"SWAMP_REPO_DIR": "$A", "A": "a\0b"}, None),
        ("", {"SWAMP_HOME": "/a\0b"}, None),
        ("", {"SWAMP_HOME": "/\ud800"}, None),
        ("\ud800", {}, None),
    ],
)
def test_a_path_that_no_disk_can_hold_is_refused(
    repo: Path, start: str, environ: dict[str, str], repo_dir: Path | None
) -> None:
    (repo / ".swamp.yaml").write_text("repoId: a\n")
    with pytest.raises(UsageError, match=r"the path (contains a NUL character|is not valid Unicode)"):
        _load(repo / start, environ=environ, arguments=Arguments(repo_dir=repo_dir))


def test_half_a_surrogate_in_the_environment_can_be_reported(repo: Path) -> None:
    [warning] = _load(repo, "repoId: a\n", {"SWAMP_LOCK_TIMEOUT_MS": "\udcff"}).warnings
    assert warning.endswith(r'found "\udcff"')
    with pytest.raises(NotFound, match=r"\\udcff is not a repo"):
        _load(repo, environ={"SWAMP_REPO_DIR": "/\udcff"})


def test_an_argument_may_bind_a_namespace_to_any_datastore(repo: Path) -> None:
    settings = _load(repo, S3_MARKER, {"SWAMP_DATASTORE": "s3:other"}, Arguments(namespace="audit", hydration="lazy"))
    assert settings.namespace == "audit"
    assert settings.origins["namespace"] == Origin(Source.ARGUMENT, "namespace")
    assert settings.hydration is Hydration.LAZY


def test_a_numeric_variable_that_makes_no_sense_is_ignored_with_a_warning(repo: Path) -> None:
    environ = {"SWAMP_LOCK_TIMEOUT_MS": "0", "SWAMP_S3_REQUEST_TIMEOUT_MS": "999", "SWAMP_EPHEMERAL_BUDGET": "lots"}
    settings = _load(repo, S3_MARKER, environ)
    assert settings.lock_timeout_ms == 60_000
    assert settings.request_timeout_ms == 5000
    assert settings.origins["request_timeout_ms"].source is Source.MARKER
    assert [warning.split()[0] for warning in settings.warnings] == list(environ)


def test_the_variables_of_one_kind_of_bucket_say_nothing_about_another(repo: Path) -> None:
    environ = {"SWAMP_GCS_REQUEST_TIMEOUT_MS": "7000", "SWAMP_GCS_SYNC_TRACE": "1"}
    settings = _load(repo, S3_MARKER, environ)
    assert (settings.request_timeout_ms, settings.trace) == (5000, False)
    assert _load(repo, S3_MARKER, {"SWAMP_S3_SYNC_TRACE": "1"}).trace is True


@pytest.mark.parametrize(
    ("line", "warning"),
    [
        ("  namespce: x", 'datastore.namespce is not a known key and is ignored; did you mean "namespace"?'),
        ("  path: /x", "datastore.path is not a known key and is ignored"),
        ("  config: {bucket: lake, pulConcurrency: 5}", "datastore.config.pulConcurrency is not a known key"),
        ("  config: {bucket: lake, pulConcurrency: 5}", 'did you mean "pullConcurrency"?'),
        ("  config: {bucket: lake, 5: x}", "datastore.config.5 is not a known key"),
        ("  config: {bucket: lake, secretAccessKey: hunter2}", "config.secretAccessKey is ignored: credentials"),
        ("  config: {bucket: lake, prefix: a/}", 'existing clients keep their keys below "a//", where Bayou cannot'),
        ("  config: {bucket: lake, prefix: a//b}", 'the prefix "a//b" is taken as it is'),
        ("  directories: [data, secrets]", "datastore.directories: secrets always stays on this machine"),
        ("  directories: [data, outptus]", 'directories: "outptus" is not a folder that existing clients have'),
        ("  directories: [data, outptus]", 'did you mean "outputs"?'),
        ('  config: {bucket: lake, prefix: "\\e[2J/"}', r'the prefix "\x1b[2J/" is taken as it is'),
        ('  "\\e[2J": x', r"datastore.\x1b[2J is not a known key"),
    ],
)
def test_doubts_are_warnings(repo: Path, line: str, warning: str) -> None:
    config = "" if "config" in line else "  config: {bucket: lake}\n"
    settings = _load(repo, f'repoId: a\ndatastore:\n  type: "@swamp/s3-datastore"\n{config}{line}\n')
    assert len(settings.warnings) == 1
    assert warning in settings.warnings[0]
    assert "hunter2" not in settings.warnings[0]
    assert settings.warnings[0].isprintable()


@pytest.mark.parametrize(
    ("line", "warning"),
    [
        ("datastor: {type: s3}", 'datastor is not a known key and is ignored; did you mean "datastore"?'),
        ("repoID: x", 'repoID is not a known key and is ignored; did you mean "repoId"?'),
        ("qqq: x", "qqq is not a known key and is ignored"),
        ("apiKey: hunter2", "apiKey is ignored: credentials come from the environment"),
    ],
)
def test_an_unknown_key_of_the_marker_is_named(repo: Path, line: str, warning: str) -> None:
    [found] = _load(repo, f"repoId: a\n{line}\n").warnings
    assert found.startswith(f"{repo}/.swamp.yaml: {warning}")
    assert "hunter2" not in found
    assert _load(repo, f"repoId: a\n{line}\n", {"SWAMP_DATASTORE": "s3:lake"}).warnings == (found,)


def test_the_keys_of_the_specification_are_known(repo: Path) -> None:
    keys = [
        "swampVersion",
        "initializedAt",
        "upgradedAt",
        "modelsDir",
        "workflowsDir",
        "vaultsDir",
        "driversDir",
        "datastoresDir",
        "reportsDir",
        "telemetryEndpoint",
        "telemetryDisabled",
        "telemetryKeepFlushed",
        "tools",
        "logLevel",
        "gitignoreManaged",
        "trustedCollectives",
        "trustMemberCollectives",
        "lastSkillMigrationWarning",
        "skillMigrationDismissed",
        "lastStalenessWarning",
        "autoGc",
        "defaultVault",
        "tool",
    ]
    assert _load(repo, "repoId: a\ndatastore:\n" + "".join(f"{key}:\n" for key in keys)).warnings == ()


def test_a_directory_that_is_named_twice_counts_once_and_in_its_place(repo: Path) -> None:
    marker = "datastore: {type: filesystem, path: x, directories: [outputs, data, outputs, data]}\n"
    assert _load(repo, marker).directories == ("outputs", "data")


@pytest.mark.parametrize(
    "location",
    [
        '{type: "@keeb/mongodb-datastore", config: {uri: "mongodb://root:hunter2@h/db", password: hunter2}}',
        '{type: "@acme/ftp", config: {uri: {deep: [hunter2]}, password: hunter2}}',
        '{type: "@swamp/s3-datastore", config: {bucket: lake, headers: {X-Uri-Password-Free: hunter2}}}',
    ],
)
def test_a_listing_shows_the_keys_of_a_config_that_is_not_ours_but_no_values(repo: Path, location: str) -> None:
    marker = f"repoId: a\ndatastore: {location.replace('X-Uri-Password-Free', 'X-Uri')}\n"
    settings = _load(repo, marker)
    listed = settings.listing()[0][1]
    assert "uri" in listed.lower()
    assert "***" in listed
    assert "hunter2" not in listed
    assert "hunter2" not in repr(settings)


def test_a_listing_is_safe_to_print(repo: Path) -> None:
    settings = _load(repo, 'datastore: {type: filesystem, path: x, exclude: ["\\e[2J"]}\n')
    assert r"\x1b[2J" in dict(row[:2] for row in settings.listing())["exclude"]
    assert all(text.isprintable() for row in settings.listing() for text in row)


def test_keys_of_a_plugin_are_its_own(repo: Path) -> None:
    settings = _load(repo, 'repoId: a\ndatastore: {type: "@acme/ftp", config: {anything: 1, pullConcurrency: fast}}\n')
    assert settings.location == Plugin("@acme/ftp", {"anything": 1, "pullConcurrency": "fast"})
    assert settings.warnings == ()


@pytest.mark.parametrize(
    ("marker", "problem"),
    [
        ("repoId: 5\n", "repoId: expected a text, found the number 5"),
        ("tool: 5\n", "tool: expected a text, found the number 5"),
        ("tools: 5\n", "tools: expected a list of texts, found the number 5"),
        ("tools: [cursor, 5]\n", "tools: expected a list of texts, found the number 5"),
        ("repoId: ../../x\n", 'repoId: expected letters, digits, dots and dashes, found "../../x"'),
        ("datastore: s3\n", 'datastore: expected a mapping, found the text "s3"'),
        ("datastore: {}\n", "datastore.type: expected a text, found nothing"),
        ("datastore: {type: filesystem, path: x, namespace: A_b}\n", "datastore.namespace: 'A_b' is not a namespace"),
        (
            "datastore: {type: filesystem, path: x, directories: data}\n",
            'expected a list of texts, found the text "data"',
        ),
        ("datastore: {type: filesystem, path: x, directories: [1]}\n", "expected a list of texts, found the number 1"),
        ("datastore: {type: filesystem, path: x, directories: [a/b]}\n", 'found "a/b"'),
        ("datastore: {type: filesystem, path: x, directories: ['..']}\n", 'found ".."'),
        ('datastore: {type: filesystem, path: x, directories: ["\\0"]}\n', r'found "\x00"'),
        ("datastore: {type: filesystem, path: x, directories: ['a\\b']}\n", "expected names of folders"),
        ("datastore: {type: filesystem, path: x, directories: [_index]}\n", '"_index" is not for data'),
        ("datastore: {type: filesystem, path: x, directories: [_control]}\n", '"_control" is not for data'),
        ("datastore: {type: filesystem, path: x, directories: [.locks]}\n", '".locks" is not for data'),
        ("datastore: {type: filesystem, path: x, directories: [datastore-bundles]}\n", "is not for data"),
        ('repoId: "\\e[2J"\n', r'found "\x1b[2J"'),
        ('datastore: "\\e[2J"\n', r'found the text "\x1b[2J"'),
        ('datastore: "mongodb://root:hunter2@h"\n', "expected a mapping, found the text (not repeated"),
        ("datastore: {type: filesystem, path: x, exclude: {a: b}}\n", "expected a list of texts, found a mapping"),
        ("datastore: {type: filesystem, path: x, hydrationStrategy: Lazy}\n", 'found "Lazy"; did you mean "lazy"?'),
        (
            "datastore: {type: filesystem, path: x, syncTimeoutMs: 0}\n",
            "syncTimeoutMs: expected a whole number, 1 or more",
        ),
        ("datastore: {type: filesystem, path: x, syncTimeoutMs: 1.5}\n", "found the number 1.5"),
        ("datastore: {type: filesystem, path: x, syncTimeoutMs: true}\n", "found true"),
        ("datastore: {type: s3, bucket: lake, pullConcurrency: 1001}\n", "expected a whole number from 1 to 1000"),
        ("datastore: {type: s3, bucket: lake, requestTimeoutMs: 999}\n", "expected a whole number from 1000 to 600000"),
    ],
)
def test_what_is_wrong_in_the_marker_is_named_with_its_place(repo: Path, marker: str, problem: str) -> None:
    with pytest.raises(UsageError) as refused:
        _load(repo, marker)
    assert refused.value.message.startswith(f"{repo}/.swamp.yaml: ")
    assert problem in refused.value.message
    assert refused.value.message.isprintable()
    assert "hunter2" not in refused.value.message
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (Arguments(pull_concurrency=0), "pull_concurrency: expected a whole number from 1 to 1000, found the number 0"),
        (Arguments(request_timeout_ms=10), "request_timeout_ms: expected"),
        (Arguments(hydration="none"), "hydration: expected full or lazy"),
        (Arguments(namespace="A b"), "'A b' is not a namespace"),
        (Arguments(datastore="s3://MyBucket"), "bucket: expected"),
        (Arguments(datastore=""), "the datastore argument: path: the path is empty"),
    ],
)
def test_what_is_wrong_in_an_argument_is_named(repo: Path, arguments: Arguments, problem: str) -> None:
    with pytest.raises(UsageError) as refused:
        _load(repo, S3_MARKER, arguments=arguments)
    assert problem in refused.value.message


def test_paths_are_relative_to_the_repo_but_arguments_to_where_one_stands(repo: Path) -> None:
    (repo / ".swamp.yaml").write_text("repoId: a\ndatastore: {type: filesystem, path: ../shared}\n")
    deep = repo / "deep" / "er"
    assert _load(deep).location == Folder(repo.parent / "shared")
    assert _load(deep, environ={"SWAMP_DATASTORE": "filesystem:x"}).location == Folder(repo / "x")
    assert _load(deep, arguments=Arguments(datastore="../x")).location == Folder(repo / "deep" / "x")


def test_a_start_with_dots_is_the_folder_it_means(repo: Path) -> None:
    (repo / "deep" / ".swamp.yaml").write_text("repoId: inner\n")
    assert _load(repo, "repoId: outer\n").repo_id == "outer"
    assert load(repo / "deep" / "..", {}, home=repo.parent).repo_id == "outer"


def test_a_datastore_can_be_named_without_a_repo(tmp_path: Path) -> None:
    settings = _load(tmp_path, arguments=Arguments(datastore="s3://lake"))
    assert (settings.repo, settings.repo_id, settings.cache) == (None, None, None)
    assert _load(tmp_path, environ={"SWAMP_DATASTORE": "s3:lake"}).location == S3("lake")


def test_no_repo_and_no_datastore_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="is not in a repo") as refused:
        _load(tmp_path)
    assert refused.value.kind is ErrorKind.REPO_MISSING
    assert "bayou init" in refused.value.remedy


def test_a_named_folder_that_is_no_repo_is_refused_even_inside_one(repo: Path) -> None:
    with pytest.raises(NotFound, match="deep is not a repo"):
        _load(repo, "repoId: a\n", arguments=Arguments(repo_dir=Path("deep")))


def test_half_a_repo_is_named_as_such(repo: Path) -> None:
    (repo / ".swamp").mkdir()
    with pytest.raises(UsageError, match="only partly initialised") as refused:
        _load(repo)
    assert refused.value.kind is ErrorKind.REPO_INCOMPLETE


def test_the_folder_of_caches_does_not_make_home_half_a_repo(tmp_path: Path) -> None:
    (tmp_path / ".swamp").mkdir()
    with pytest.raises(NotFound, match="is not in a repo"):
        load(tmp_path, {}, home=tmp_path)


def test_the_cache_belongs_to_the_repo_and_not_to_a_datastore_given_as_an_argument(repo: Path) -> None:
    assert _load(repo, S3_MARKER, {"SWAMP_DATASTORE": "s3:other"}).cache is None
    assert _load(repo, arguments=Arguments(datastore="s3://other")).cache is None
    assert _load(repo, environ={"SWAMP_HOME": "/caches"}).cache == Path("/caches/repos/6f0d7a52")


def test_a_cache_that_repos_share_by_accident_is_a_warning(repo: Path) -> None:
    settings = _load(repo, "datastore: {type: s3, bucket: lake}\n")
    assert settings.cache == repo.parent / "home/.swamp/repos/unknown"
    [warning] = settings.warnings
    assert (
        warning
        == f"{repo}/.swamp.yaml has no repoId, so its cache is shared with every repo on this machine that has none"
    )


def test_what_the_environment_of_the_process_says_does_not_count(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWAMP_DATASTORE", "s3:elsewhere")
    monkeypatch.setenv("SWAMP_HOME", "/elsewhere")
    assert _load(repo, S3_MARKER).location == S3("lake")
