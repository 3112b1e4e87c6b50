"""`python -m benchmarks.columns`: records as columns against records one by one, on one core.

Avro by fastavro's schemaless_reader, JSON by orjson, batches by `Fetched.records()`; the same
payloads in the same run, the best of several rounds each, and checked to be the same in the end.
"""

import argparse
import io
import time
from collections.abc import Callable
from random import Random
from typing import Any
from uuid import UUID

import fastavro
import orjson
import pyarrow as pa

from kafkaesque.client.columns import avro_decoder, columns_of, json_decoder
from kafkaesque.client.fetched import Fetched
from kafkaesque.client.filters import Subject, parse
from kafkaesque.client.filters.columnar import Columns, mask
from kafkaesque.records.batch import Codec, Record, batches, new_batch
from kafkaesque.types import TopicPartition

STOCK: dict[str, Any] = {
    "type": "record",
    "name": "StockTick",
    "namespace": "kafkaesque.demo",
    "fields": [
        {"name": "event_time", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "ticker", "type": "string"},
        {"name": "price", "type": "double"},
    ],
}
ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "customer", "type": ["null", "string"]},
        {
            "name": "state",
            "type": {"type": "enum", "name": "S", "symbols": ["NEW", "PAID", "SENT"]},
        },
        {"name": "paid", "type": "boolean"},
        {
            "name": "total",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2},
        },
        {
            "name": "address",
            "type": {
                "type": "record",
                "name": "Address",
                "fields": [
                    {"name": "street", "type": "string"},
                    {"name": "city", "type": "string"},
                    {"name": "lat", "type": "double"},
                    {"name": "lon", "type": "double"},
                ],
            },
        },
        {
            "name": "lines",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Line",
                    "fields": [
                        {"name": "sku", "type": "string"},
                        {"name": "count", "type": "int"},
                        {"name": "price", "type": "float"},
                    ],
                },
            },
        },
        {"name": "tags", "type": {"type": "map", "values": "string"}},
        {"name": "scores", "type": {"type": "array", "items": "long"}},
        {"name": "note", "type": ["null", "string", "long"]},
    ],
}
TICKERS = ("AMZN", "GOOG", "MSFT", "T", "BRK.A", "NVDA")


def tick(n: int, random: Random) -> dict[str, Any]:
    return {
        "event_time": 1_700_000_000_000_000 + n * 37,
        "ticker": random.choice(TICKERS),
        "price": round(random.uniform(1, 1_000), 2),
    }


def order(n: int, random: Random) -> dict[str, Any]:
    line = {"sku": f"sku-{n % 999}", "count": n % 7, "price": 9.5}
    return {
        "id": str(UUID(int=random.getrandbits(128))),
        "at": 1_700_000_000_000 + n,
        "customer": None if n % 5 == 0 else f"customer-{n % 10_000}",
        "state": random.choice(("NEW", "PAID")),
        "paid": n % 2 == 0,
        "total": (n * 31).to_bytes(5, "big"),
        "address": {"street": f"{n} Main Street", "city": "Prague", "lat": 50.1, "lon": 14.4},
        "lines": [line] * random.randrange(1, 5),
        "tags": {"source": "web", "lane": f"{n % 9}"},
        "scores": [n % 100, n, n * n],
        "note": random.choice((None, "leave at the door", n)),
    }


def best(work: Callable[[], Any], rounds: int) -> float:
    """Seconds of the processor that the quickest round took."""
    found = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def report(name: str, count: int, one_by_one: float, columns: float) -> None:
    print(
        f"{name:<28} {count / one_by_one:>12,.0f} records/s one by one"
        f" {count / columns:>14,.0f} as columns   {one_by_one / columns:6.1f} x"
    )


def avro(name: str, schema: Any, make: Callable[[int, Random], Any], count: int) -> list[bytes]:
    random = Random(8)
    payloads = []
    parsed = fastavro.parse_schema(schema, named_schemas={})
    plain = fastavro.parse_schema(_without_logical(schema), named_schemas={})
    for n in range(count):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, plain, make(n, random))
        payloads.append(out.getvalue())
    values = pa.array(payloads, pa.binary())
    decoder = avro_decoder(schema)

    def one_by_one() -> list[Any]:
        read, stream = fastavro.schemaless_reader, io.BytesIO
        return [read(stream(each), parsed, None) for each in payloads]

    assert decoder.decode(values).to_pylist(maps_as_pydicts="lossy") == one_by_one()
    report(name, count, best(one_by_one, 3), best(lambda: decoder.decode(values), 7))
    return payloads


def _without_logical(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_logical(each) for each in schema]
    if isinstance(schema, dict):
        return {key: _without_logical(each) for key, each in schema.items() if key != "logicalType"}
    return schema


def json_values(count: int) -> list[bytes]:
    random = Random(8)
    payloads = [orjson.dumps(tick(n, random)) for n in range(count)]
    values = pa.array(payloads, pa.binary())
    decoder = json_decoder()
    wanted = [orjson.loads(each) for each in payloads]
    assert decoder.decode(values).to_pylist() == wanted
    quick = best(lambda: decoder.decode(values), 5)
    report("JSON ticks", count, best(lambda: [orjson.loads(each) for each in payloads], 3), quick)
    given = json_decoder(pa.schema(list(decoder.decode(values).type)))
    plain = best(lambda: [orjson.loads(each) for each in payloads], 3)
    report("JSON ticks, schema given", count, plain, best(lambda: given.decode(values), 5))
    return payloads


def fetched(payloads: list[bytes], codec: Codec) -> Fetched:
    """As a partition's log holds them: batches of 500."""
    data = bytearray()
    for first in range(0, len(payloads), 500):
        part = payloads[first : first + 500]
        records = [Record(first + n, 1_700_000_000_000 + n, None, v) for n, v in enumerate(part)]
        data += new_batch(records, base_offset=first, codec=codec)
    whole = bytes(data)
    place = TopicPartition("ticks", 0)
    return Fetched(place, 0, 0, whole, 0, 0, batches=list(batches(whole)))


def end_to_end(payloads: list[bytes], codec: Codec) -> None:
    log = fetched(payloads, codec)
    parsed = fastavro.parse_schema(STOCK, named_schemas={})
    decoder = avro_decoder(STOCK)
    count = len(payloads)

    def one_by_one() -> list[Any]:
        read, stream = fastavro.schemaless_reader, io.BytesIO
        return [read(stream(each.value or b""), parsed, None) for each in log.records()]

    def columns() -> pa.Array:
        return decoder.decode(columns_of(log).column("value"))

    assert columns().to_pylist() == one_by_one()
    name = codec.name.lower()
    opened = best(lambda: columns_of(log), 5)
    report(f"batches ({name})", count, best(lambda: list(log.records()), 3), opened)
    report(f"batches ({name}) to ticks", count, best(one_by_one, 3), best(columns, 5))


def filters(payloads: list[bytes]) -> None:
    log = fetched(payloads, Codec.NONE)
    predicate = parse('value.price > 990 and value.ticker in ("AMZN", "GOOG")')
    subjects = list(log.records())

    def one_by_one() -> list[bool]:
        return [predicate.matches(Subject("ticks", 0, each)) for each in subjects]

    records = columns_of(log)
    decoder = json_decoder()

    def columns() -> Any:
        decoded = decoder.read(records.column("value"))
        return mask(predicate, Columns("ticks", 0, records, decoded))

    assert columns().tolist() == one_by_one()
    report("a filter over JSON", len(payloads), best(one_by_one, 3), best(columns, 5))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=200_000)
    count = parser.parse_args().records
    ticks = avro("Avro ticks", STOCK, tick, count)
    avro("Avro orders, wide and nested", ORDER, order, count // 10)
    end_to_end(ticks, Codec.NONE)
    end_to_end(ticks, Codec.LZ4)
    filters(json_values(count))


if __name__ == "__main__":
    main()
