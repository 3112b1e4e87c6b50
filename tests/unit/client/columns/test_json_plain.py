"""Plain JSON objects as columns: what the loop takes, and what it leaves to others."""

import pyarrow as pa
import pytest

from kafkaesque.client.columns import compiled, json_loop, json_plain
from kafkaesque.client.columns.json_loop import walk_objects
from kafkaesque.client.columns.json_plain import PlainDecoder, plain_decoder

TICK = pa.struct(
    [("at", pa.int64()), ("ticker", pa.string()), ("price", pa.float64()), ("open", pa.bool_())]
)
GOOD = b'{"at": 1700000000000, "ticker": "AMZN", "price": 135.02, "open": true}'


def decoder(kind: pa.StructType = TICK) -> PlainDecoder:
    found = plain_decoder(kind, walk_objects)
    assert found is not None
    return found


def rows(*values: bytes | None) -> tuple[list[object], list[int]]:
    """The rows, and the places of those left to others."""
    read = decoder().read(pa.array(values, pa.binary()))
    assert read is not None
    array, is_odd = read
    array.validate(full=True)
    return array.to_pylist(), is_odd.nonzero()[0].tolist()


def test_it_takes_members_in_any_order_and_passes_over_strays() -> None:
    whole = {"at": 1700000000000, "ticker": "AMZN", "price": 135.02, "open": True}
    found, odd = rows(
        GOOD,
        b'{"open":false,"price":-2e3,"volume":1e99,"x":"y","z":null,"ticker":"","at":-7}',
        b'\n{\t"ticker" : "\xc3\xa9" , "at" : null }\r',
        None,
        b"{}",
    )
    assert odd == []
    nothing = dict.fromkeys(whole)
    assert found == [
        whole,
        {"at": -7, "ticker": "", "price": -2000.0, "open": False},
        nothing | {"ticker": "é"},
        None,
        nothing,
    ]


@pytest.mark.parametrize(
    "odd",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"{}{}",
        b"{,}",
        b'{"at":1,}',
        b'{"at" 1}',
        b'{"at":1 "price":2}',
        b'{"at":1.0}',
        b'{"at":01}',
        b'{"at":-}',
        b'{"at":"1"}',
        b'{"at":1,"at":1}',
        b'{"at":1234567890123456789}',
        b'{"price":1.}',
        b'{"price":.5}',
        b'{"price":1e}',
        b'{"price":NaN}',
        b'{"price":-0}',
        b'{"price":9007199254740993}',
        b'{"price":1e23}',
        b'{"ticker":5}',
        b'{"ticker":"a\\u0062"}',
        b'{"ticker":"a\nb"}',
        b'{"ticker":"a',
        b'{"open":truth}',
        b'{"open":1}',
        b'{"x":[1]}',
        b'{"x":{}}',
        b'{"x":01}',
    ],
)
def test_what_is_not_plain_is_left_to_others_alone(odd: bytes) -> None:
    found, places = rows(GOOD, odd, GOOD)
    assert places == [1]
    assert found[1] is None
    assert found[0] == found[2] != None  # noqa: E711


def test_a_part_of_an_array_has_its_own_values() -> None:
    values = pa.array([b"x", None, GOOD, b"y"], pa.binary())[1:3]
    read = decoder().read(values)
    assert read is not None
    assert [each is None for each in read[0].to_pylist()] == [True, False]


@pytest.mark.parametrize(("kind", "most"), [(pa.int8(), 127), (pa.int32(), 2**31 - 1)])
def test_a_number_too_large_for_its_column_is_odd(kind: pa.DataType, most: int) -> None:
    texts = [f'{{"n":{number}}}'.encode() for number in (most, -most - 1, most + 1, -most - 2)]
    read = decoder(pa.struct([("n", kind)])).read(pa.array(texts, pa.binary()))
    assert read is not None
    assert [each and each["n"] for each in read[0].to_pylist()] == [most, -most - 1, None, None]


def test_columns_that_are_not_scalars_and_values_that_are_not_utf8_are_not_for_it() -> None:
    for kind in (pa.list_(pa.int64()), pa.float32(), pa.decimal128(5, 2), pa.struct([])):
        assert plain_decoder(pa.struct([("n", pa.int64()), ("x", kind)]), walk_objects) is None
    assert plain_decoder(pa.struct([]), walk_objects) is None
    assert decoder().read(pa.array([GOOD, b'{"ticker":"\xff"}'], pa.binary())) is None


def test_it_is_used_only_where_the_loop_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    found = plain_decoder(TICK)
    assert found is not None
    values = pa.array([GOOD], pa.binary())
    monkeypatch.setattr(compiled, "loaded", lambda: None)
    assert found.read(values) is None
    monkeypatch.setattr(compiled, "loaded", lambda: walk_objects)
    assert found.read(values) is not None


def test_where_what_is_compiled_can_be_kept_nowhere_others_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> int:
        raise OSError("no place for it")

    monkeypatch.setattr(compiled, "loaded", lambda: walk_objects)
    monkeypatch.setattr(json_plain, "_tried", [])
    monkeypatch.setattr(json_loop, "walk_objects", fail)
    found = plain_decoder(TICK)
    assert found is not None
    assert found.read(pa.array([GOOD], pa.binary())) is None
