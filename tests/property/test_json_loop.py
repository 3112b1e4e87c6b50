"""JSON objects by the compiled loop against the parser: the same rows, and the same words for the
values that are refused."""

import json
from typing import Any

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from kafkaesque.client.columns.json_loop import walk_objects
from kafkaesque.pipelines.source.decoding.json_texts import JsonTexts

KIND = pa.struct(
    [
        ("n", pa.int64()),
        ("small", pa.int32()),
        ("r", pa.float64()),
        ("t", pa.string()),
        ("b", pa.bool_()),
        ("at", pa.timestamp("us", "UTC")),
    ]
)
WHOLES = st.integers(-(2**65), 2**65) | st.integers(-100, 100)
MEMBERS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    WHOLES,
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=6),
    st.sampled_from(["2024-01-02T03:04:05Z", "2024-01-02 03:04:05", "NaN"]),
    st.lists(st.integers(0, 9), max_size=2),
    st.fixed_dictionaries({"x": st.integers(0, 9)}),
)
NAMES = st.sampled_from([field.name for field in KIND] * 2 + ["stray", "T", "", 'q"'])
FITTING = st.fixed_dictionaries(
    {},
    optional={
        "n": st.integers(-(2**63), 2**63 - 1),
        "small": st.integers(-(2**31), 2**31 - 1),
        "r": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53),
        "t": st.text(max_size=6),
        "b": st.booleans() | st.none(),
        "at": st.sampled_from(["2024-01-02T03:04:05.123456", "2024-01-02 03:04:05"]),
        "stray": MEMBERS,
    },
)


@st.composite
def written(draw: st.DrawFn) -> bytes:
    """An object as somebody may write it: blanks anywhere, names twice, members of any type."""
    members = draw(st.lists(st.tuples(NAMES, MEMBERS), max_size=5)) or [*draw(FITTING).items()]
    blank = draw(st.sampled_from(["", " ", "\n\t"]))
    ascii_only = draw(st.booleans())
    texts = [
        f"{blank}{json.dumps(name)}{blank}:{blank}{json.dumps(each, ensure_ascii=ascii_only)}"
        for name, each in members
    ]
    whole = f"{blank}{{{','.join(texts)}{blank}}}{blank}".encode()
    # Cut off, or with something else at the end, now and then.
    end = draw(st.sampled_from([None, None, None, -1, 3]))
    return whole[:end] + draw(st.sampled_from([b"", b"", b"", b"{}", b"\xff", b",", b"\0"]))


NUMBERS = st.from_regex(r"\A-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,4})?\Z")
ALMOST = st.text("0123456789.-+eE", min_size=1, max_size=9)


@given(st.lists(written() | FITTING.map(lambda each: json.dumps(each).encode()) | st.none()))
@example([b'{"n": 1, "n": 2}'])
@example([b'{"n": []}', b'{"n": 0}'])
@example([b'{"r": -0, "n": -0}', b'{"n": 01}', b'{"n": 9223372036854775808}'])
@example([b'{"b": nullx}', b'{"b": tru', b'{"t": "\x01"}', b'{"t": "\\u00e9"}'])
def test_the_loop_and_the_parser_agree(values: list[bytes | None]) -> None:
    texts = pa.array(values, pa.binary())
    found = JsonTexts(KIND, KIND, walk_objects).read(texts)
    wanted = JsonTexts(KIND, KIND).read(texts)
    found.array.validate(full=True)
    assert found.array.to_pylist() == wanted.array.to_pylist()
    assert found.reasons == wanted.reasons


@given(st.lists(NUMBERS | ALMOST, min_size=1))
@example(["123456789012345678", "0.000000000000000001", "9007199254740993", "1e22", "1e23"])
def test_numbers_are_those_of_python(numbers: list[str]) -> None:
    kind = pa.struct([("r", pa.float64())])
    texts = pa.array([f'{{"r":{each}}}'.encode() for each in numbers], pa.binary())
    found = JsonTexts(kind, kind, walk_objects).read(texts)
    for place, number in enumerate(numbers):
        try:
            wanted = float(json.loads(number))
        except (ValueError, OverflowError):
            assert place in found.reasons
            continue
        if wanted in (float("inf"), float("-inf")):
            continue  # beyond what a double holds: the two ways of the parser differ, too
        assert found.array[place].as_py() == {"r": wanted}
