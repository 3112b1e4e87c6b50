"""Records as commands print them, with keys and values as their schemas explain them.

A registry is asked when a record names a schema that is not known yet, and not before. One that is
away does not stop the command: records are printed as they are, somebody is told, and it is asked
again a while later. Above: consume.py, search.py. Below: client/decoder.py, client/record.py.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from kafkaesque.client.decoder import NOT_DECODED, Decoder
from kafkaesque.client.record import Record

_AGAIN_S = 5.0


@dataclass(frozen=True, slots=True)
class DecodedRecord(Record):
    """`key_said` and `value_said` are NOT_DECODED where only the bytes are known."""

    key_said: Any = NOT_DECODED
    value_said: Any = NOT_DECODED
    key_schema_id: int | None = None
    value_schema_id: int | None = None


class Decoding:
    """`tell` is told that the registry is away, and that it is back."""

    def __init__(
        self,
        decoder: Decoder,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.decoder = decoder
        self._tell = tell
        self._clock = clock
        self._ask_at: float | None = None
        """Not before: it was away."""

    def learn(self, data: Iterable[bytes | None]) -> None:
        """Ask for the schemas of these keys and values, if they are not known."""
        ids = self.decoder.missing(data)
        if not ids or (self._ask_at is not None and self._clock() < self._ask_at):
            return
        from kafkaesque.client.registry import RegistryError

        try:
            self.decoder.learn(ids)
        except (ImportError, RegistryError) as error:
            if self._ask_at is None:
                self._tell(f"records are printed as they are: {error}")
            self._ask_at = self._clock() + _AGAIN_S
            return
        if self._ask_at is not None:
            self._tell("the schema registry answers: records are decoded")
            self._ask_at = None

    def decoded(self, record: Record) -> Record:
        self.learn((record.key, record.value))
        key, value = self._said(record.key), self._said(record.value)
        if key is NOT_DECODED and value is NOT_DECODED:
            return record
        return DecodedRecord(
            record.topic,
            record.key,
            record.value,
            record.headers,
            record.partition,
            record.offset,
            record.timestamp_ms,
            key,
            value,
            self._schema_id(record.key, key),
            self._schema_id(record.value, value),
        )

    def _said(self, data: bytes | None) -> Any:
        return NOT_DECODED if data is None else self.decoder.document(data)

    def _schema_id(self, data: bytes | None, said: Any) -> int | None:
        return None if data is None or said is NOT_DECODED else self.decoder.schema_id(data)
