"""Records that were written with a schema, as people read them: JSON, and of which schema it is.

`learn` asks the registry and may take a while; all else says what is known. A registry that does
not answer is left alone for some seconds: records are then shown as the bytes that they are.
Above: decoding.py, tail_view.py, pages/tail.py. Below: client/decoder.py.
"""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from kafkaesque.client.decoder import NOT_DECODED, Decoder
from kafkaesque.client.registry import RegistryClient, RegistryError

RETRY_S = 5.0
TYPES = {"AVRO": "Avro", "JSON": "JSON Schema", "PROTOBUF": "Protobuf"}


@dataclass(frozen=True, slots=True)
class Decoded:
    """`note` is as in `Avro · schema 3`."""

    document: Any
    note: str

    @property
    def line(self) -> str:
        return json.dumps(self.document, ensure_ascii=False)

    @property
    def whole(self) -> str:
        return json.dumps(self.document, indent=2, ensure_ascii=False)


class SchemaReader:
    """Any thread may call."""

    def __init__(
        self, registry: RegistryClient, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._registry = registry
        self._decoder = Decoder(registry)
        self._clock = clock
        self._quiet_until_s = float("-inf")

    def missing(self, data: Iterable[bytes | None]) -> set[int]:
        """The ids that would have to be learnt; none while the registry is left alone."""
        return set() if self._clock() < self._quiet_until_s else self._decoder.missing(data)

    def learn(self, ids: Iterable[int]) -> None:
        """Raises RegistryError."""
        try:
            self._decoder.learn(ids)
        except RegistryError:
            self._quiet_until_s = self._clock() + RETRY_S
            raise

    def document(self, data: bytes) -> Any:
        return self._decoder.document(data)

    def decoded(self, data: bytes | None) -> Decoded | None:
        """None if it is not framed, or its schema is not known."""
        document = NOT_DECODED if data is None else self._decoder.document(data)
        if document is NOT_DECODED or data is None:
            return None
        number = schema_id(data)
        assert number is not None
        # Whoever has learnt an id has it from there, and it is remembered.
        kind = self._registry.schema(number).type
        return Decoded(document, f"{TYPES.get(kind, kind)} · schema {number}")


def schema_id(data: bytes | None) -> int | None:
    """Which schema the bytes seem to name: a zero byte, and four of the id."""
    if data is None or len(data) < 5 or data[0]:
        return None
    return int.from_bytes(data[1:5], "big")
