"""Decisions are made and written, one transaction after another, by one thread.

All registries of a topic write with the same transactional id. Whoever takes it (`_take_the_pen`)
ends the transactions of all others, then reads the topic to its end: from then on nobody writes
unless this one is fenced, and what it decides on its draft of the catalog holds when the
transaction commits. A registry that finds itself fenced takes the pen again and decides anew.
Requests that wait while a transaction is under way share the next one.

Where a commit is not answered, the pen is taken again, which ends the transaction either way; then
the topic says whether it was committed: its records bear the id of the write.

Above: journal.py. Below: decisions/, log_records.py, confluent_kafka.
"""

import logging
import os
import queue
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Producer

from kafkaesque.client.answers import words_of
from kafkaesque.client.connection import ClusterError, Connection
from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.changes import Change
from kafkaesque.registry.decisions import Decide
from kafkaesque.registry.log_records import encode
from kafkaesque.registry.problems import ProblemError, not_stored, schema_too_large
from kafkaesque.registry.reading import WRITE_ID

_MOST_AT_ONCE: Final = 100
_PATIENCE_S: Final = 20.0
"""How long a request may wait for its turn among other registries."""
_ABSENCE_S: Final = 6.0
"""How long for a cluster that nobody answers for: less than clients wait for us."""
_CALL_S: Final = 5.0
_TRANSACTION_MS: Final = 10_000
_FRAME_BYTES: Final = 200
"""What a record has around key and value, and more."""
# Of being fenced, which is how registries take turns, librdkafka would tell as of a disaster.
_SILENT: Final = logging.Logger("silent")
_SILENT.addHandler(logging.NullHandler())


class Wish(NamedTuple):
    decide: Decide
    answer: "Future[Any]"


class Settled(NamedTuple):
    """A wish and what became of it."""

    wish: Wish
    outcome: Any


class Topic(NamedTuple):
    """What the thread asks of the side that reads. Each waits for its answer."""

    draft: Callable[[], Catalog]
    """A copy of the catalog, after the topic has been read to its end."""
    read_to_end: Callable[[], None]
    has_seen: Callable[[bytes], bool]
    settle: Callable[[Sequence[Settled], int], None]
    """Answers are given once this offset has been read; returns at once."""


class LostPenError(Exception):
    """Another registry writes now, or it is not known what became of a transaction."""


class Writing:
    def __init__(
        self, connection: Connection, topic: str, max_record_bytes: int, reader: Topic
    ) -> None:
        self.transactions = 0
        self.pens_taken = 0
        self._connection = connection
        self._topic = topic
        self._max_record_bytes = max_record_bytes
        self._reader = reader
        self._wishes: queue.SimpleQueue[Wish | None] = queue.SimpleQueue()
        self._producer: Producer | None = None
        self._draft = Catalog()
        self._own_writes: set[bytes] = set()
        self._is_pen_lost = True
        self._thread = threading.Thread(target=self._run, name="registry writing", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """What is under way is finished."""
        self._wishes.put(None)
        self._thread.join()

    def submit(self, decide: Decide) -> "Future[Any]":
        wish = Wish(decide, Future())
        self._wishes.put(wish)
        return wish.answer

    def note(self, write_id: bytes | None) -> None:
        """The reader has come upon a write. Another's means that the draft is not the truth."""
        if write_id not in self._own_writes:
            self._is_pen_lost = True

    def begin_draft(self) -> None:
        """All that has been read is in the draft: what comes now should be this registry's own."""
        self._own_writes.clear()
        self._is_pen_lost = False

    def _run(self) -> None:
        while (first := self._wishes.get()) is not None:
            wishes = [first]
            is_last = False
            while len(wishes) < _MOST_AT_ONCE and not self._wishes.empty():
                following = self._wishes.get()
                if following is None:
                    is_last = True
                    break
                wishes.append(following)
            self._fulfil(wishes)
            if is_last:
                return

    def _fulfil(self, wishes: list[Wish]) -> None:
        begun = time.monotonic()
        deadline = begun + _PATIENCE_S
        attempts = 0
        while True:
            try:
                self._attempt(wishes)
                return
            except LostPenError as error:
                problem = not_stored(str(error))
            except ClusterError as error:
                problem = not_stored(str(error))
                deadline = begun + _ABSENCE_S
            except Exception as error:
                problem = not_stored(f"{type(error).__name__}: {error}")
                deadline = 0.0
            self._drop_the_pen()
            if time.monotonic() >= deadline:
                break
            attempts += 1
            # Whoever was fenced waits longer than the other needs for a transaction.
            time.sleep(random.uniform(0.0, min(0.5, 0.02 * 2**attempts)))
        self._reader.settle([Settled(wish, problem) for wish in wishes], -1)

    def _attempt(self, wishes: list[Wish]) -> None:
        if self._is_pen_lost or self._producer is None:
            self._take_the_pen()
        settled, records = self._decide(wishes)
        if not records:
            self._require_the_truth()
            self._reader.settle(settled, -1)
            return
        write_id = os.urandom(16)
        self._own_writes.add(write_id)
        try:
            offset = self._commit(records, write_id)
        except LostPenError:
            self._take_the_pen()
            if not self._reader.has_seen(write_id):
                raise
            offset = -1
        self._reader.settle(settled, offset)

    def _require_the_truth(self) -> None:
        """No commit will say whether another registry has written since the draft was made: the
        topic is asked. Raises LostPenError."""
        self._reader.read_to_end()
        if self._is_pen_lost:
            raise LostPenError("another registry has written meanwhile")

    def _decide(self, wishes: list[Wish]) -> tuple[list[Settled], list[tuple[bytes, bytes | None]]]:
        settled: list[Settled] = []
        records: list[tuple[bytes, bytes | None]] = []
        for wish in wishes:
            try:
                decision = wish.decide(self._draft)
                mine = [self._record(change) for change in decision.changes]
            except ProblemError as problem:
                settled.append(Settled(wish, problem))
                continue
            except Exception as error:  # A bug: whoever asked sees it, the others go on.
                settled.append(Settled(wish, error))
                continue
            for change in decision.changes:
                self._draft.apply(change)
            records += mine
            settled.append(Settled(wish, decision.answer))
        return settled, records

    def _record(self, change: Change) -> tuple[bytes, bytes | None]:
        key, value = encode(change)
        size = len(key) + len(value or b"") + _FRAME_BYTES
        if size > self._max_record_bytes:
            raise schema_too_large(
                f"the schema takes {size:,} bytes, and {self._topic} takes "
                f"{self._max_record_bytes:,}: raise max.message.bytes of the topic"
            )
        return key, value

    def _take_the_pen(self) -> None:
        self._drop_the_pen()
        self._connection.require_an_answer()
        producer = Producer(
            self._connection.config(
                transactional_id=f"kafkaesque-registry-{self._topic}",
                transaction_timeout_ms=_TRANSACTION_MS,
                linger_ms=0,
                retry_backoff_ms=5,
                reconnect_backoff_ms=5,
                message_max_bytes=1_000_000_000,
            ),
            logger=_SILENT,
        )
        self._call(producer.init_transactions, self._timeout_s)
        self.pens_taken += 1
        self._draft = self._reader.draft()
        self._producer = producer

    def _drop_the_pen(self) -> None:
        self._producer = None

    def _commit(self, records: Sequence[tuple[bytes, bytes | None]], write_id: bytes) -> int:
        """The offset of the last record."""
        producer = self._producer
        assert producer is not None
        offsets: list[int] = []

        def delivered(error: KafkaError | None, message: Any) -> None:
            if error is None:
                offsets.append(message.offset())

        self._call(producer.begin_transaction)
        for key, value in records:
            producer.produce(
                self._topic,
                value,
                key,
                partition=0,
                headers=[(WRITE_ID, write_id)],
                on_delivery=delivered,
            )
        if self._call(producer.flush, self._timeout_s):
            raise LostPenError("the cluster does not answer")
        self._call(producer.commit_transaction, self._timeout_s)
        self.transactions += 1
        return max(offsets, default=-1)

    @property
    def _timeout_s(self) -> float:
        return min(self._connection.timeout_s, _CALL_S)

    def _call(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Raises LostPenError, whatever it was: the pen is taken again, if it can be had."""
        try:
            return call(*arguments)
        except KafkaException as error:
            raise LostPenError(words_of(error.args[0])) from None
