"""What was encoded comes back: over generated Avro schemas and values, and over models."""

import json
import types
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import count
from typing import Any
from uuid import UUID

import fastavro
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, create_model

from kafkaesque.client.registry import Reference, Schema
from kafkaesque.client.schemas.avro import AvroCodec
from kafkaesque.client.schemas.codec import codec
from kafkaesque.client.schemas.framing import frame, unframe
from kafkaesque.client.schemas.models import avro_model, json_schema
from kafkaesque.client.schemas.plain import plain

# One name for one type.
_NUMBERS = count()

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
FLOATS = st.floats(allow_nan=False)
MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))
DATES = st.dates(date(1900, 1, 1), date(2200, 1, 1))

AVRO: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "long": ("long", st.integers(-(2**63), 2**63 - 1)),
    "int": ("int", st.integers(-(2**31), 2**31 - 1)),
    "double": ("double", FLOATS),
    "string": ("string", TEXT),
    "bytes": ("bytes", st.binary(max_size=8)),
    "boolean": ("boolean", st.booleans()),
    "moment": ({"type": "long", "logicalType": "timestamp-micros"}, MOMENTS),
    "date": ({"type": "int", "logicalType": "date"}, DATES),
    "time": ({"type": "long", "logicalType": "time-micros"}, st.times()),
    "uuid": ({"type": "string", "logicalType": "uuid"}, st.uuids()),
}


@st.composite
def avro_values(draw: Any, depth: int = 2) -> tuple[Any, Any]:
    """A schema, and a value that it describes."""
    shape = draw(
        st.sampled_from(["plain", "list", "map", "maybe", "record"] if depth else ["plain"])
    )
    if shape == "plain":
        schema, values = AVRO[draw(st.sampled_from(sorted(AVRO)))]
        return schema, draw(values)
    if shape == "record":
        fields = draw(st.lists(avro_values(depth - 1), min_size=1, max_size=4))
        name = f"R{next(_NUMBERS)}"
        described = [{"name": f"f{n}", "type": kind} for n, (kind, _) in enumerate(fields)]
        value = {f"f{n}": part for n, (_, part) in enumerate(fields)}
        return {"type": "record", "name": name, "fields": described}, value
    schema, value = draw(avro_values(depth - 1))
    if shape == "list":
        return {"type": "array", "items": schema}, [value] * draw(st.integers(0, 2))
    if shape == "map":
        return {"type": "map", "values": schema}, dict.fromkeys(draw(st.lists(TEXT)), value)
    if isinstance(schema, list):
        return schema, value
    return ["null", schema], draw(st.sampled_from([None, value]))


def nothing(reference: Reference, format: str | None = None) -> Schema:  # noqa: A002
    raise AssertionError(reference)


@given(avro_values(), st.integers(0, 2**32 - 1))
def test_avro_comes_back_and_its_json_is_json(pair: tuple[Any, Any], schema_id: int) -> None:
    schema, value = pair
    made = codec(Schema(json.dumps(schema)), nothing)
    found, payload = unframe(frame(schema_id, made.encode(value)))
    assert found == schema_id
    assert made.decode(payload) == value
    told = made.to_json(payload)
    assert told == plain(value)
    assert json.loads(json.dumps(told, allow_nan=False)) == told


MODELS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "int": (int, st.integers(-(2**63), 2**63 - 1)),
    "float": (float, st.floats(allow_nan=False, allow_infinity=False)),
    "str": (str, TEXT),
    "bool": (bool, st.booleans()),
    "datetime": (datetime, MOMENTS),
    "date": (date, DATES),
    "time": (time, st.times()),
    "uuid": (UUID, st.uuids()),
    "decimal": (Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
}


@st.composite
def instances(draw: Any, depth: int = 1) -> BaseModel:
    fields: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for n in range(draw(st.integers(1, 4))):
        kind, strategy = MODELS[draw(st.sampled_from(sorted(MODELS)))]
        value = draw(strategy)
        if depth and draw(st.booleans()):
            value = draw(instances(depth - 1))
            kind = type(value)
        match draw(st.sampled_from(["as it is", "list", "dict", "maybe"])):
            case "list":
                kind, value = types.GenericAlias(list, (kind,)), [value]
            case "dict":
                kind, value = types.GenericAlias(dict, (str, kind)), {draw(TEXT): value}
            case "maybe":
                kind, value = kind | None, draw(st.sampled_from([value, None]))
        fields[f"f{n}"], values[f"f{n}"] = (kind, ...), value
    made: BaseModel = create_model(f"M{next(_NUMBERS)}", **fields)(**values)
    return made


@given(instances())
def test_a_model_comes_back_as_avro(instance: BaseModel) -> None:
    derived = avro_model(type(instance))
    made = AvroCodec(fastavro.parse_schema(json.loads(json.dumps(derived.schema))))
    read = made.decode(made.encode(derived.dump(instance)))
    assert type(instance).model_validate(read) == instance


@given(instances())
def test_a_model_comes_back_as_json(instance: BaseModel) -> None:
    made = codec(Schema(json.dumps(json_schema(type(instance))), "JSON"), nothing)
    payload = made.encode(instance.model_dump(mode="json", by_alias=True))
    assert type(instance).model_validate_json(payload) == instance
