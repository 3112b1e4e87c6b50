"""One record as encodings.py has it, but with what its key and value say, by their schemas.

In JSON (SSE, and "encoding": "json") a value that is decoded is the JSON value itself, with the id
of its schema beside it; in bytes (/ws, event frames) it is that value as JSON text. What cannot be
decoded is as it is without decoding. A record is decoded once, however many want it.
Above: door.py, the clients. Below: encodings.py, ../schemas.py.
"""

from typing import TYPE_CHECKING

import orjson

from kafkaesque.gateway.fanout import encodings, tcp, websocket
from kafkaesque.gateway.fanout.delivery import Encoder
from kafkaesque.records.record import Record

if TYPE_CHECKING:
    from kafkaesque.gateway.schemas import Schemas


class DecodedEncodings:
    def __init__(self, schemas: "Schemas") -> None:
        self._schemas = schemas
        self._like: dict[Encoder, Encoder] = {
            encodings.sample: self.sample,
            encodings.v1_websocket: self.v1_websocket,
            encodings.v1_tcp: self.v1_tcp,
            encodings.v1_json: self.v1_json,
            encodings.v1_tcp_json: self.v1_tcp_json,
        }

    def like(self, plain: Encoder) -> Encoder:
        """The one that decodes."""
        return self._like[plain]

    def sample(self, subscription: int, topic: str, partition: int, record: Record) -> bytes:
        return encodings.sample(subscription, topic, partition, self._text(record))

    def v1_websocket(self, subscription: int, topic: str, partition: int, record: Record) -> bytes:
        return encodings.v1_websocket(subscription, topic, partition, self._text(record))

    def v1_tcp(self, subscription: int, topic: str, partition: int, record: Record) -> bytes:
        return encodings.v1_tcp(subscription, topic, partition, self._text(record))

    def v1_json(self, subscription: int, topic: str, partition: int, record: Record) -> bytes:
        return websocket.text(self._v1_json(subscription, topic, partition, record))

    def v1_tcp_json(self, subscription: int, topic: str, partition: int, record: Record) -> bytes:
        return tcp.frame(self._v1_json(subscription, topic, partition, record))

    def sse(self, _subscription: int, topic: str, partition: int, record: Record) -> bytes:
        fields = self._schemas.fields(topic, partition, record)
        return b"data: " + orjson.dumps(fields) + b"\n\n"

    def _text(self, record: Record) -> Record:
        return self._schemas.decoded(record).text()

    def _v1_json(self, subscription: int, topic: str, partition: int, record: Record) -> bytes:
        fields = self._schemas.fields(topic, partition, record)
        return orjson.dumps({"type": "event", "id": subscription, **fields})
