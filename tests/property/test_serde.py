"""What was encoded comes back, in every form."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.client.serde import encode, serde

# As JSON has them: orjson's integers are those of 64 bits.
ATOMS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
KEYS = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(ATOMS, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner))


@given(JSON)
def test_json_comes_back(value: Any) -> None:
    assert _through("json", value) == value


@given(KEYS)
def test_text_comes_back(value: str) -> None:
    assert _through("str", value) == value


@given(st.binary())
def test_bytes_come_back(value: bytes) -> None:
    assert _through("bytes", value) == value


def _through(form: str, value: Any) -> Any:
    data = encode(serde(form), value, "value")
    return None if data is None else serde(form).decode(data)
