"""Which keys a store can hold, row by row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import ErrorKind, UsageError
from bayou.layout.safety import MAX_KEY_BYTES
from bayou.storage.keys import check_key, check_listing, objection
from bayou.testing.contract.naming import HOSTILE, UNUSUAL
from bayou.testing.strategies import safe_paths


@pytest.mark.parametrize("key", [*UNUSUAL, "x" * MAX_KEY_BYTES, "ü" * (MAX_KEY_BYTES // 2)])
def test_what_every_store_can_hold_is_accepted(key: str) -> None:
    check_key(key)
    check_listing(key, key)


@pytest.mark.parametrize("key", [*HOSTILE, "ü" * (MAX_KEY_BYTES // 2 + 1), "a\x1fb", "..\\..", "a/..", "./a"])
def test_what_some_store_would_change_is_refused(key: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_key(key)
    assert caught.value.kind is ErrorKind.INVALID_PATH
    assert repr(key) in caught.value.message


def test_the_empty_prefix_is_the_whole_store() -> None:
    check_listing("", None)
    for prefix, after in (("/", None), ("", ""), ("", "a/"), ("", "..")):
        with pytest.raises(UsageError):
            check_listing(prefix, after)


@given(safe_paths())
def test_whatever_may_be_a_path_can_be_stored(path: str) -> None:
    assert objection(path) is None


@given(st.text(st.sampled_from("a./\\\0\n"), max_size=8))
def test_an_accepted_key_leads_nowhere_else(key: str) -> None:
    if objection(key) is None:
        assert not {"", ".", ".."} & set(key.split("/"))
        assert not {"\\", "\0", "\n"} & set(key)
