"""A cluster's topics as command line and console see them: librdkafka's admin client, made to
speak plainly.

What fails for one topic becomes a `Status`, so that the others are still done; what fails for all
raises `ClusterError`. A broker process must not load this file: it loads confluent_kafka.
Above: cli/, console/, groups.py. Below: answers.py, offsets.py, topics.py.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

import confluent_kafka
import confluent_kafka.admin
from confluent_kafka import KafkaException, TopicCollection

from kafkaesque.client.answers import (
    Status,
    code_of,
    metadata,
    raise_if_local,
    started,
    words_of,
)
from kafkaesque.client.connection import ClusterError, Connection
from kafkaesque.client.offsets import EARLIEST, LATEST, Offsets, ask_offsets, at_time
from kafkaesque.client.topics import (
    Change,
    PartitionState,
    Setting,
    Topic,
    TopicSize,
    Trimmed,
    Watermarks,
    cure,
)
from kafkaesque.errors import ErrorCode
from kafkaesque.types import TopicPartition

__all__ = ["Admin", "Status", "Topic", "TopicSize", "Watermarks"]

T = TypeVar("T")

# Typed in part only: strict mypy sees neither its re-exported names nor what its futures hold.
_kafka: Any = confluent_kafka.admin


class Admin:
    """One connection to a cluster. Every call waits for its answer, `timeout_s` at most."""

    def __init__(self, client: Any, connection: Connection) -> None:
        self.client = client
        self.connection = connection

    @classmethod
    def connect(cls, connection: Connection) -> "Admin":
        connection.require_an_answer()
        return cls(_kafka.AdminClient(connection.config()), connection)

    def create(
        self, names: Iterable[str], partitions: int, replicas: int, config: Mapping[str, str]
    ) -> list[Status]:
        topics = [
            _kafka.NewTopic(name, partitions, replicas, config=dict(config)) for name in names
        ]
        return self._statuses(self._start(self.client.create_topics, topics))

    def ensure(self, name: str, partitions: int, config: Mapping[str, str] | None = None) -> None:
        """Make a topic if it is not there; one that is there stays as it is."""
        (status,) = self.create([name], partitions, -1, config or {})
        if status.code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
            raise ClusterError(f"topic {name} cannot be made: {status}")

    def delete(self, names: Iterable[str]) -> list[Status]:
        return self._statuses(self._start(self.client.delete_topics, list(names)))

    def topics(self) -> list[TopicSize]:
        return [
            TopicSize(
                name,
                len(topic.partitions),
                max((len(p.replicas) for p in topic.partitions.values()), default=0),
            )
            for name, topic in sorted(self._metadata().items())
        ]

    def partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        """All partitions of those of the topics that are there, in order."""
        found = self._metadata()
        return [
            TopicPartition(topic, partition)
            for topic in dict.fromkeys(topics)
            if topic in found
            for partition in sorted(found[topic].partitions)
        ]

    def add_partitions(self, names: Iterable[str], more: int) -> list[Status]:
        """Each topic gets so many more than it has."""
        sizes = {topic.name: topic.partitions for topic in self.topics()}
        # A topic that is not there is asked for all the same: the cluster says it best.
        wanted = [_kafka.NewPartitions(name, sizes.get(name, 0) + more) for name in names]
        return self._statuses(self._start(self.client.create_partitions, wanted))

    def alter_config(self, names: Iterable[str], changes: Iterable[Change]) -> list[Status]:
        """All changes to a topic, or none of them."""
        entries = [
            _kafka.ConfigEntry(
                change.name,
                change.value,
                incremental_operation=_kafka.AlterConfigOpType[change.operation],
            )
            for change in changes
        ]
        topics = [_topic_resource(name, incremental_configs=entries) for name in names]
        futures = self._start(self.client.incremental_alter_configs, topics)
        return self._statuses({resource.name: future for resource, future in futures.items()})

    def trim(self, starts: Mapping[TopicPartition, int]) -> list[Trimmed]:
        """Delete the records below these offsets; -1 deletes all there are."""
        places = [
            confluent_kafka.TopicPartition(*place, offset) for place, offset in starts.items()
        ]
        done = []
        for place, future in self._start(self.client.delete_records, places).items():
            result = self._or_status(place.topic, future.result)
            status = result if isinstance(result, Status) else Status(place.topic)
            start = None if isinstance(result, Status) else result.low_watermark
            done.append(Trimmed(place.topic, place.partition, start, status))
        return done

    def watermarks(self, topics: Iterable[str]) -> dict[TopicPartition, Watermarks]:
        """Of all partitions of all topics that are there, with one question for each end."""
        return self.watermarks_of(self.partitions(topics))

    def watermarks_of(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, Watermarks]:
        places = list(partitions)
        waits = [ask_offsets(self, places, end) for end in (EARLIEST, LATEST)]
        lows, highs = (wait() for wait in waits)
        return {place: Watermarks(lows[place], highs[place]) for place in places}

    def offsets_at(self, partitions: Iterable[TopicPartition], timestamp_ms: int) -> Offsets:
        """The first offset of that time or later; -1 where there is none."""
        return ask_offsets(self, partitions, at_time(timestamp_ms))()

    def describe(self, names: Sequence[str]) -> list[Topic | Status]:
        futures = self._start(self.client.describe_topics, TopicCollection(list(names)))
        answers = {name: self._or_status(name, futures[name].result) for name in names}
        found = {name: it for name, it in answers.items() if not isinstance(it, Status)}
        configs = self._configs(list(found))
        marks = self.watermarks_of(
            TopicPartition(name, partition.id)
            for name, described in found.items()
            for partition in described.partitions
        )
        topics: dict[str, Topic | Status] = {
            name: self._or_status(name, partial(_topic, described, configs[name], marks))
            for name, described in found.items()
        }
        return [topics.get(name) or answers[name] for name in names]

    def topic_id(self, name: str) -> str | None:
        """A topic that is deleted and made anew has another one. None if it is not there, or if
        the cluster has none (before Kafka 2.8)."""
        futures = self._start(self.client.describe_topics, TopicCollection([name]))
        found = self._or_status(name, futures[name].result)
        if isinstance(found, Status) or found.topic_id is None:
            return None
        return str(found.topic_id)

    def _metadata(self) -> dict[str, Any]:
        topics: dict[str, Any] = metadata(self.client, self.connection).topics
        return topics

    def _configs(self, topics: Sequence[str]) -> "dict[str, Future[Any]]":
        if not topics:
            return {}
        resources = [_topic_resource(topic) for topic in topics]
        futures = self._start(self.client.describe_configs, resources)
        return {resource.name: future for resource, future in futures.items()}

    def _start(self, call: Callable[..., T], *arguments: Any) -> T:
        return started(call, *arguments, connection=self.connection)

    def _statuses(self, futures: "Mapping[str, Future[Any]]") -> list[Status]:
        done = []
        for name, future in futures.items():
            result = self._or_status(name, future.result)
            done.append(result if isinstance(result, Status) else Status(name))
        return done

    def _or_status(self, topic: str, call: Callable[[], T]) -> T | Status:
        try:
            return call()
        except KafkaException as error:
            raise_if_local(error, self.connection)
            code = code_of(error.args[0])
            return Status(topic, code, words_of(error.args[0]), cure(code, topic))


def _topic(
    described: Any, configs: "Future[Any]", marks: Mapping[TopicPartition, Watermarks]
) -> Topic:
    settings = [
        Setting(
            entry.name,
            None if entry.is_sensitive else entry.value,
            _kafka.ConfigSource(entry.source).name,
            entry.is_read_only,
            entry.is_sensitive,
        )
        for entry in sorted(configs.result().values(), key=lambda entry: entry.name)
    ]
    partitions = [_partition_state(described.name, each, marks) for each in described.partitions]
    return Topic(described.name, described.is_internal, settings, partitions)


def _partition_state(
    topic: str, described: Any, marks: Mapping[TopicPartition, Watermarks]
) -> PartitionState:
    ends = marks[TopicPartition(topic, described.id)]
    return PartitionState(
        partition=described.id,
        leader=described.leader.id if described.leader else -1,
        replicas=[node.id for node in described.replicas],
        in_sync_replicas=[node.id for node in described.isr],
        log_start_offset=ends.low,
        high_watermark=ends.high,
    )


def _topic_resource(name: str, **more: Any) -> Any:
    return _kafka.ConfigResource(_kafka.ConfigResource.Type.TOPIC, name, **more)
