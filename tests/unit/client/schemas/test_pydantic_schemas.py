"""Avro and JSON Schemas of Pydantic models: both libraries take them, and what they describe."""

import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, Generic, Literal, TypeVar
from uuid import UUID

import fastavro
import jsonschema  # type: ignore[import-untyped]
import pytest
from pydantic import BaseModel, Field, RootModel

from kafkaesque.client.schemas.avro import AvroCodec
from kafkaesque.client.schemas.avro_parsing import with_native_defaults
from kafkaesque.client.schemas.models import avro_model, avro_schema, json_schema

T = TypeVar("T")
Money = Annotated[Decimal, Field(max_digits=10, decimal_places=2)]


class Side(Enum):
    BUY = "buy"
    SELL = "sell"


class Odd(StrEnum):
    DASH = "a-b"


class Level(IntEnum):
    LOW = 1


class Leg(BaseModel):
    """One part
    of a trade."""

    quantity: int
    next: "Leg | None" = None


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    n: int


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    n: int


class Tags(RootModel[list[str]]):
    pass


class Box(BaseModel, Generic[T]):
    inside: T


class Trade(BaseModel):
    symbol: str = Field(description="as the exchange calls it", alias="sym")
    price: float
    volume: int = 3
    is_open: bool = True
    raw: bytes = b"ab"
    at: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    day: date = date(2026, 1, 1)
    when: time = time(1, 2, 3)
    id: UUID = UUID(int=5)
    exact: Money
    loose: Decimal = Decimal("1.5")
    amounts: list[Money] = []
    side: Side = Side.BUY
    odd: Odd = Odd.DASH
    level: Level = Level.LOW
    choice: Literal["x", "y"] = "x"
    text_choice: Literal["x-", "y"] = "y"
    number_choice: Literal[1, 2] = 1
    maybe: int | None
    named: str | None = "five"
    other_side: Side | None = Side.SELL
    legs: list[Leg] = Field(default_factory=list)
    leg: Leg | None = None
    by_name: dict[str, Leg] = {}
    numbers: set[int] = {1}
    floats: tuple[float, ...] = (1.0,)
    pet: Cat | Dog | None = None
    mixed: int | str | list[int] = 5
    tags: Tags = Tags([])
    box: Box[int] = Box[int](inside=1)


TRADE = Trade(
    sym="A",
    price=1,
    exact=Decimal("1.25"),
    maybe=None,
    legs=[Leg(quantity=1, next=Leg(quantity=2))],
    pet=Dog(n=3),
    by_name={"z": Leg(quantity=5)},
    mixed="text",
    amounts=[Decimal("1.50")],
    tags=Tags(["q"]),
)


def model(annotation: Any, **options: Any) -> Any:
    """A model with one field."""
    body = {"__annotations__": {"field": annotation}, "__module__": __name__}
    if options:
        body["field"] = Field(**options)
    return type("Made", (BaseModel,), body)


def field(annotation: Any, **options: Any) -> dict[str, Any]:
    (found,) = avro_schema(model(annotation, **options))["fields"]
    return {name: part for name, part in found.items() if name != "name"}


def test_every_kind_of_field_comes_back() -> None:
    derived = avro_model(Trade)
    codec = AvroCodec(fastavro.parse_schema(json.loads(json.dumps(derived.schema))))
    assert Trade.model_validate(codec.decode(codec.encode(derived.dump(TRADE)))) == TRADE


def test_a_field_with_a_default_may_be_missing_in_what_was_written() -> None:
    written = {"type": "record", "name": "Trade", "fields": [{"name": "sym", "type": "string"}]}
    left_out = ("price", "exact")
    reader = avro_schema(Trade)
    reader["fields"] = [each for each in reader["fields"] if each["name"] not in left_out]
    old = AvroCodec(fastavro.parse_schema(written))
    resolved = with_native_defaults(fastavro.parse_schema(reader))
    new = AvroCodec(fastavro.parse_schema(written), resolved)
    read = new.decode(old.encode({"sym": "A"}))
    assert read["at"] == datetime(2026, 1, 1, tzinfo=UTC)
    assert (read["raw"], read["id"]) == (b"ab", UUID(int=5))
    more = {"price": 1.0, "exact": Decimal("1.25")}
    defaults = Trade(sym="A", price=1, exact=Decimal("1.25"), maybe=None)
    assert Trade.model_validate({**read, **more}) == defaults


@pytest.mark.parametrize(
    ("annotation", "options", "expected"),
    [
        (int, {}, {"type": "long"}),
        (float, {"default": 1.5}, {"type": "double", "default": 1.5}),
        (str, {"description": "why"}, {"type": "string", "doc": "why"}),
        (int | None, {}, {"type": ["null", "long"], "default": None}),
        (int | None, {"default": 5}, {"type": ["long", "null"], "default": 5}),
        (datetime, {}, {"type": {"type": "long", "logicalType": "timestamp-micros"}}),
        (Decimal, {}, {"type": "string"}),
        (
            Decimal,
            {"max_digits": 4, "decimal_places": 1},
            {"type": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 1}},
        ),
        (
            list[int],
            {"default_factory": list},
            {"type": {"type": "array", "items": "long"}, "default": []},
        ),
        (dict[str, bool], {}, {"type": {"type": "map", "values": "boolean"}}),
        (Literal["a"], {}, {"type": {"type": "enum", "name": "Made_field", "symbols": ["a"]}}),
        (
            UUID,
            {"default_factory": lambda: UUID(int=1)},
            {"type": {"type": "string", "logicalType": "uuid"}},
        ),
        (bytes, {"default": b"\xff"}, {"type": "bytes", "default": "\xff"}),
    ],
)
def test_the_type_of_a_field(annotation: Any, options: Any, expected: Any) -> None:
    assert field(annotation, **options) == expected


def test_a_model_is_described_once_and_then_named() -> None:
    found = avro_schema(Leg)
    assert found["doc"] == "One part of a trade."
    assert found["fields"][1]["type"] == ["null", "Leg"]


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (Any, "Made.field: there is no type for Any"),
        (object, "Made.field: there is no type for object"),
        (timedelta, "Made.field: there is no type for timedelta"),
        (dict[int, str], "Made.field: there is no type for a dict whose keys are not str"),
        (list, "a list or tuple that does not say what is in it"),
        (tuple[int, str], "a list or tuple that does not say what is in it"),
        (list[int] | list[str], "this one has array twice"),
        (int | datetime, "this one has long twice"),
        (Literal["a", 1], "neither all text nor all int"),
    ],
)
def test_what_cannot_be_derived_names_model_and_field(annotation: Any, words: str) -> None:
    with pytest.raises(TypeError) as raised:
        avro_schema(model(annotation))
    assert str(raised.value).startswith("no Avro schema can be derived of Made.field: ")
    assert words in str(raised.value)


def test_an_alias_that_avro_cannot_say() -> None:
    with pytest.raises(TypeError, match=r"Made\.field: Avro has no names like 'a-b'"):
        avro_schema(model(int, alias="a-b"))


def test_two_models_of_one_name() -> None:
    other = type("Leg", (BaseModel,), {"__annotations__": {"n": int}, "__module__": __name__})
    with pytest.raises(TypeError, match="two types are called Leg"):
        avro_schema(model(Leg | other))


class Order(BaseModel):
    price: float = Field(gt=0)
    legs: list[Leg] = []


def test_the_json_schema_is_closed_and_describes_what_is_written() -> None:
    schema = json_schema(Order)
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    check.validate(Order(price=1, legs=[Leg(quantity=1)]).model_dump(mode="json"))
    for bad in ({"price": 0}, {"price": 1, "other": 1}, {"price": 1, "legs": [{"q": 1}]}):
        assert not check.is_valid(bad)
    assert check.is_valid({"price": 1})


class Strange(BaseModel, arbitrary_types_allowed=True):
    codec: AvroCodec


def test_no_json_schema_of_what_json_has_no_word_for() -> None:
    with pytest.raises(TypeError, match="no JSON Schema can be derived of Strange"):
        json_schema(Strange)
