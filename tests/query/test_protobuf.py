"""The wire format: what is written is what is read, and what is cut off is an error."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import Corrupt
from bayou.query.protobuf import Field, double, eight, fields, message, signed

_NUMBERS = st.integers(1, 2**29 - 1)
_VALUES = st.integers(0, 2**64 - 1) | st.binary(max_size=200)


@given(st.lists(st.tuples(_NUMBERS, _VALUES), max_size=8))
def test_what_was_written_is_read(parts: list[Field]) -> None:
    assert list(fields(message(parts))) == parts


@given(st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers_keep_their_sign(number: int) -> None:
    ((_, value),) = fields(message([(3, number)]))
    assert isinstance(value, int)
    assert signed(value) == number


@given(st.floats())
def test_doubles_come_back(number: float) -> None:
    ((field, value),) = fields(eight(5, number))
    assert field == 5
    assert isinstance(value, bytes)
    assert double(value) == number or (math.isnan(number) and math.isnan(double(value)))


def test_a_known_message_is_read_as_others_write_it() -> None:
    # Field 1 is 150, field 2 is "testing", field 3 is a message in which field 1 is 150: the examples of the format.
    assert list(fields(bytes.fromhex("089601"))) == [(1, 150)]
    assert list(fields(bytes.fromhex("120774657374696e67"))) == [(2, b"testing")]
    assert list(fields(bytes.fromhex("1a03089601"))) == [(3, b"\x08\x96\x01")]


@pytest.mark.parametrize(
    "broken",
    [
        b"\x12\x07test",
        b"\x08",
        b"\x08" + b"\xff" * 11,
        b"\x0b",
        b"\x0f",
        b"\x09\x00\x00",
        b"\x80",
        b"\x12\xff\xff\xff\xff\x0f",
    ],
)
def test_what_is_cut_off_or_no_message_is_an_error(broken: bytes) -> None:
    with pytest.raises(Corrupt, match="a serialized expression"):
        list(fields(broken))


@given(st.binary(max_size=60))
def test_no_bytes_hang_or_fail_in_another_way(data: bytes) -> None:
    try:
        read = list(fields(data))
    except Corrupt:
        return
    assert len(read) <= len(data)
