"""Forms of keys and values, by name and by class."""

import pytest

from kafkaesque.client.event_reading import batch_reader
from kafkaesque.client.serde import DecodeEventError, Serde, encode, serde
from kafkaesque.event import Event


class Model:
    """What a Pydantic model offers, without Pydantic."""

    def __init__(self, number: int) -> None:
        self.number = number

    @classmethod
    def model_validate(cls, value: object) -> "Model":
        assert isinstance(value, int)
        return cls(value)

    @classmethod
    def model_validate_json(cls, data: bytes) -> "Model":
        return cls(int(data))

    def model_dump_json(self) -> str:
        return str(self.number)


class Message:
    """What librdkafka hands out."""

    def __init__(self, key: bytes | None, value: bytes | None, error: str | None = None) -> None:
        self.fields: dict[str, object] = {
            "key": key,
            "value": value,
            "error": error,
            "headers": None,
        }
        self.fields |= {"topic": "t", "partition": 1, "offset": 7, "timestamp": (2, 99)}

    def __getattr__(self, name: str) -> object:
        return lambda: self.fields[name]


def test_forms_by_name() -> None:
    assert encode(serde("json"), {"a": [1, None]}, "value") == b'{"a":[1,null]}'
    assert encode(serde("str"), "ü", "key") == "ü".encode()
    assert encode(serde("bytes"), bytearray(b"\xff"), "key") == b"\xff"
    assert serde("json").decode(b'{"a":1}') == {"a": 1}


@pytest.mark.parametrize("form", ["json", "str", "bytes", Model])
def test_null_is_none_in_every_form(form: str | type) -> None:
    assert encode(serde(form), None, "value") is None
    reads = batch_reader(serde(form), serde(form))
    (event,) = reads([Message(None, None)])
    assert (event.key, event.value) == (None, None)


def test_a_model_is_told_by_its_methods() -> None:
    form = serde(Model)
    assert form.name == "Model"
    assert form.encode(Model(3)) == form.encode(3) == b"3"
    assert form.decode(b"4").number == 4


@pytest.mark.parametrize(
    ("form", "value"), [("str", 1), ("bytes", "text"), ("json", object()), ("json", {1: 2})]
)
def test_a_value_that_its_form_cannot_write_is_a_type_error(form: str, value: object) -> None:
    with pytest.raises(TypeError, match=f"a value of type {type(value).__name__} is not {form}"):
        encode(serde(form), value, "value")


def test_what_is_no_form_is_said_so() -> None:
    with pytest.raises(ValueError, match="'yaml': use json, str, bytes"):
        serde("yaml")
    with pytest.raises(TypeError, match="Pydantic"):
        serde(int)


def test_a_message_becomes_an_event() -> None:
    (event,) = batch_reader(serde("str"), serde("json"))([Message(b"k", b"[1]")])
    assert event == Event("t", 1, 7, 99, "k", [1], [], "append")
    assert type(event) is Event


def test_what_does_not_decode_is_an_error_in_its_place() -> None:
    number = Serde(lambda n: str(n).encode(), int, "number")
    failing = Message(None, None, error="no")
    messages = [Message(b"k", b"x"), failing, Message(b"\xff", b"1"), Message(b"k", b"2")]
    bad_value, error, bad_key, good = batch_reader(serde("str"), number)(messages)
    assert isinstance(bad_value, DecodeEventError)
    assert (bad_value.part, bad_value.event.key, bad_value.event.value) == ("value", b"k", b"x")
    assert "the value of offset 7 of t-1 is not number" in str(bad_value)
    assert isinstance(bad_value.__cause__, ValueError)
    assert error is failing
    assert (bad_key.part, bad_key.event.key, bad_key.event.value) == ("key", b"\xff", b"1")
    assert good.value == 2
