"""Artifacts: what the metadata of a version may say."""

from functools import cache

from hypothesis import strategies as st

from bayou.domain.artifacts import Artifact, Lifecycle, Owner, OwnerType
from bayou.testing.strategies.names import data_names, model_ids
from bayou.wire.times import to_text

_YEAR_1970, _YEAR_2100 = 0, 4_102_444_800_000

ODD_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12) | st.sampled_from(
    [
        "null",
        "true",
        "no",
        "y",
        "1e5",
        "0x10",
        "1_000",
        ".5",
        "+1",
        "010",
        "2026-04-02",
        "12:30:00",
        "~",
        "<<",
        "- a",
        "a: b",
        "#",
    ]
)
"""Texts that some reader may take for something else."""


@cache
def times_of_day() -> st.SearchStrategy[str]:
    """Times as every client writes them."""
    return st.integers(_YEAR_1970, _YEAR_2100).map(lambda milliseconds: to_text(milliseconds * 1_000_000))


@cache
def tags() -> st.SearchStrategy[dict[str, str]]:
    others = st.dictionaries(ODD_TEXTS, ODD_TEXTS | st.just(""), max_size=4)
    return st.tuples(st.sampled_from(["resource", "file", "report"]), others).map(lambda t: {**t[1], "type": t[0]})


@cache
def owners() -> st.SearchStrategy[Owner]:
    maybe = st.none() | ODD_TEXTS
    return st.builds(
        Owner,
        definition_hash=st.none() | st.binary(min_size=32, max_size=32).map(bytes.hex),
        owner_type=st.sampled_from(OwnerType),
        owner_ref=model_ids() | ODD_TEXTS,
        workflow_id=st.none() | model_ids(),
        workflow_run_id=st.none() | model_ids(),
        workflow_name=maybe,
        job_name=maybe,
        step_name=maybe,
        source=maybe,
    )


@cache
def artifacts() -> st.SearchStrategy[Artifact]:
    return st.builds(
        Artifact,
        id=model_ids(),
        name=data_names(),
        version=st.integers(1, 10**15 - 1),
        content_type=st.sampled_from(["application/json", "text/plain", "application/octet-stream"]) | ODD_TEXTS,
        lifetime=st.sampled_from(["ephemeral", "infinite", "job", "workflow", "30d", "007h", "10y"]),
        garbage_collection=st.integers(1, 2**53) | st.sampled_from(["30d", "1mo"]),
        streaming=st.booleans(),
        tags=tags(),
        owner=st.none() | owners(),
        created_at=times_of_day(),
        size=st.none() | st.integers(0, 2**53 - 1),
        checksum=st.none() | st.binary(min_size=32, max_size=32).map(bytes.hex),
        lifecycle=st.sampled_from(Lifecycle),
        renamed_to=st.none() | data_names(),
    )
