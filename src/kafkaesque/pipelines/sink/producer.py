"""One transaction after the other, by librdkafka: rows and offsets, all of them or none.

`open` ends what an earlier producer of the same id has left open, and keeps that producer from ever
writing again. What a topic will not take is a RefusedRowError that names the row; what the cluster
or another producer has ended is a LostError: then nobody here knows what became of it.
Above: committer.py. Below: client/profiles.py.
"""

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from kafkaesque.client.answers import words_of
from kafkaesque.client.connection import Connection
from kafkaesque.client.profiles import producer_config
from kafkaesque.pipelines.sink.errors import LostError, RefusedRowError, SinkError, TooLargeError

_CALL_S = 10.0
_SERVE_S = 0.05
_PAUSE_S = 0.2
_GONE = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)
"""What librdkafka says of rows whose transaction has failed for another reason."""

_TOPIC_CURES = {
    KafkaError.MSG_SIZE_TOO_LARGE: "make it smaller, or raise max.message.bytes with "
    "`kafkaesque topic alter-config {topic} --set max.message.bytes=…`",
    KafkaError.INVALID_RECORD: "in a compacted topic every row needs a key",
    KafkaError._UNKNOWN_PARTITION: "see which partitions there are with "
    "`kafkaesque topic describe {topic}`",
    KafkaError._UNKNOWN_TOPIC: "make it with `kafkaesque topic create {topic}`",
    KafkaError.UNKNOWN_TOPIC_OR_PART: "make it with `kafkaesque topic create {topic}`",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "let the user write to it, or write as one who may",
}
_ID_CURES = {
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "let the user write with this transactional "
    "id, or give a writerId that they may use",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "let the user read the group of this name, which keeps "
    "what is written, or give a writerId that they may use",
    KafkaError.INVALID_TRANSACTION_TIMEOUT: "give a kafka.transaction.timeout.ms that the brokers "
    "allow (transaction.max.timeout.ms)",
    KafkaError._AUTHENTICATION: "see user and password",
}


class TransactionalProducer:
    def __init__(
        self, connection: Connection, transactional_id: str, patience_s: float, **settings: Any
    ) -> None:
        self._id = transactional_id
        self._patience_s = patience_s
        self._refusals = _Refusals()
        config = producer_config(connection, "throughput", {})
        config |= {
            "transactional.id": transactional_id,
            "delivery.report.only.error": True,
            "on_delivery": self._refusals,
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        self._client: Any = confluent_kafka.Producer(config)
        self._known: set[str] = set()
        self._is_over = False
        """Since an error that librdkafka calls fatal."""

    def open(self) -> None:
        self._insist(self._client.init_transactions)

    def begin(self) -> None:
        self._refusals.clear()
        self._insist(lambda _: self._client.begin_transaction())

    def require(self, topics: Iterable[str]) -> None:
        """That they are there: librdkafka itself would wait half a minute for them."""
        for topic in topics:
            if topic not in self._known:
                self._insist(partial(self._look_up, topic))
                self._known.add(topic)

    def send(self, records: Iterable[tuple[Any, ...]]) -> int:
        """How many. Each is what `produce` of confluent-kafka takes."""
        produce, count = self._client.produce, 0
        for record in records:
            count += 1
            try:
                produce(*record)
            except BufferError:
                self._produce_when_there_is_room(record)
            except KafkaException as error:
                raise _row_error(error.args[0], *record[:3]) from None
        self._serve(self._client.poll, 0)
        return count

    def flush(self) -> None:
        """Until the cluster has answered for everything."""
        while self._serve(self._client.flush, 1.0):
            pass

    def send_offsets(self, offsets: list[Any], group: Any) -> None:
        self._insist(
            lambda timeout_s: self._client.send_offsets_to_transaction(offsets, group, timeout_s)
        )

    def commit(self) -> None:
        self._insist(self._client.commit_transaction)

    def abort(self) -> bool:
        """Whether it was; if not, the next producer of this id ends it."""
        # Not asked in vain: what the binding raises while another error is handled keeps that one
        # for ever, by its traceback this producer, and librdkafka's threads with it.
        if self._is_over:
            return False
        try:
            self._client.abort_transaction(_CALL_S)
        except KafkaException:
            return False
        return True

    def _produce_when_there_is_room(self, record: tuple[Any, ...]) -> None:
        while True:
            self._serve(self._client.poll, _SERVE_S)
            try:
                self._client.produce(*record)
            except BufferError:
                continue
            except KafkaException as error:
                raise _row_error(error.args[0], *record[:3]) from None
            return

    def _serve(self, call: Callable[[float], int], timeout_s: float) -> int:
        try:
            left = call(timeout_s)
        except (KafkaException, SystemError) as error:
            raise self._fatal(error) from None
        self._refusals.raise_worst()
        return left

    def _look_up(self, topic: str, timeout_s: float) -> None:
        found = self._client.list_topics(topic, timeout_s).topics[topic]
        if found.error is not None and found.error.code() in _TOPIC_CURES:
            cure = _TOPIC_CURES[found.error.code()].format(topic=topic)
            raise RefusedRowError(
                f"topic {topic} cannot be written to: {words_of(found.error)}; {cure}"
            )

    def _insist(self, call: Callable[[float], object]) -> None:
        """Again, while the cluster may come back."""
        give_up_at = time.monotonic() + self._patience_s
        while True:
            try:
                call(_CALL_S)
                return
            except KafkaException as error:
                self._refusals.raise_worst()
                reason: KafkaError = error.args[0]
                is_passing = reason.retriable() or reason.code() == KafkaError._TRANSPORT
                if not is_passing or time.monotonic() > give_up_at:
                    raise self._ended(reason) from None
            except SystemError as error:
                raise self._fatal(error) from None
            time.sleep(_PAUSE_S)

    def _fatal(self, error: KafkaException | SystemError) -> SinkError:
        """The binding raises what is fatal, and reports rows all the same: then Python objects to
        the call, and the reason is its cause. That error, too, is kept for ever."""
        error.__traceback__ = None
        raised = error if isinstance(error, KafkaException) else error.__cause__
        if isinstance(raised, KafkaException):
            return self._ended(raised.args[0])
        return LostError(f"the transaction of {self._id} has failed: {error}")

    def _ended(self, reason: KafkaError) -> SinkError:
        self._is_over = self._is_over or reason.fatal()
        words = f"the transaction of {self._id} has failed: {words_of(reason)}"
        if cure := _ID_CURES.get(reason.code()):
            return SinkError(f"{words}; {cure}")
        if cure := _TOPIC_CURES.get(reason.code()):
            return SinkError(f"{words}; {cure.format(topic='it')}")
        return LostError(words)


class _Refusals:
    """What librdkafka reports of rows. Apart from the producer, which its client must not hold:
    one that is dropped would else live on, with its threads and rows, until a garbage collection.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._worst: tuple[Any, ...] | None = None
        self._size = 0

    def __call__(self, error: KafkaError | None, message: Any) -> None:
        if error is None or error.code() in _GONE:
            return
        # Records are refused by the batch: the largest of them is the likeliest reason.
        size = len(message.value() or b"") + len(message.key() or b"")
        if self._worst is None or size > self._size:
            self._size = size
            self._worst = error, message.topic(), message.value(), message.key()

    def raise_worst(self) -> None:
        if self._worst is not None:
            raise _row_error(*self._worst)


def _row_error(
    error: KafkaError, topic: str, value: bytes | str | None, key: bytes | str | None
) -> SinkError:
    size = sum(len(each) for each in (key, value) if each is not None)
    row = f"the row with key {key!r:.100} ({size} bytes)"
    cure = _TOPIC_CURES.get(error.code())
    if cure is None:
        return LostError(f"topic {topic} gave no answer for {row}: {words_of(error)}")
    words = f"topic {topic} did not take {row}: {words_of(error)}; {cure.format(topic=topic)}"
    if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
        return TooLargeError(words)
    return RefusedRowError(words)
