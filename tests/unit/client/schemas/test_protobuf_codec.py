"""Protobuf payloads: dicts and messages, by the file that a registry has."""

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from tests.proto_files import serialized

from kafkaesque.client.registry import Reference, Schema
from kafkaesque.client.schemas.codec import codec
from kafkaesque.client.schemas.framing import read_indexes

PLACE = """
syntax = "proto3";
package world;
message Place { string city = 1; enum Kind { UNKNOWN = 0; TOWN = 1; } Kind kind = 2; }
"""
MAIN = """
syntax = "proto3";
package world;
import "world/place.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/wrappers.proto";
message Trip {
  message Stop { int64 n = 1; }
  string name = 1;
  optional int32 seats = 2;
  Stop first = 3;
  repeated Stop stops = 4;
  map<string, Place> places = 5;
  google.protobuf.Timestamp at = 6;
  google.protobuf.Struct more = 7;
  google.protobuf.Int64Value maybe = 8;
  oneof who { string person = 9; Place town = 10; }
  bytes raw = 11;
  repeated Place.Kind kinds = 12;
  double price = 13;
  map<int32, string> names = 14;
  google.protobuf.Duration takes = 15;
}
message Other { Trip trip = 1; message Deep { message Deeper { bool yes = 1; } } }
"""
VALUE = {
    "name": "ü",
    "seats": 0,
    "first": {"n": 2**62},
    "stops": [{"n": 1}, {"n": 0}],
    "places": {"x": {"city": "Basel", "kind": "TOWN"}},
    "at": datetime(2026, 11, 15, 1, 2, 3, 4, tzinfo=UTC),
    "more": {"a": [1.0, None, "x"]},
    "maybe": 5,
    "town": {"city": "Bern", "kind": "UNKNOWN"},
    "raw": b"\xff",
    "kinds": ["TOWN", "UNKNOWN"],
    "price": 1.5,
    "names": {3: "three"},
    "takes": timedelta(seconds=1.5),
}


def nothing(reference: Reference, format: str | None = None) -> Schema:  # noqa: A002
    raise AssertionError(reference)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    directory: Path = tmp_path_factory.mktemp("protobuf")
    files = serialized(directory, {"world/place.proto": PLACE, "world/trip.proto": MAIN})

    def resolve(reference: Reference, format: str | None = None) -> Schema:  # noqa: A002
        assert format == "serialized"
        return Schema(files[reference.name], "PROTOBUF")

    references = (Reference("world/place.proto", "place", 1),)
    return codec(Schema(files["world/trip.proto"], "PROTOBUF", references), resolve)


def test_a_dict_comes_back(made: Any) -> None:
    payload = made.encode(VALUE)
    assert payload[0] == 0
    assert made.decode(payload) == VALUE


def test_what_is_not_set_is_not_there_unless_it_has_a_default(made: Any) -> None:
    empty = {"name": "", "stops": [], "places": {}, "raw": b"", "kinds": [], "price": 0.0}
    assert made.decode(made.encode({})) == {**empty, "names": {}}
    assert made.encode({"seats": None, "first": None}) == made.encode({})
    assert made.decode(made.encode({"first": {}}))["first"] == {"n": 0}


def test_json_has_numbers_for_numbers_and_the_files_own_names(made: Any) -> None:
    told = made.to_json(made.encode({**VALUE, "price": float("inf")}))
    assert told["first"] == {"n": 2**62}
    assert told["price"] is None
    assert told["names"] == {"3": "three"}
    assert told["takes"] == "1.5s"
    assert told["at"] == "2026-11-15T01:02:03.000004Z"
    assert told["raw"] == "/w=="
    assert told["places"] == {"x": {"city": "Basel", "kind": "TOWN"}}


def test_messages_of_a_file_are_found_by_their_indexes(made: Any) -> None:
    inner = made.message(made.encode({}))
    kind = made._kinds["world.Other.Deep.Deeper"].kind
    payload = made.encode(kind(yes=True))
    assert read_indexes(payload)[0] == [1, 0, 0]
    assert made.decode(payload) == {"yes": True}
    assert inner.DESCRIPTOR.full_name == "world.Trip"
    with pytest.raises(ValueError, match=r"no message at \[7\]"):
        made.decode(b"\2\x0e")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"name": 3}, "field name takes string, not int"),
        ({"nome": "x"}, "world.Trip has no field 'nome'"),
        ({"first": 3}, "field first takes world.Trip.Stop, not int"),
        ({"first": {"n": "secret"}}, "field first.n takes int64, not str"),
        ({"stops": [{}, {"n": True}]}, "field stops[1].n takes int64, not bool"),
        ({"seats": 2**40}, "field seats takes int32, not int"),
        ({"places": {"x": {"kind": "secret"}}}, "field places['x'].kind takes world.Place.Kind"),
        ({"at": 3}, "field at takes google.protobuf.Timestamp, not int"),
        ({"kinds": "TOWN"}, "field kinds takes world.Place.Kind, not str"),
        (3, "the message takes world.Trip, not int"),
    ],
)
def test_what_does_not_fit_names_the_field_and_not_the_value(
    made: Any, value: Any, words: str
) -> None:
    with pytest.raises(TypeError) as raised:
        made.encode(value)
    assert words in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("text", ["syntax = proto3", "", "////"])
def test_what_is_no_serialized_file(text: str) -> None:
    if text:
        with pytest.raises(ValueError, match="no serialized Protobuf schema"):
            codec(Schema(text, "PROTOBUF"), nothing)
    else:
        with pytest.raises(TypeError, match="has no message"):
            codec(Schema(text, "PROTOBUF"), nothing).encode({})


def test_an_import_that_nobody_refers_to_is_named(tmp_path: Path) -> None:
    files = serialized(tmp_path, {"world/place.proto": PLACE, "world/trip.proto": MAIN})

    with pytest.raises(ValueError, match=r"imports world/place\.proto"):
        codec(Schema(files["world/trip.proto"], "PROTOBUF"), nothing)


def test_what_everybody_has_needs_no_reference() -> None:
    fields = {
        "day": ".google.type.Date",
        "at": ".google.type.DateTime",
        "amount": ".confluent.type.Decimal",
        "due": ".google.type.Interval",
    }
    imports = ("google/type/date", "google/type/datetime", "google/type/interval")
    more = ("confluent/types/decimal", "confluent/meta", "google/type/dayofweek")
    file = FileDescriptorProto(name="bill.proto", syntax="proto3")
    file.dependency.extend(f"{name}.proto" for name in (*imports, *more))
    message = file.message_type.add(name="Bill")
    for number, (name, kind) in enumerate(fields.items(), 1):
        message.field.add(name=name, number=number, label=1, type=11, type_name=kind)
    message.field.add(
        name="weekday", number=9, label=1, type=14, type_name=".google.type.DayOfWeek"
    )
    made = codec(Schema(b64encode(file.SerializeToString()).decode(), "PROTOBUF"), nothing)
    value = {
        "day": {"year": 2026, "month": 11, "day": 15},
        "amount": {"value": b"\1\2", "precision": 4, "scale": 2},
        "due": {"start_time": datetime(2026, 1, 2, tzinfo=UTC)},
        "weekday": "SUNDAY",
    }
    assert made.decode(made.encode(value)) == value
