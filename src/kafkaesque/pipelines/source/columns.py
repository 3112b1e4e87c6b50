"""What was fetched of a partition, in the columns of Spark's own Kafka connector.

    key binary | value binary | topic string | partition int | offset long | timestamp timestamp
    | timestampType int: 0 the producer's time, 1 the broker's
    [| headers array of (key string, value binary); null if there are none]
    [| _error string, if values are decoded (decoding/): `value` is then a struct]

The user may want some of them alone: what is not brought need not be carried over to Java.
Spark takes Arrow data only if its schema is the declared one to the letter, unit and zone included.
Above: reading.py, batch.py, stream.py. Below: client/columns/.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafkaesque.client.columns import columns_of
from kafkaesque.client.columns.cursor import Longs
from kafkaesque.client.columns.scalars import array_of, booleans
from kafkaesque.client.fetched import Fetched
from kafkaesque.pipelines.source.security import OptionsError

COLUMNS: Final = {
    "key": "BINARY",
    "value": "BINARY",
    # Of what is never null Spark looks at no row to see whether it is.
    "topic": "STRING NOT NULL",
    "partition": "INT NOT NULL",
    "offset": "LONG NOT NULL",
    "timestamp": "TIMESTAMP NOT NULL",
    "timestampType": "INT NOT NULL",
}
HEADERS: Final = {"headers": "ARRAY<STRUCT<key: STRING, value: BINARY>>"}
ERROR: Final = {"_error": "STRING"}

_TIMESTAMP = pa.timestamp("us", tz="UTC")
_HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
_PLAIN = [
    pa.field("key", pa.binary()),
    pa.field("value", pa.binary()),
    pa.field("topic", pa.string(), nullable=False),
    pa.field("partition", pa.int32(), nullable=False),
    pa.field("offset", pa.int64(), nullable=False),
    pa.field("timestamp", _TIMESTAMP, nullable=False),
    pa.field("timestampType", pa.int32(), nullable=False),
]
_SCHEMA = pa.schema(_PLAIN)
_SCHEMA_WITH_HEADERS = pa.schema([*_PLAIN, pa.field("headers", pa.list_(_HEADER))])
_FAR_MS = (2**63 - 1) // 1000
"""No time beyond it has microseconds of 64 bits."""


def arrow_schema(include_headers: bool) -> pa.Schema:
    return _SCHEMA_WITH_HEADERS if include_headers else _SCHEMA


def declared(
    include_headers: bool,
    value: str = "BINARY",
    with_error: bool = False,
    wanted: Sequence[str] = (),
) -> str:
    """The same for Spark, with the type that `value` has there: of all columns, or of those that
    are wanted. Raises OptionsError for one that is not there."""
    columns = {**COLUMNS, "value": value}
    columns |= {**(HEADERS if include_headers else {}), **(ERROR if with_error else {})}
    for name in wanted:
        if name not in columns:
            raise OptionsError(
                f"columns names {name}, which the source does not have here: "
                f"choose from {', '.join(columns)}"
            )
    return ", ".join(f"{name} {columns[name]}" for name in wanted or columns)


def rows(fetched: Fetched, end: int, include_headers: bool) -> pa.RecordBatch:
    """The records below `end`. Raises KafkaError(CORRUPT_MESSAGE)."""
    found = columns_of(fetched)
    offsets = found["offset"].to_numpy()
    count = int(np.searchsorted(offsets, end))
    if count < len(offsets):
        found, offsets = found.slice(0, count), offsets[:count]
    times_ms = np.clip(found["timestamp"].to_numpy(), -_FAR_MS, _FAR_MS)
    columns = [
        found["key"],
        found["value"],
        pa.repeat(pa.scalar(fetched.place.topic, pa.string()), count),
        array_of(pa.int32(), np.full(count, fetched.place.partition, np.int32)),
        found["offset"],
        array_of(_TIMESTAMP, times_ms * 1000),
        array_of(pa.int32(), _timestamp_types(fetched, offsets)),
    ]
    if include_headers:
        columns.append(_headers(found["headers"]))
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(include_headers))


def _timestamp_types(fetched: Fetched, offsets: Longs) -> npt.NDArray[np.int32]:
    kinds = np.array([header.attributes >> 3 & 1 for _, header in fetched.batches], np.int32)
    if not kinds.any():
        return np.zeros(len(offsets), np.int32)
    begins = np.array([header.base_offset for _, header in fetched.batches], np.int64)
    found: npt.NDArray[np.int32] = kinds[np.searchsorted(begins, offsets, side="right") - 1]
    return found


def _headers(found: pa.ListArray) -> pa.ListArray:
    edges = found.offsets.to_numpy()
    pairs = found.values
    named = pa.StructArray.from_arrays(pairs.flatten(), fields=list(_HEADER))
    missing = edges[1:] == edges[:-1]
    return pa.ListArray.from_arrays(
        array_of(pa.int32(), edges), named, type=pa.list_(_HEADER), mask=booleans(missing)
    )
