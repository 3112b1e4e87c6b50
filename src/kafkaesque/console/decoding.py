"""Holds records back until the schemas that they name are known, and hands them over in order.

    add (reader's thread) ──► all known? ──► deliver
                                   └──► held ──► learn (a thread of its own) ──► deliver

The reader's thread never waits for the registry. What is held is bounded: the oldest go, and are
counted as skipped. If the registry does not answer, `tell` hears why, and the records go on as
they are. Above: pages/tail.py. Below: schema_reader.py.
"""

import threading
from collections.abc import Callable, Iterator, Sequence

from kafkaesque.client.record import Record
from kafkaesque.client.registry import RegistryError
from kafkaesque.client.tail import Deliver
from kafkaesque.console.schema_reader import SchemaReader

MAX_HELD = 10_000


class Decoding:
    def __init__(
        self,
        reader: SchemaReader,
        deliver: Deliver,
        skip: Callable[[int], None],
        tell: Callable[[str | None], None],
    ) -> None:
        self._reader = reader
        self._deliver = deliver
        self._skip = skip
        self._tell = tell
        self._lock = threading.Lock()
        self._held: list[Record] = []
        self._is_learning = False
        self._turn = 0

    def add(self, records: Sequence[Record]) -> None:
        with self._lock:
            if not self._is_learning and not self._reader.missing(_data(records)):
                self._deliver(records)
                return
            self._held += records
            too_many = max(0, len(self._held) - MAX_HELD)
            if too_many:
                del self._held[:too_many]
                self._skip(too_many)
            if not self._is_learning:
                self._is_learning = True
                threading.Thread(target=self._learn, daemon=True).start()

    def drop(self) -> None:
        """What is held is never delivered."""
        with self._lock:
            self._held = []
            self._turn += 1

    def _learn(self) -> None:
        while batch := self._take():
            turn, records = batch
            problem: str | None = None
            try:
                self._reader.learn(self._reader.missing(_data(records)))
            except (RegistryError, ImportError) as error:
                problem = str(error)
            with self._lock:
                if turn == self._turn:
                    self._tell(problem)
                    self._deliver(records)

    def _take(self) -> tuple[int, list[Record]] | None:
        with self._lock:
            records, self._held = self._held, []
            self._is_learning = bool(records)
            return (self._turn, records) if records else None


def _data(records: Sequence[Record]) -> Iterator[bytes | None]:
    for record in records:
        yield record.key
        yield record.value
