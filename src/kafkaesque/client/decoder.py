"""Whatever framed bytes say, as plain data that JSON can show: for gateways, commands and search.

    decoder = Decoder(RegistryClient())
    decoder.learn(decoder.missing([data]))      asks the registry, and may take a while
    decoder.document(data)                      never asks

Framed bytes are a zero byte, a schema's id and a payload (schemas/framing.py). What their schema
makes of them is told as in `to_json` of the codecs: a filter sees exactly what JSON shows.

Bytes of strangers may look framed and not be. An id that the registry does not know is remembered
for some seconds, and only so many a second are asked for: the others count as unknown at once, so
that no garbage floods the registry. All that is remembered is bounded. Any thread may call.
Above: filters/subject.py, gateway/, console/, cli/. Below: registry/, schemas/, imported on use.
"""

import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kafkaesque.client.registry import RegistryClient
    from kafkaesque.client.schemas import Codec

NOT_DECODED: Final = object()
MAX_KNOWN: Final = 10_000
MAX_UNKNOWN: Final = 10_000
UNKNOWN_FOR_S: Final = 10.0
UNKNOWN_A_SECOND: Final = 100

_HEADER_BYTES: Final = 5
_MAX_ID: Final = 0x7FFF_FFFF


class Decoder:
    """`clock` is in seconds and never goes back."""

    def __init__(
        self, registry: "RegistryClient", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._registry = registry
        self._clock = clock
        self._lock = threading.Lock()
        # Two halves make the oldest go without a note of each use: who is found in the old half
        # moves to the new one, and when that is full, the old one is dropped.
        self._new: dict[int, Codec] = {}
        self._old: dict[int, Codec] = {}
        self._unknown: dict[int, float] = {}
        """Until when nobody asks for them."""
        self._allowance = float(UNKNOWN_A_SECOND)
        self._allowed_at = clock()

    def schema_id(self, data: bytes) -> int | None:
        """Which schema the bytes seem to name."""
        if len(data) < _HEADER_BYTES or data[0]:
            return None
        number = int.from_bytes(data[1:_HEADER_BYTES], "big")
        return number if 0 < number <= _MAX_ID else None

    def missing(self, data: Iterable[bytes | None]) -> set[int]:
        """The ids that would have to be learnt to decode these."""
        found: set[int] = set()
        for each in data:
            # As in schema_id, but this is asked of every record of a topic.
            if each is not None and len(each) >= _HEADER_BYTES and not each[0]:
                number = int.from_bytes(each[1:_HEADER_BYTES], "big")
                if number not in self._new and number not in self._old:
                    found.add(number)
        return self._unasked(found) if found and self._may_ask() else set()

    def learn(self, ids: Iterable[int]) -> None:
        """Blocks while the registry is asked. Afterwards none of the ids is missing, for a while.

        Raises RegistryError for a registry that is away or lets nobody ask, ImportError if the
        library of such schemas is not installed.
        """
        unknown = []
        try:
            for number in self._unasked(set(ids)):
                codec = self._ask(number) if self._may_ask() else None
                if codec is None:
                    unknown.append(number)
                else:
                    self._remember(number, codec)
        finally:
            self._remember_unknown(unknown)

    def document(self, data: bytes) -> Any:
        """What the bytes say, or NOT_DECODED: not framed, not known, or not what their schema
        says."""
        number = self.schema_id(data)
        codec = None if number is None else self._codec(number)
        if codec is None:
            return NOT_DECODED
        try:
            return codec.to_json(data[_HEADER_BYTES:])
        except Exception:  # Strangers' bytes make libraries raise whatever there is.
            return NOT_DECODED

    def _codec(self, number: int) -> "Codec | None":
        codec = self._new.get(number)
        if codec is None and (codec := self._old.get(number)) is not None:
            self._remember(number, codec)
        return codec

    def _remember(self, number: int, codec: "Codec") -> None:
        with self._lock:
            self._new[number] = codec
            if len(self._new) >= MAX_KNOWN // 2:
                self._old, self._new = self._new, {}

    def _remember_unknown(self, ids: Iterable[int]) -> None:
        until = self._clock() + UNKNOWN_FOR_S
        with self._lock:
            for number in ids:
                self._unknown.pop(number, None)
                self._unknown[number] = until
            while len(self._unknown) > MAX_UNKNOWN:
                del self._unknown[next(iter(self._unknown))]

    def _unasked(self, ids: set[int]) -> set[int]:
        """Neither known, nor asked for in vain a moment ago."""
        now = self._clock()
        with self._lock:
            return {
                number
                for number in ids
                if 0 < number <= _MAX_ID
                and number not in self._new
                and number not in self._old
                and self._unknown.get(number, now) <= now
            }

    def _may_ask(self) -> bool:
        now = self._clock()
        with self._lock:
            gained = (now - self._allowed_at) * UNKNOWN_A_SECOND
            self._allowance = min(self._allowance + gained, float(UNKNOWN_A_SECOND))
            self._allowed_at = now
            return self._allowance >= 1

    def _ask(self, number: int) -> "Codec | None":
        """None if there is no such schema, or none that can be used."""
        from kafkaesque.client.registry import RegistryError
        from kafkaesque.client.schemas import codec_of_id

        try:
            return codec_of_id(self._registry, number)
        except RegistryError as error:
            if not error.is_unknown:
                raise
        except ImportError:
            raise
        except Exception:  # A registry may hold a schema that no library takes.
            return None
        with self._lock:
            self._allowance -= 1
        return None
