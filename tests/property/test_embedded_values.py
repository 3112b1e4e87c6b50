"""What is put comes back as it was, for every value that can be put."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.embedded.values import decode_key, decode_value, encode_key, encode_value
from kafkaesque.records.record import Headers

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
HEADERS = st.lists(
    st.tuples(
        st.sampled_from(["content-type", "trace"]),
        st.none()
        | st.sampled_from([b"application/json", b"application/octet-stream"])
        | st.binary(max_size=4),
    ),
    max_size=3,
).map(tuple)


@given(JSON | TEXT | st.binary() | st.none())
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    found = decode_value(*encode_value(value))
    assert (found, repr(found)) == (value, repr(value))


@given(st.none() | st.binary(max_size=30), HEADERS)
def test_any_record_of_another_client_can_be_read(data: bytes | None, headers: Headers) -> None:
    found = decode_value(data, headers)
    assert found is None if data is None else found is not None or b"null" in data


@given(TEXT)
def test_a_text_key_comes_back(key: str) -> None:
    assert decode_key(encode_key(key)) == key


@given(st.binary())
def test_a_key_of_bytes_comes_back_as_the_bytes_that_it_is(key: bytes) -> None:
    found = decode_key(encode_key(key))
    assert (found.encode() if isinstance(found, str) else found) == key
