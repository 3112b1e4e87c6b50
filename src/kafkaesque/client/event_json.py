"""An event as JSON: one form for all that the gateways send and take.

    {"topic": "ticks", "partition": 0, "offset": 12, "timestamp": 1700000000000,
     "key": "AMZN", "value": "{\\"price\\": 101}", "headers": [["source", "web"], …]}

Bytes that are UTF-8 are a string, whatever they mean; other bytes are {"base64": "…"}; no bytes at
all are null. So bytes come back as the same bytes, and nothing is guessed: a value that is itself
JSON stays the text that it is. The timestamp is in milliseconds since 1970.
Pure. Above: gateway/, v1.py, http.py. Below: records/record.py, event.py.
"""

import base64
import binascii
from typing import Any

import orjson

from kafkaesque.event import Event
from kafkaesque.records.record import Record


def event_fields(topic: str, partition: int, record: Record) -> dict[str, Any]:
    """What the JSON holds, ready for orjson."""
    offset, timestamp, key, value, headers = record
    return {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "timestamp": timestamp,
        "key": json_of(key),
        "value": json_of(value),
        "headers": [[_name(name), json_of(data)] for name, data in headers],
    }


def event_json(topic: str, partition: int, record: Record) -> bytes:
    return orjson.dumps(event_fields(topic, partition, record))


def event_of(fields: dict[str, Any]) -> Event:
    """The way back, of what a gateway has sent; key and value are bytes or None."""
    return Event(
        fields["topic"],
        fields["partition"],
        fields["offset"],
        fields["timestamp"],
        bytes_of(fields["key"]),
        bytes_of(fields["value"]),
        [(name, bytes_of(data)) for name, data in fields["headers"]],
    )


def json_of(data: bytes | None) -> str | dict[str, str] | None:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def bytes_of(value: Any) -> bytes | None:
    """The bytes that a string, {"base64": …} or null stands for; ValueError for anything else."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and value.keys() == {"base64"} and isinstance(value["base64"], str):
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError(f"its base64 cannot be read ({error})") from None
    raise ValueError('write a string, {"base64": "…"} or null')


def _name(name: str) -> str:
    # A header's name that is not UTF-8 holds lone surrogates, which JSON cannot carry.
    return name.encode(errors="surrogateescape").decode(errors="replace")
