"""Sides of a diff that disagree in every way, and the operations of users and of existing clients that lead to them."""

from typing import Any, NamedTuple

from hypothesis import strategies as st

from bayou.domain.content import ContentId
from bayou.domain.evidence import Evidence
from bayou.domain.sides import Base, Local, Remote
from bayou.testing.sharedbucket import STORE

PATHS = (
    "data/t/m/n/1/raw",
    "data/t/m/n/1/metadata.yaml",
    "data/t/m/n/2/raw",
    "data/t/m/n/2/metadata.yaml",
    "data/t/m/n/latest",
    "data/t/m/log/1/raw",
    "data/t/m/log/1/metadata.yaml",
    "outputs/t/run/m-2026-01-01T00-00-00-000Z.yaml",
    "workflow-runs/w/workflow-run-1.yaml",
    "auto-definitions/t/m.yaml",
    "files/f",
)
"""A path of each kind that the diff tells apart."""


class Sides(NamedTuple):
    base: Base
    local: Local
    remote: Remote
    evidence: Evidence


def contents() -> st.SearchStrategy[ContentId]:
    """Few, so that the sides often agree and tombstones often name what is there."""
    return st.sampled_from(["one", "two", "three"])


@st.composite
def sides(draw: st.DrawFn) -> Sides:
    """Three sides and any evidence for or against each other, whether such a history exists or not."""
    paths = st.sampled_from(PATHS)
    files = st.dictionaries(paths, contents())
    unhashed = st.dictionaries(paths, st.one_of(contents(), contents(), contents(), st.none()))
    base = draw(files)
    here = {**base, **draw(unhashed)}
    there: dict[str, Any] = {**base, **draw(unhashed)}
    for side in (here, there):
        for path in draw(st.sets(paths)):
            side.pop(path, None)
    gone = base.keys() - here.keys()
    buried = draw(st.dictionaries(paths, st.frozensets(contents())))
    dropped = draw(st.sets(paths))
    deleted = {path: content for path, content in base.items() if path in dropped}
    objects = draw(st.dictionaries(paths, st.one_of(st.none(), contents())))
    return Sides(
        Base(STORE, base),
        Local(here, draw(st.sets(paths)) & gone),
        Remote(STORE, there, buried),
        Evidence(deleted, draw(st.frozensets(paths)), objects),
    )
