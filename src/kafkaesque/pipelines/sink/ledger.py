"""Where a sink's state is kept: as the metadata of an offset that the group `writerId` commits for
partition 0 of a topic that is written to.

A commit of offsets can be part of a transaction, so rows and state appear together or not at all.
The state is gone when the topic is: then there is nothing that it would be true of. Its parts after
the first are in the groups `writerId.2` and so on. The offset itself is where the partition ends,
so that the group shows no lag.
Above: committer.py. Below: state.py, client/coordinators.py, confluent-kafka.
"""

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, TypeVar

import confluent_kafka
import confluent_kafka.admin
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.admin import OffsetSpec

from kafkaesque.client.answers import words_of
from kafkaesque.client.connection import ClusterError, Connection, RefusedError
from kafkaesque.client.coordinators import Coordinators
from kafkaesque.client.group_requests import Commit, committed
from kafkaesque.errors import ErrorCode
from kafkaesque.pipelines.sink.errors import LostError, SinkError
from kafkaesque.pipelines.sink.state import State, parts_of
from kafkaesque.types import TopicPartition

T = TypeVar("T")

# Typed in part only: strict mypy does not see its re-exported names.
_kafka: Any = confluent_kafka

_CALL_S = 5.0
_PAUSE_S = 0.1
_PASSING = (
    KafkaError.UNSTABLE_OFFSET_COMMIT,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.NOT_COORDINATOR,
)


class Ledger:
    """`topic` is the one whose state it is; None: whichever of them the state was kept with."""

    def __init__(self, connection: Connection, writer_id: str, topic: str | None) -> None:
        self._connection = connection
        self._writer_id = writer_id
        self._topic = topic
        self._place: str | None = topic
        self._groups: dict[str, Any] = {}
        # A broker that restarts is found again within a second.
        config = connection.config(reconnect_backoff_max_ms=1000, metadata_recovery_strategy="none")
        self._coordinators = Coordinators(
            replace(connection, timeout_s=min(connection.timeout_s, _CALL_S))
        )
        self._admin: Any = _kafka.admin.AdminClient(config)

    def read(self, *, stable: bool) -> State:
        """`stable`: without what an open transaction may still bring. Raises SinkError."""
        firsts = self._committed(self._writer_id, stable)
        found: list[tuple[int, int, str]] = []
        for topic, text in firsts.items():
            if self._topic in (None, topic):
                found.append((*self._parts(text), topic))
        if not found:
            return State()
        _, count, topic = max(found)
        self._place = topic
        rest = [
            self._committed(self._group(number), stable).get(topic, "")
            for number in range(2, count + 1)
        ]
        try:
            return State.of_texts([firsts[topic], *rest])
        except ValueError as error:
            raise self._unreadable(error) from None

    def entries(self, state: State, topics: Collection[str]) -> list[tuple[Any, list[Any]]]:
        """For `send_offsets_to_transaction`: offsets, and whose they are."""
        if self._place is None:
            self._place = min(topics)
        end = self._end(self._place)
        return [
            (
                [_kafka.TopicPartition(self._place, 0, end, metadata=text)],
                self._group_metadata(self._group(number)),
            )
            for number, text in enumerate(state.texts(), 1)
        ]

    def _group(self, number: int) -> str:
        return self._writer_id if number == 1 else f"{self._writer_id}.{number}"

    def _parts(self, text: str) -> tuple[int, int]:
        try:
            return parts_of(text)
        except ValueError as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: ValueError) -> SinkError:
        return SinkError(
            f"group {self._writer_id} has committed offsets that are not this sink's ({error}): "
            "give the sink a writerId that no consumer group has"
        )

    def _committed(self, group: str, stable: bool) -> dict[str, str]:
        """What is kept with partition 0 of each topic."""

        def ask() -> dict[TopicPartition, Commit]:
            told = self._coordinators.ask_one(group, committed(stable=stable))
            if isinstance(told, ErrorCode):
                raise KafkaException(KafkaError(told))
            for each in told.values():
                if each.error:
                    raise KafkaException(KafkaError(each.error))
            return told

        told = self._insist(ask, f"group {group} does not say what is written")
        return {
            # confluent-kafka commits a text with the zero that ends it in C.
            place.topic: each.metadata.removesuffix("\0")
            for place, each in told.items()
            if place.partition == 0 and each.offset >= 0 and each.metadata
        }

    def _end(self, topic: str) -> int:
        """The offset after the marker that a commit will write."""
        place = _kafka.TopicPartition(topic, 0)

        def ask() -> int:
            asked = self._admin.list_offsets({place: OffsetSpec.latest()}, request_timeout=_CALL_S)
            return int(asked[place].result().offset) + 1

        return self._insist(ask, f"topic {topic} does not say where it ends")

    def _insist(self, ask: Callable[[], T], what: str) -> T:
        """Again, while the cluster may come back."""
        give_up_at = time.monotonic() + self._connection.timeout_s
        while True:
            try:
                return ask()
            except RefusedError as error:
                raise SinkError(f"{what}: {error}") from None
            except ClusterError as error:
                if time.monotonic() > give_up_at:
                    raise LostError(f"{what}: {error}") from None
            except KafkaException as error:
                reason: KafkaError = error.args[0]
                if reason.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
                    raise SinkError(
                        f"{what}, for the user may not read the group: let them, or give a "
                        "writerId that they may use"
                    ) from None
                # librdkafka's own are below -1: nobody answered.
                is_passing = reason.code() in _PASSING or reason.code() < -1 or reason.retriable()
                if not is_passing or time.monotonic() > give_up_at:
                    raise LostError(f"{what}: {words_of(reason)}") from None
            time.sleep(_PAUSE_S)

    def _group_metadata(self, group: str) -> Any:
        """As a consumer of the group would give it that is no member."""
        if group not in self._groups:
            consumer: Any = Consumer(self._connection.config(group_id=group))
            try:
                self._groups[group] = consumer.consumer_group_metadata()
            finally:
                consumer.close()
        return self._groups[group]
