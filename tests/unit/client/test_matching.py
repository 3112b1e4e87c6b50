"""Which records match: by columns the same as one by one, whatever the values are."""

import io
import json
from collections.abc import Sequence
from typing import Any

import fastavro
import pytest

from kafkaesque.client.decoder import Decoder
from kafkaesque.client.fetched import Fetched, whole_batches
from kafkaesque.client.filters import parse
from kafkaesque.client.matching import Matcher
from kafkaesque.client.registry import RegistryError, Schema
from kafkaesque.client.schemas import frame
from kafkaesque.records.batch import new_batch
from kafkaesque.records.record import Record
from kafkaesque.types import TopicPartition

FIELDS = [
    {"name": "ticker", "type": "string"},
    {"name": "price", "type": "double"},
    {"name": "size", "type": ["null", "long"], "default": None},
]
TICK = {"type": "record", "name": "Tick", "fields": FIELDS}
WIDER = {"type": "record", "name": "Tick", "fields": [*FIELDS, {"name": "n", "type": "int"}]}
SCHEMAS = {1: TICK, 2: WIDER}


class Registry:
    def schema(self, id: int, *, subject: str | None = None, format: str | None = None) -> Schema:  # noqa: A002
        if id not in SCHEMAS:
            raise RegistryError("not found", 40403, 404)
        return Schema(json.dumps(SCHEMAS[id]))


def avro(schema_id: int, number: int) -> bytes:
    out = io.BytesIO()
    schema = fastavro.parse_schema(SCHEMAS[schema_id])
    fastavro.schemaless_writer(
        out, schema, {**tick(number), "n": 1} if schema_id == 2 else tick(number)
    )
    return frame(schema_id, out.getvalue())


def plain(number: int) -> bytes:
    return json.dumps(tick(number)).encode()


def tick(number: int) -> dict[str, Any]:
    size = None if number % 3 else number
    return {"ticker": ("AMZN", "GOOG")[number % 2], "price": number / 2, "size": size}


def fetched(values: Sequence[bytes | None]) -> Fetched:
    records = [
        Record(number, 1000 + number, b"k%d" % (number % 5), value, (("h", b"%d" % (number % 4)),))
        for number, value in enumerate(values)
    ]
    data = bytes(new_batch(records))
    place = TopicPartition("ticks", 3)
    return Fetched(place, 0, len(records), data, -1, -1, (), batches=whole_batches(data))


VALUES: dict[str, Sequence[bytes | None]] = {
    "avro": [avro(1, number) for number in range(200)],
    "avro with nulls": [None if number % 7 == 0 else avro(1, number) for number in range(200)],
    "two schemas": [avro(1 + number % 2, number) for number in range(200)],
    "json": [plain(number) for number in range(200)],
    "json and text": [plain(number) if number % 5 else b"text" for number in range(200)],
    "avro and json": [plain(number) if number % 5 else avro(1, number) for number in range(200)],
    "damaged": [avro(1, number)[: 5 + number % 9] for number in range(200)],
    "unknown": [frame(9, b"x") for _ in range(200)],
    "few": [avro(1, number) for number in range(8)],
}
WHERES = [
    "value.price > 50 and value.ticker == 'GOOG'",
    "value.size != null and not value.size < 100",
    "key == 'k3' and header.h == '1'",
    "offset in (3, 77, 150) or value.price <= 1.5",
    "contains(value, 'AMZN') and offset < 20",
    "value.nothing == null and partition == 3",
]


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("where", WHERES)
def test_columns_find_what_one_by_one_finds(kind: str, where: str) -> None:
    registry: Any = Registry()
    decoder = Decoder(registry)

    def learn(values: Any) -> None:
        decoder.learn(decoder.missing(values))

    some = fetched(VALUES[kind])
    by_columns = Matcher(parse(where), decoder, registry, learn)
    one_by_one = Matcher(parse(where), decoder, registry, learn)
    one_by_one._has_columns = False
    count, found = by_columns.matching(some)
    assert (count, list(found)) == one_by_one.matching(some)
    if kind in ("avro", "json") and "contains" not in where:
        assert by_columns.columnar == count
        assert found, "else it proves little"
    if kind == "few":
        assert by_columns.columnar == 0


def test_without_a_decoder_framed_values_have_no_fields() -> None:
    matcher = Matcher(parse("value.price >= 0"))
    assert matcher.matching(fetched(VALUES["avro"])) == (200, [])
    assert len(matcher.matching(fetched(VALUES["json"]))[1]) == 200
