"""JSON values as columns against orjson: a row for each object, and none for anything else."""

from typing import Any

import orjson
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from kafkaesque.client.columns import json_decoder
from kafkaesque.client.columns.errors import Fault

TEXTS = st.text(max_size=6) | st.sampled_from(["2024-01-02", "2024-01-02T03:04:05Z", "NaN", "{"])
OBJECTS = st.fixed_dictionaries(
    {},
    optional={
        "n": st.integers(-(2**63), 2**63 - 1),
        "t": TEXTS,
        "b": st.booleans() | st.none(),
        "l": st.lists(TEXTS, max_size=3),
        "o": st.fixed_dictionaries({}, optional={"x": st.floats(-9, 9).map(lambda f: f + 0.5)}),
    },
).map(orjson.dumps)
PIECES = st.sampled_from(
    [b"{", b"}", b'"', b":", b",", b"\n", b" ", b"[", b"]", b'"v"', b"1", b"{}", b'{"v":', b"}\n{"]
)
WRONG = st.binary(max_size=5) | st.lists(PIECES, max_size=8).map(b"".join)
CUT = st.builds(lambda value, at: value[:at], OBJECTS, st.integers(0, 20))


def document(value: bytes | None) -> Any:
    try:
        return None if value is None else orjson.loads(value)
    except ValueError:
        return None


def without_nulls(value: Any) -> Any:
    """A column has every name in every row: what is missing is null."""
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


@given(st.lists(OBJECTS | OBJECTS | st.none() | WRONG | CUT, max_size=12))
def test_rows_are_the_objects(values: list[bytes | None]) -> None:
    decoded = json_decoder().read(pa.array(values, pa.binary()))
    decoded.array.validate(full=True)
    for place, value in enumerate(values):
        wanted = document(value)
        if decoded.faults[place] == Fault.JSON_TYPE:
            continue  # an object that contradicts those before it
        assert bool(decoded.refused[place]) == (value is not None and type(wanted) is not dict)
        if type(wanted) is dict:
            # A name within an object that all rows left empty is no column.
            assert without_nulls(decoded.array[place].as_py()) == without_nulls(wanted)
        else:
            assert decoded.array[place].as_py() is None


MEMBERS = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "a"]),
    lambda each: (
        st.lists(each, max_size=2) | st.dictionaries(st.sampled_from("xy"), each, max_size=2)
    ),
    max_leaves=4,
)


@given(st.lists(st.dictionaries(st.sampled_from("ab"), MEMBERS, max_size=2), max_size=6))
@example([{"a": []}, {"a": 0}])
@example([{"a": [None, False]}])
@example([{"a": [None, None]}, {"a": {"x": [[None, None], [None]]}}, {"b": [None, {"x": []}]}])
@example([{"a": {"x": [[]]}}, {"a": {"x": [0]}}, {"a": {"x": "a"}}])
def test_objects_that_contradict_each_other_are_read_or_refused(
    documents: list[dict[str, Any]],
) -> None:
    values = pa.array(list(map(orjson.dumps, documents)), pa.binary())
    decoded = json_decoder().read(values)
    decoded.array.validate(full=True)
    for place, wanted in enumerate(documents):
        found = decoded.array[place].as_py()
        if decoded.refused[place]:
            assert decoded.faults[place] == Fault.JSON_TYPE
            assert found is None
        else:
            assert without_nulls(found) == without_nulls(wanted)
