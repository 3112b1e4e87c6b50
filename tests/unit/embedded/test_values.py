"""Values and keys that are not what they seem. The round trips are in property/."""

import math
from typing import Any

import pytest

from kafkaesque.embedded.values import (
    CONTENT_TYPE,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)

JSON = ((CONTENT_TYPE, b"application/json"),)


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ("Grüße", "Grüße".encode()),
        (b"\xff\x00", b"\xff\x00"),
        (bytearray(b"ab"), b"ab"),
        (memoryview(b"abcd")[::2], b"ac"),
        (None, None),
        (12, b"12"),
        (True, b"true"),
        ({"a": [1, "ä"]}, '{"a": [1, "ä"]}'.encode()),
    ],
)
def test_a_value_is_the_bytes_that_other_clients_expect(value: Any, data: bytes | None) -> None:
    assert encode_value(value)[0] == data


def test_a_foreign_record_is_text_where_it_is_utf_8_and_bytes_where_not() -> None:
    assert decode_value(b'{"a": 1}', ()) == '{"a": 1}'
    assert decode_value(b"\xff", ()) == b"\xff"
    assert decode_value(b"", (("trace", b"7"),)) == ""
    assert decode_value(None, JSON) is None


@pytest.mark.parametrize(
    "claimed", [b"{", b"", b"nonsense", b"[" * 100_000, b"9" * 10_000, b'"\xef\xbb\xbf'[1:]]
)
def test_text_that_claims_to_be_json_and_is_not_stays_text(claimed: bytes) -> None:
    assert decode_value(claimed, JSON) == claimed.decode()


def test_bytes_that_claim_to_be_json_stay_bytes() -> None:
    assert decode_value(b"\xff\xfe", JSON) == b"\xff\xfe"


def test_a_header_without_a_value_claims_nothing() -> None:
    assert decode_value(b"12", ((CONTENT_TYPE, None),)) == "12"


def test_text_bytes_and_json_that_look_alike_come_back_as_they_were() -> None:
    values: list[Any] = ["12", b"12", 12, "null", b"null", '"x"', "", b"", [], {}]
    for value in values:
        found = decode_value(*encode_value(value))
        assert (found, type(found)) == (value, type(value))


def test_minus_zero_stays_minus_zero() -> None:
    assert math.copysign(1, decode_value(*encode_value(-0.0))) == -1


@pytest.mark.parametrize("number", [2**63, -(2**200), 10**4000])
def test_large_numbers_are_exact(number: int) -> None:
    assert decode_value(*encode_value(number)) == number


def _nested(depth: int) -> Any:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [{1, 2}, object(), math.nan, [math.inf], {"a": b"x"}, 10**5000, _nested(100_000), {(1,): 2}],
    ids=["set", "object", "nan", "inf", "bytes inside", "digits", "depth", "tuple key"],
)
def test_what_json_cannot_write_is_refused_with_what_can_be(value: Any) -> None:
    for encode, what in ((encode_value, "a value"), (encode_key, "a key")):
        with pytest.raises(TypeError, match=f"{what} is str, bytes, None or what JSON can write"):
            encode(value)


@pytest.mark.parametrize("value", ["\ud800", ["\udfff"], {"\ud800": 1}])
def test_half_a_surrogate_pair_is_refused(value: Any) -> None:
    for encode in (encode_value, encode_key):
        with pytest.raises(TypeError, match="surrogates not allowed"):
            encode(value)


def test_a_key_is_bytes_alike_for_every_client() -> None:
    assert encode_key("key1") == encode_key(b"key1") == b"key1"
    assert encode_key(1) == b"1"
    assert encode_key(("eu", 7)) == b'["eu", 7]'
    assert encode_key(None) is None
    assert encode_key("") == b""


def test_a_key_comes_back_as_text_where_it_is_utf_8() -> None:
    assert decode_key(b"key1") == "key1"
    assert decode_key(b"\xff") == b"\xff"
    assert decode_key(None) is None
    assert decode_key(b"") == ""
