"""What programs say about schemas: slips are told at once, and nobody is asked for them."""

from pathlib import Path
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from pydantic import BaseModel

from kafkaesque.client.registry import RegistryClient, Schema
from kafkaesque.client.registry.errors import RegistryAwayError
from kafkaesque.client.schema_forms.forms import forms
from kafkaesque.client.schema_forms.given import Given, given
from kafkaesque.client.schema_forms.options import SchemaOptions
from kafkaesque.client.serde import serde

NOWHERE = "http://127.0.0.1:1"


class Tick(BaseModel):
    price: float


@pytest.mark.parametrize("form", ["json", "str", "bytes", Tick])
def test_plain_forms_are_what_they_were(form: Any) -> None:
    key, value = forms("str", form, SchemaOptions())
    assert key is serde("str")
    assert value.for_topic is None
    assert value.decode_event is None
    if isinstance(form, str):
        assert value is serde(form)


def test_json_with_a_schema_is_a_registrys(tmp_path: Path) -> None:
    _, value = forms("str", "json", SchemaOptions(schema='{"type": "object"}'))
    assert value.for_topic is not None
    assert value.decode_event is not None


def test_what_a_schema_may_be(tmp_path: Path) -> None:
    path = tmp_path / "tick.avsc"
    path.write_text('"long"')
    text = Schema('"long"')
    assert given(None, "AVRO", "value").is_nothing
    assert given('"long"', "AVRO", "value") == Given(schema=text)
    assert given(path, "AVRO", "value") == Given(schema=text)
    assert given(text, "AVRO", "value") == Given(schema=text)
    assert given({"type": "long"}, "AVRO", "value").schema == Schema('{"type": "long"}')
    assert given(["null", "long"], "AVRO", "value").schema == Schema('["null", "long"]')
    assert given(7, "AVRO", "value") == Given(id=7)
    assert given(Tick, "JSON", "value") == Given(model=Tick)
    assert given(Timestamp, "PROTOBUF", "value") == Given(message=Timestamp)


@pytest.mark.parametrize(
    ("schema", "kind", "words"),
    [
        (3.5, "AVRO", "schema= is of type float"),
        (True, "AVRO", "schema= is of type bool"),
        (int, "AVRO", "schema=int is neither a Pydantic model nor"),
        (Schema("{}", "JSON"), "AVRO", "schema= is of type JSON, and value= asks for AVRO"),
        (Tick, "PROTOBUF", "no Protobuf schema can be derived of Tick"),
        (Timestamp, "AVRO", "Timestamp is a Protobuf class"),
    ],
)
def test_what_no_schema_is(schema: Any, kind: Any, words: str) -> None:
    with pytest.raises(TypeError) as raised:
        given(schema, kind, "value")
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("key", "value", "options", "words"),
    [
        ("str", "json", {"key_schema": '"long"'}, "key_schema= is for key="),
        ("str", "str", {"schema": '"long"'}, "schema= is for value="),
        ("str", Tick, {"schema": Tick}, "schema= is for value="),
        ("avro", "avro", {"subject": "{topic}"}, "put {part} into it"),
        ("str", "avro", {"subject": "{nothing}"}, "only {topic}, {part} and {record}"),
    ],
)
def test_words_that_make_no_sense(key: Any, value: Any, options: Any, words: str) -> None:
    with pytest.raises(TypeError) as raised:
        forms(key, value, SchemaOptions(**options))
    assert words in str(raised.value)


def test_a_writer_without_a_schema_says_what_to_give() -> None:
    _, value = forms("str", "avro", SchemaOptions())
    assert value.for_topic is not None
    with pytest.raises(TypeError, match="give schema=, or use_latest=True"):
        value.for_topic("ticks")


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (None, "ticks-value"),
        ("prices", "prices"),
        ("{record}-{topic}", "org.Tick-ticks"),
        (lambda topic, part, record: f"{part}/{topic}/{record}", "value/ticks/org.Tick"),
    ],
)
def test_subjects(subject: Any, expected: str) -> None:
    options = SchemaOptions(subject=subject)
    assert options.subject_of("ticks", "value", "org.Tick") == expected


def test_a_registry_that_is_away_says_nothing_about_the_event() -> None:
    _, value = forms("str", "avro", SchemaOptions(registry=NOWHERE))
    with pytest.raises(RegistryAwayError, match="start one with `kafkaesque registry`"):
        value.decode(b"\0\0\0\0\1x")
    assert value.prepare is not None
    with pytest.raises(RegistryAwayError):
        value.prepare(b"\0\0\0\0\1x", [])
    value.prepare(b"junk", [])


def test_a_generated_class_reads_without_a_registry() -> None:
    _, value = forms("str", "protobuf", SchemaOptions(schema=Timestamp, registry=NOWHERE))
    assert value.decode(b"\0\0\0\0\1\0\x08\x05") == Timestamp(seconds=5)


def test_a_model_reads_json_without_a_registry() -> None:
    _, value = forms("str", "json", SchemaOptions(schema=Tick, registry=NOWHERE))
    assert value.decode(b'\0\0\0\0\1{"price": 3}') == Tick(price=3)


def test_an_address_that_is_none() -> None:
    with pytest.raises(ValueError, match="write http://HOST:PORT"):
        RegistryClient("127.0.0.1:8081")
