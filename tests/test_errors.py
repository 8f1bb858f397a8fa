"""The tree of errors, and the table that documents it."""

import copy
import pickle
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import bayou
from bayou.config.locations import Misfit
from bayou.errors import BayouError, Corrupt, ErrorKind, Unavailable

CATEGORIES = [category for category in BayouError.__subclasses__() if category.__module__ == BayouError.__module__]
TABLE = Path(__file__).parent.parent.joinpath("docs/errors.md").read_text()


def example(category: type[BayouError]) -> BayouError:
    if issubclass(category, Corrupt):
        return category("some/key", expected="an index", found="a poem")
    return category("what happened")


def pickled(error: BayouError, protocol: int) -> BayouError:
    found = pickle.loads(pickle.dumps(error, protocol))  # noqa: S301 - our own bytes
    assert isinstance(found, BayouError)
    return found


ROUND_TRIPS: list[Callable[[BayouError], BayouError]] = [
    copy.copy,
    copy.deepcopy,
    *(partial(pickled, protocol=protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)),
]


def documented_row(category: type[BayouError]) -> list[str]:
    rows = [line.strip("| ").split(" | ") for line in TABLE.splitlines() if line.startswith(f"| `{category.__name__}`")]
    assert len(rows) == 1, f"docs/errors.md has {len(rows)} rows for {category.__name__}"
    return rows[0]


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_category_has_a_kind_a_remedy_and_an_exit_code(category: type[BayouError]) -> None:
    error = example(category)
    assert error.kind is category.default_kind
    assert error.remedy == category.default_remedy
    assert error.remedy.endswith(".")
    assert error.exit_code in {1, 2, 75}
    assert str(error) == error.message


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_category_is_documented_as_it_is(category: type[BayouError]) -> None:
    row = documented_row(category)
    assert row[3] == str(category.exit_code)
    assert f"`{category.default_kind}` (default)" in row[4]
    for builtin in (KeyError, ValueError):
        assert (builtin.__name__ in row[0]) == issubclass(category, builtin)


def test_every_kind_belongs_to_one_category() -> None:
    listed = [kind for category in CATEGORIES for kind in re.findall(r"`(\w+)`", documented_row(category)[4])]
    assert sorted(listed) == sorted(ErrorKind)


def test_categories_do_not_contain_each_other() -> None:
    assert all(category.__bases__[0] is BayouError for category in CATEGORIES)


def test_a_kind_and_a_remedy_can_be_more_specific() -> None:
    error = bayou.Unavailable("slow down", kind=ErrorKind.THROTTLED, remedy="Wait.", retry_after=2.5)
    assert (error.kind, error.remedy, error.retry_after) == ("throttled", "Wait.", 2.5)


def test_corrupt_says_where_and_what() -> None:
    error = Corrupt("_index/_meta.json", expected="a JSON object", found="an array")
    assert str(error) == "_index/_meta.json: expected a JSON object, found an array"
    assert (error.where, error.expected, error.found) == ("_index/_meta.json", "a JSON object", "an array")


@pytest.mark.parametrize("round_trip", ROUND_TRIPS)
@pytest.mark.parametrize(
    "error",
    [
        *map(example, CATEGORIES),
        Unavailable("slow down", kind=ErrorKind.THROTTLED, remedy="Wait.", retry_after=2.5),
        Corrupt("k", expected="a", found="b", kind=ErrorKind.HASH_MISMATCH, remedy="Restore it."),
        Misfit("bucket", "is too short"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_can_go_to_another_process(error: BayouError, round_trip: Callable[[BayouError], BayouError]) -> None:
    error.__notes__ = ["while pulling"]  # as `add_note` does, but once
    found = round_trip(error)
    assert type(found) is type(error)
    assert (str(found), found.args, vars(found)) == (str(error), error.args, vars(error))
    assert found.__notes__ == ["while pulling"]


def test_the_front_door_offers_the_whole_tree() -> None:
    tree: list[type[BayouError]] = [BayouError, *CATEGORIES]
    assert [getattr(bayou, category.__name__) for category in tree] == tree
