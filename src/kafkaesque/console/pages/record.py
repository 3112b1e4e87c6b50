"""One record of a topic: as a row of the tail, and whole.

What was written with a schema is JSON here, with a note of which; its bytes are one click away.
Above: tail.py. Below: ../record_text.py, ../schema_reader.py.
"""

from datetime import UTC, datetime
from typing import Any

from kafkaesque.client.record import Record
from kafkaesque.console.pages.parts import tag, text
from kafkaesque.console.record_text import WHOLE, hex_dump, kind, line_of, preview, whole
from kafkaesque.console.schema_reader import SchemaReader, schema_id
from kafkaesque.console.tail_view import Row, byte_size

RAW = 64 * 1024


def row_of(row: Row, reader: SchemaReader | None) -> dict[str, Any]:
    record = row.record
    key, key_note = _cell(record.key, reader)
    value, value_note = _cell(record.value, reader)
    return {
        "number": row.number,
        "time": _clock_time(record.timestamp_ms),
        "partition": record.partition,
        "offset": record.offset,
        "key": key,
        "key_null": record.key is None,
        "key_note": key_note,
        "value": value,
        "value_null": record.value is None,
        "value_note": value_note,
    }


def _cell(data: bytes | None, reader: SchemaReader | None) -> tuple[str, str | None]:
    """One line, and of which schema it is."""
    decoded = reader and reader.decoded(data)
    return (line_of(decoded.line), decoded.note) if decoded else (preview(data), None)


def draw_record(record: Record, reader: SchemaReader | None) -> None:
    text("h2", f"Partition {record.partition}, offset {record.offset}")
    text("div", f"{_moment(record.timestamp_ms)} · {byte_size(record):,} bytes", "k-meta")
    for name, value in record.headers:
        text("h3", f"Header {name}")
        text("pre", whole(value))
    for name, data in (("Key", record.key), ("Value", record.value)):
        decoded = reader and reader.decoded(data)
        text("h3", f"{name} · {decoded.note if decoded else kind(data)}")
        text("pre", whole_of(data, reader)).props(f'data-part="{name.lower()}"')
        if decoded and data is not None:
            with tag("details"):
                text("summary", f"Its {len(data):,} bytes")
                text("pre", hex_dump(data[:RAW])).props(f'data-part="raw-{name.lower()}"')
        elif (number := schema_id(data)) is not None:
            text("div", _why_not(number, reader), "k-meta")


def whole_of(data: bytes | None, reader: SchemaReader | None) -> str:
    """All of it, decoded if it can be."""
    decoded = reader and reader.decoded(data)
    if not decoded:
        return whole(data)
    shown = decoded.whole
    more = len(shown) - WHOLE
    return shown if more <= 0 else f"{shown[:WHOLE]}\n… {more:,} more characters"


def _why_not(number: int, reader: SchemaReader | None) -> str:
    if reader is None:
        return (
            f"These may be bytes of schema {number}: start the console with --registry URL, and "
            "they are shown decoded."
        )
    return f"The registry has no schema {number} that these bytes could be of."


def _clock_time(timestamp_ms: int | None) -> str:
    moment = _moment(timestamp_ms)
    return moment[11:23] if timestamp_ms is not None else moment


def _moment(timestamp_ms: int | None) -> str:
    """UTC, as the command line prints it, so that both can be compared."""
    if timestamp_ms is None:
        return "no time"
    try:
        moment = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{timestamp_ms} ms"
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + " UTC"
