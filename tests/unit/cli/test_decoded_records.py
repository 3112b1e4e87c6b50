"""What `topic consume` prints of decoded records, and how it takes a registry that is away."""

import json
from collections.abc import Sequence
from typing import Any

from kafkaesque.cli.topic.decoding import Decoding
from kafkaesque.cli.topic.record_format import parse_format
from kafkaesque.cli.topic.record_print import format_printer, json_printer
from kafkaesque.client.decoder import Decoder
from kafkaesque.client.record import Record
from kafkaesque.client.registry import RegistryAwayError, Schema
from kafkaesque.client.schemas import frame

TICK = Schema('{"type": "record", "name": "Tick", "fields": [{"name": "price", "type": "int"}]}')
KEY, VALUE = frame(1, b"\x06abc"), frame(2, b"\x0a")


class Registry:
    is_away = False

    def schema(self, id: int, *, subject: str | None = None, format: str | None = None) -> Schema:  # noqa: A002
        if self.is_away:
            raise RegistryAwayError("http://nowhere", "refused")
        return Schema('"string"') if id == 1 else TICK


def made(moments: Sequence[float] = ()) -> tuple[Decoding, Any, list[str]]:
    """`moments` are what the clock says, one after the other."""
    registry: Any = Registry()
    told: list[str] = []
    clock = iter(moments)
    return Decoding(Decoder(registry), told.append, lambda: next(clock)), registry, told


def printed(form: str, record: Record) -> bytes:
    return format_printer(parse_format(form))(record)


def test_json_has_what_they_say_and_by_which_schema() -> None:
    decoding, _, _ = made()
    shown = decoding.decoded(Record("t", KEY, VALUE, (), 0, 1, 1000))
    found = json.loads(json_printer(with_topic=False)(shown))
    assert (found["key"], found["message"]) == ("abc", {"price": 5})
    assert (found["key_schema_id"], found["value_schema_id"]) == (1, 2)
    plain = json.loads(json_printer(with_topic=False)(decoding.decoded(Record("t", None, b"{}"))))
    assert (plain["message"], "value_schema_id" in plain) == ("{}", False)


def test_a_format_has_json_and_texts_without_quotes() -> None:
    decoding, _, _ = made()
    shown = decoding.decoded(Record("t", KEY, VALUE))
    assert printed("%k=%v %V", shown) == b'abc={"price":5} 11'
    assert printed("%v{hex}", shown) == VALUE.hex().encode()


def test_a_registry_that_is_away_is_told_once_and_asked_again_later() -> None:
    decoding, registry, told = made([100.0, 100.1, 100.2, 104.9, 105.1])
    registry.is_away = True
    record = Record("t", None, VALUE)
    assert [decoding.decoded(record) for _ in range(3)] == [record] * 3
    assert len(told) == 1
    assert "http://nowhere" in told[0]
    registry.is_away = False
    assert decoding.decoded(record) == record, "it was asked a moment ago"
    assert printed("%v", decoding.decoded(record)) == b'{"price":5}'
    assert len(told) == 2
