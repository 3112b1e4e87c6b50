"""A batch of the source, its `value` decoded.

    key … timestampType [headers]      as they are, but `value` is a struct of the declared type,
                                       null if there is none, or if it was refused
    _error string                      why it was refused; or, with a dead-letter topic, no such
                                       column, and no such rows

Readers are kept by the process from one task to the next.
Above: source/batch.py. Below: frames.py, json_texts.py, letters.py.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaesque.client.columns.scalars import array_of, booleans
from kafkaesque.client.connection import Connection
from kafkaesque.event import Event
from kafkaesque.pipelines.source.decoding.asked import Asked
from kafkaesque.pipelines.source.decoding.pinned import Pinned
from kafkaesque.pipelines.source.decoding.rows import Reader, Rows

if TYPE_CHECKING:
    from kafkaesque.pipelines.source.decoding.letters import Letters

_VALUE = 1
_TIMESTAMP = 5


@dataclass(frozen=True, slots=True)
class Decoding:
    """What a task needs to know. `columns`: the schema of its batches. `pinned` is None if the
    columns are the user's own."""

    asked: Asked
    pinned: Pinned | None
    columns: pa.Schema

    @property
    def keeps_refused(self) -> bool:
        return self.asked.dead_letter_topic is None


def decoded(
    batches: Iterable[pa.RecordBatch], decoding: Decoding, connection: Connection, group: str | None
) -> Iterator[pa.RecordBatch]:
    """The batches have headers if refused ones are sent away."""
    reader = _reader(decoding)
    for batch in batches:
        rows = reader.read(batch.column(_VALUE))
        if decoding.keeps_refused:
            yield _with_errors(batch, rows, decoding)
        else:
            kept = _sent_away(batch, rows, decoding, connection, group)
            if kept.num_rows:
                yield kept


@lru_cache(maxsize=16)
def _reader(decoding: Decoding) -> Reader:
    declared = decoding.columns.field("value").type
    if decoding.pinned is None:
        from kafkaesque.pipelines.source.decoding.json_texts import JsonTexts

        return JsonTexts(declared, declared)
    from kafkaesque.client.registry import RegistryClient
    from kafkaesque.pipelines.source.decoding.frames import FramedValues

    registry = RegistryClient(decoding.asked.registry)
    return FramedValues(decoding.asked.form, decoding.pinned, registry, declared)


@lru_cache(maxsize=16)
def _letters(connection: Connection, topic: str) -> "Letters":
    from kafkaesque.pipelines.source.decoding.letters import Letters

    return Letters(connection, topic)


def _with_errors(batch: pa.RecordBatch, rows: Rows, decoding: Decoding) -> pa.RecordBatch:
    columns = [*batch.columns, _errors(rows)]
    columns[_VALUE] = rows.array
    return pa.RecordBatch.from_arrays(columns, schema=decoding.columns)


def _errors(rows: Rows) -> pa.StringArray:
    count = len(rows.array)
    if not rows.reasons:
        return pa.nulls(count, pa.string())
    known = list(dict.fromkeys(rows.reasons.values()))
    numbers = {reason: number for number, reason in enumerate(known)}
    which, missing = np.zeros(count, np.int32), np.ones(count, np.bool_)
    for place, reason in rows.reasons.items():
        which[place], missing[place] = numbers[reason], False
    return pa.array(known, pa.string()).take(array_of(pa.int32(), which, missing))


def _sent_away(
    batch: pa.RecordBatch, rows: Rows, decoding: Decoding, connection: Connection, group: str | None
) -> pa.RecordBatch:
    topic = decoding.asked.dead_letter_topic
    assert topic is not None
    columns = batch.columns[: len(decoding.columns)]
    columns[_VALUE] = rows.array
    found = pa.RecordBatch.from_arrays(columns, schema=decoding.columns)
    if not rows.reasons:
        return found
    places = sorted(rows.reasons)
    which = array_of(pa.int64(), np.array(places, np.int64))
    letters = batch.take(which)
    # As numbers: Python has no word for moments after the year 9999.
    times_ms = pc.divide(letters["timestamp"].cast(pa.int64()), 1000)
    events = letters.set_column(_TIMESTAMP, "timestamp", times_ms).to_pylist()
    reasons = [rows.reasons[place] for place in places]
    _letters(connection, topic).send(
        [
            _letter(topic, event, f"the value is not {decoding.asked.form}: {reason}", group)
            for event, reason in zip(events, reasons, strict=True)
        ]
    )
    refused = np.zeros(len(rows.array), np.bool_)
    refused[places] = True
    return found.filter(pc.invert(booleans(refused)))


def _letter(topic: str, row: dict[str, Any], reason: str, group: str | None) -> Any:
    from kafkaesque.client.app.dead_letters import DeadLetter
    from kafkaesque.client.app.deliveries import UndecodableError

    event = Event(
        row["topic"],
        row["partition"],
        row["offset"],
        row["timestamp"],
        row["key"],
        row["value"],
        [(each["key"], each["value"]) for each in row["headers"] or ()],
    )
    return DeadLetter(topic, event, group or "", UndecodableError(reason), 0)
