"""JSON objects as columns: what becomes a row, and what is refused and why."""

import orjson
import pyarrow as pa
import pytest

from kafkaesque.client.columns import ColumnsError, json_decoder
from kafkaesque.client.columns.errors import Fault


def binary(*values: bytes | None) -> pa.Array:
    return pa.array(values, pa.binary())


def test_objects_are_rows_and_members_columns() -> None:
    found = json_decoder().decode(binary(b'{"a":1,"b":{"c":[1.5]}}', None, b'{"a":2}'))
    assert found.to_pylist() == [
        {"a": 1, "b": {"c": [1.5]}},
        None,
        {"a": 2, "b": None},
    ]


def test_texts_that_look_like_moments_stay_texts() -> None:
    value = {"at": "2024-01-02T03:04:05Z", "in": [{"on": "2024-01-02"}], "n": 1}
    assert json_decoder().decode(binary(orjson.dumps(value))).to_pylist() == [value]


def test_lines_within_a_value_and_space_around_it_do_no_harm() -> None:
    found = json_decoder().decode(binary(b'{"a":\n 1,\r\n"b":"x"}\n', b' \n{"a":2}'))
    assert found.field("a").to_pylist() == [1, 2]


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b" ",
        b"1",
        b"null",
        b"[{}]",
        b'"{}"',
        b"{",
        b'{"a":1}}',
        b'{"a":1}{"a":2}',
        b'{"a":1}\n{"a":2}',
        b'{"a":1},"b":2',
        b'{"a":1}}\n{"v":{"a":2}',
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'{"a":"\xff"}',
        b'{"a":"\x00"}',
        b'{"a":1,}',
        b"\xef\xbb\xbf{}",
        b'{"a":"\n"}',
        b'{"a":',
    ],
)
def test_what_is_no_object_is_refused_and_harms_no_other_row(value: bytes) -> None:
    decoder = json_decoder()
    decoded = decoder.read(binary(b'{"a":1}', value, b'{"a":2}', None))
    assert decoded.refused.tolist() == [False, True, False, False]
    assert decoded.array.to_pylist() == [{"a": 1}, None, {"a": 2}, None]
    assert decoded.reason(1) == "the value is no JSON object"
    with pytest.raises(ColumnsError, match="row 1: the value is no JSON object"):
        decoder.decode(binary(b'{"a":1}', value))
    assert decoder.decode(binary(value), "null").to_pylist() == [None]


def test_halves_of_an_object_in_two_values_are_refused() -> None:
    decoded = json_decoder().read(binary(b'{"a":', b"1}", b'{"a":1}{"a":2}', b'{"a":3}'))
    assert decoded.refused.tolist() == [True, True, True, False]
    assert decoded.array[3].as_py() == {"a": 3}


def test_a_row_that_contradicts_those_before_is_refused() -> None:
    values = [b'{"a":1}', b'{"a":2}', b'{"a":"x"}', b'{"a":4}']
    decoded = json_decoder().read(binary(*values))
    assert decoded.array.to_pylist() == [{"a": 1}, {"a": 2}, None, {"a": 4}]
    assert decoded.reason(2) == "the value does not fit the schema of the columns"


def test_an_empty_array_gives_way_to_what_comes_after_it() -> None:
    decoded = json_decoder().read(binary(b'{"a": [], "b": 1}', b'{"a": 2}', b'{"a": [3]}'))
    assert decoded.faults.tolist() == [Fault.JSON_TYPE, 0, Fault.JSON_TYPE]
    assert decoded.array.to_pylist() == [None, {"b": None, "a": 2}, None]


def test_arrays_of_nulls_are_arrays_of_nulls() -> None:
    values = binary(b'{"a": [null, null]}', b'{"b": {"c": [[null, null], [null], []]}}')
    found = json_decoder().decode(values)
    found.validate(full=True)
    assert found.to_pylist() == [
        {"a": [None, None], "b": None},
        {"a": None, "b": {"c": [[None, None], [None], []]}},
    ]


def test_names_that_come_late_are_columns_even_so() -> None:
    values = [b"{}", b'{"a":null,"l":[]}', b'{"z":1}', b'{"z":"x"}', b'{"a":{"at":"2024-01-02"}}']
    decoded = json_decoder().read(binary(*values))
    assert decoded.refused.tolist() == [False, False, False, True, False]
    assert decoded.array.field("z").to_pylist() == [None, None, 1, None, None]
    assert decoded.array[4].as_py()["a"] == {"at": "2024-01-02"}


def test_a_schema_says_which_columns_there_are() -> None:
    decoder = json_decoder(pa.schema([("a", pa.int64()), ("t", pa.timestamp("s"))]))
    found = decoder.decode(binary(b'{"a":1,"t":"2024-01-02 00:00:00"}', b"{}"))
    assert found.type == pa.struct([("a", pa.int64()), ("t", pa.timestamp("s"))])
    assert found.field("a").to_pylist() == [1, None]
    decoded = decoder.read(binary(b'{"a":1,"other":[1,"x"]}', b'{"a":"x"}', b'{"a":3}, "b":4'))
    assert decoded.array.field("a").to_pylist()[0] == 1
    assert decoded.refused.tolist() == [False, True, True]


def test_the_last_of_two_members_of_one_name_counts() -> None:
    assert json_decoder().decode(binary(b'{"a":1,"a":2}')).to_pylist() == [{"a": 2}]


@pytest.mark.parametrize("depth", [100, 100_000])
def test_a_value_nested_too_deep_is_refused(depth: int) -> None:
    deep = b'{"a":' + b"[" * depth + b"]" * depth + b"}"
    decoded = json_decoder().read(binary(deep, b'{"a":[]}'))
    assert decoded.refused.tolist() == [True, False]


def test_many_brackets_are_no_depth() -> None:
    wide = orjson.dumps({"a": [{"b": []}] * 100})
    assert json_decoder().decode(binary(wide)).to_pylist() == [orjson.loads(wide)]


def test_no_values_and_only_nulls() -> None:
    assert json_decoder().decode(binary()).to_pylist() == []
    assert json_decoder().decode(binary(None, None)).to_pylist() == [None, None]
    assert json_decoder().decode(binary(b"{}", None)).to_pylist() == [{}, None]
