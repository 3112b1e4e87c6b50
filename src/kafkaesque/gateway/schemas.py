"""A gateway's way to decoded values: what a schema registry knows is learnt before it is needed.

    ids = schemas.missing(…)        at once: which schemas would have to be asked for
    await schemas.learn(ids)        in a thread; tried again while the registry is away
    schemas.document(value)         at once: never asks

A registry that stays away for PATIENCE_S holds up nobody any longer: until it is back, which `run`
looks for, nothing is missing, and what it would have explained counts as undecodable. One line of
the log says so, and one that it is back. Made for one event loop.
Above: fanout/hub.py, fanout/catch_up.py, events/gateway.py. Below: client/decoder.py.
"""

import asyncio
import logging
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, Protocol

import orjson

from kafkaesque.client.decoder import NOT_DECODED, Decoder
from kafkaesque.client.event_json import event_fields
from kafkaesque.client.registry import RegistryClient, RegistryError
from kafkaesque.client.registry_address import RegistryAddress
from kafkaesque.records.record import Record

logger = logging.getLogger(__name__)

PATIENCE_S: Final = 5.0
_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 1.0
_AT_A_TIME: Final = 50
"""Schemas that the registry has so long for."""


class Counts(Protocol):
    undecodable: int


class Schemas:
    """`stats` counts values and keys that name a schema and could not be decoded by it."""

    def __init__(self, registry: RegistryClient, stats: "Counts") -> None:
        self.registry = registry
        self._stats = stats
        self.decoder = Decoder(registry)
        self._asking = asyncio.Lock()
        self._wanted: set[int] = set()
        self._lost = asyncio.Event()
        # What was decoded last: one record is shown to filters and to encoders of several forms.
        self._last: tuple[bytes | None, Any] = (None, None)
        self._last_record: Decoded | None = None

    async def run(self) -> None:
        """Look for a registry that is away, until cancelled."""
        try:
            while True:
                await self._lost.wait()
                await self._find_again()
        finally:
            self.registry.close()

    def missing(self, data: Iterable[bytes | None]) -> set[int]:
        """The ids of schemas that have to be learnt first."""
        return set() if self._lost.is_set() else self.decoder.missing(data)

    async def learn(self, ids: set[int]) -> None:
        """Afterwards none of the ids is missing."""
        async with self._asking:
            numbers = sorted(ids)
            for at in range(0, len(numbers), _AT_A_TIME):
                await self._learn(set(numbers[at : at + _AT_A_TIME]))

    async def _learn(self, ids: set[int]) -> None:
        deadline, pause_s = time.monotonic() + PATIENCE_S, _FIRST_PAUSE_S
        while not self._lost.is_set():
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    await asyncio.to_thread(self.decoder.learn, ids)
                return
            except (ImportError, RegistryError, TimeoutError) as error:
                if time.monotonic() + pause_s >= deadline:
                    self._lose(ids, error)
                    return
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def document(self, data: bytes) -> Any:
        """What a value or a key says; NOT_DECODED if that cannot be told."""
        if self._last[0] is data:
            return self._last[1]
        document = self.decoder.document(data)
        if document is NOT_DECODED and self.decoder.schema_id(data) is not None:
            self._stats.undecodable += 1
        self._last = data, document
        return document

    def decoded(self, record: Record) -> "Decoded":
        if self._last_record is None or self._last_record.record is not record:
            self._last_record = Decoded(record, *map(self._told, (record.key, record.value)))
        return self._last_record

    def fields(self, topic: str, partition: int, record: Record) -> dict[str, Any]:
        """As client/event_json.py has them, but key and value are what they say, and which schema
        has told that."""
        fields = event_fields(topic, partition, record)
        decoded = self.decoded(record)
        parts = (("key", record.key, decoded.key), ("value", record.value, decoded.value))
        for name, data, document in parts:
            if data is not None and document is not NOT_DECODED:
                fields[name] = document
                fields[f"{name}_schema_id"] = self.decoder.schema_id(data)
        return fields

    async def _find_again(self) -> None:
        await asyncio.sleep(_LONGEST_PAUSE_S)
        try:
            await asyncio.to_thread(self.decoder.learn, self._wanted)
        except (ImportError, RegistryError):
            return
        self._lost.clear()
        logger.warning("the schema registry is back: values are decoded again")

    def _told(self, data: bytes | None) -> Any:
        return NOT_DECODED if data is None else self.document(data)

    def _lose(self, ids: set[int], error: Exception) -> None:
        reason = str(error) or f"no answer within {PATIENCE_S:g} s"
        logger.error("values are not decoded until the schema registry is back: %s", reason)
        self._wanted = ids
        self._lost.set()


class Decoded:
    """A record, and what its key and value say: NOT_DECODED where that is not known."""

    __slots__ = ("_text", "key", "record", "value")

    def __init__(self, record: Record, key: Any, value: Any) -> None:
        self.record = record
        self.key = key
        self.value = value
        self._text: Record | None = None

    def text(self) -> Record:
        """The record with JSON in place of what could be decoded."""
        if self._text is None:
            key = self.record.key if self.key is NOT_DECODED else orjson.dumps(self.key)
            value = self.record.value if self.value is NOT_DECODED else orjson.dumps(self.value)
            self._text = self.record._replace(key=key, value=value)
        return self._text


def opened(address: RegistryAddress, stats: Counts) -> Schemas:
    """A question that is not answered in that time is not waited for when the gateway stops."""
    return Schemas(replace(address, timeout_s=PATIENCE_S).connect(), stats)
