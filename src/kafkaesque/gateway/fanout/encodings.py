"""One record as the bytes that go to clients, ready to write.

Each is made once per record (and subscription id) and written to everybody it is for, so these
functions are on the fan-out's hot path.
Pure. Above: the fan-out's hub. Below: websocket.py, tcp.py, client/v1/, client/event_json.py.
"""

from functools import lru_cache

import orjson

from kafkaesque.client.event_json import event_fields, event_json
from kafkaesque.client.v1.event_frame import encode_event
from kafkaesque.gateway.fanout import tcp, websocket
from kafkaesque.gateway.fanout.websocket import BINARY, frame_head
from kafkaesque.records.record import Record


def sample(_subscription: int, _topic: str, _partition: int, record: Record) -> bytes:
    """As /ws has it: two binary messages, key and value; what is null is empty."""
    key, value = record.key or b"", record.value or b""
    return b"".join((_binary_head(len(key)), key, _binary_head(len(value)), value))


@lru_cache(maxsize=4096)
def _binary_head(length: int) -> bytes:
    return frame_head(BINARY, length)


def v1_websocket(subscription: int, topic: str, partition: int, record: Record) -> bytes:
    return websocket.binary(encode_event(subscription, topic, partition, record))


def v1_tcp(subscription: int, topic: str, partition: int, record: Record) -> bytes:
    return tcp.frame(encode_event(subscription, topic, partition, record))


def v1_json(subscription: int, topic: str, partition: int, record: Record) -> bytes:
    """A text message over WebSocket, for clients that asked for "encoding": "json"."""
    return websocket.text(_v1_json(subscription, topic, partition, record))


def v1_tcp_json(subscription: int, topic: str, partition: int, record: Record) -> bytes:
    return tcp.frame(_v1_json(subscription, topic, partition, record))


def _v1_json(subscription: int, topic: str, partition: int, record: Record) -> bytes:
    fields = event_fields(topic, partition, record)
    return orjson.dumps({"type": "event", "id": subscription, **fields})


def sse(topic: str, partition: int, record: Record) -> bytes:
    """A Server-Sent Event but for its id, which differs from client to client: it goes before."""
    return b"data: " + event_json(topic, partition, record) + b"\n\n"
