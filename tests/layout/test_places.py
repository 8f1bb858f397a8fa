"""Places on this machine, as existing clients know them (repository spec 1.5, 7.1)."""

from collections.abc import Callable

import pytest

from bayou.domain.modeltypes import ModelType
from bayou.errors import UsageError
from bayou.layout import places
from bayou.layout.bundles import Bundle, local_bundle
from bayou.layout.internal import legacy_internal
from bayou.layout.keys import Keyspace
from bayou.layout.records import OutputRecord, RunRecord

ID = "9b2f1a52-2f4e-4c0e-8a7b-54f0a2f6f0aa"


def test_logs_and_summaries_lie_beside_where_the_records_would_be() -> None:
    output = OutputRecord(ModelType("swamp/echo"), "run", ID, "2026-04-02T09-15-00-125Z")
    assert places.output_log(output) == f".swamp/outputs/swamp/echo/run/{ID}-2026-04-02T09-15-00-125Z.log"
    assert places.run_log(RunRecord("wf", ID)) == f".swamp/workflow-runs/wf/workflow-run-{ID}.log"
    assert places.runs_index("wf") == ".swamp/workflow-runs/wf/.runs-index.json"


def test_caches_are_by_repo() -> None:
    assert places.cache_folder("r1") == "repos/r1"
    assert places.cache_folder("") == "repos/unknown"


@pytest.mark.parametrize(
    "path", [places.SIDECAR, places.LOCAL_INDEX, places.JOURNAL, places.TEMPORARY, places.conflict("data/x")]
)
def test_existing_clients_do_not_push_our_local_state(path: str) -> None:
    assert legacy_internal(path)


@pytest.mark.parametrize(("source", "folder"), [("extensions/models", "e9c5c01e"), ("extensions/vaults", "a22568b1")])
def test_local_bundles_lie_under_the_hash_of_their_source(source: str, folder: str) -> None:
    assert local_bundle("bundles", source, "geo/lookup.ts") == f"bundles/{folder}/geo/lookup.js"


def test_characters_beyond_the_first_plane_are_hashed_as_two_units() -> None:
    # As an independent FNV-1a over charCodeAt gives it.
    assert local_bundle("bundles", "\U0001f600/\u00e9", "x.ts") == "bundles/a9470bd4/x.js"


UNSAFE = ["..", "../x", "a/../../x", "/x", "a\\b", "a\0b"]


@pytest.mark.parametrize("part", UNSAFE)
@pytest.mark.parametrize(
    "place",
    [
        places.conflict,
        places.runs_index,
        places.cache_folder,
        lambda part: local_bundle("bundles", "extensions/models", f"{part}/x.ts"),
        Keyspace().control,
    ],
)
def test_no_place_can_be_left(place: Callable[[str], str], part: str) -> None:
    with pytest.raises(UsageError):
        place(part)


def test_half_a_character_in_a_source_is_hashed_as_one_unit() -> None:
    # As an independent FNV-1a over charCodeAt gives it.
    assert local_bundle("bundles", "\ud800", "x.ts") == f"bundles/{(0x811C9DC5 ^ 0xD800) * 0x01000193 % 2**32:08x}/x.js"


@pytest.mark.parametrize("sha", ["", "abc", "G" * 64, "A" * 64, "a" * 65, "a" * 64 + "\n"])
def test_a_bundle_is_named_by_a_sha256(sha: str) -> None:
    with pytest.raises(UsageError):
        Bundle(sha)
