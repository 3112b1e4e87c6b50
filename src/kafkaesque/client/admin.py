"""A Kafka cluster as the topic commands see it: librdkafka's admin client, made to speak plainly.

`Admin.connect` finds out first whether anything answers, because librdkafka itself would retry in
silence until the timeout. What fails for one topic becomes a `Status`, so that the other topics of
the command are still done; what fails for all raises `CommandError`. Imported by client commands
only: a broker process must not load confluent_kafka. Above: topic.py.
"""

import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import confluent_kafka.admin
from confluent_kafka import KafkaException, TopicCollection, TopicPartition

from kafkaesque.cli.options import Address
from kafkaesque.cli.output import CommandError
from kafkaesque.errors import ErrorCode

T = TypeVar("T")

# Typed in part only: strict mypy sees neither its re-exported names nor what its futures hold.
_kafka: Any = confluent_kafka.admin

OK = ErrorCode.NONE

_CURES = {
    ErrorCode.TOPIC_ALREADY_EXISTS: "look at it with `kafkaesque topic describe {topic}`, "
    "or choose another name",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "see which topics there are with "
    "`kafkaesque topic list`, or make it with `kafkaesque topic create {topic}`",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "choose another name",
    ErrorCode.INVALID_CONFIG: "correct --config; `kafkaesque topic describe` lists the names",
    ErrorCode.INVALID_PARTITIONS: "give --partitions 1 or more",
    ErrorCode.INVALID_REPLICATION_FACTOR: "give --replicas from 1 to the number of brokers",
}


@dataclass(frozen=True, slots=True)
class Status:
    """How it went for one topic."""

    topic: str
    code: ErrorCode = OK
    message: str = ""

    @property
    def error(self) -> str | None:
        return None if self.code is OK else self.code.name

    def __str__(self) -> str:
        if self.code is OK:
            return "OK"
        cure = _CURES.get(self.code, "").format(topic=self.topic)
        return ": ".join([self.code.name, "; ".join(filter(None, [self.message, cure]))])


@dataclass(frozen=True, slots=True)
class TopicSize:
    name: str
    partitions: int
    replicas: int


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    value: str | None
    source: str


@dataclass(frozen=True, slots=True)
class PartitionState:
    partition: int
    leader: int
    replicas: list[int]
    in_sync_replicas: list[int]
    log_start_offset: int | None
    high_watermark: int | None


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    internal: bool
    configs: list[Setting]
    partitions: list[PartitionState]

    @property
    def replicas(self) -> int:
        return max((len(partition.replicas) for partition in self.partitions), default=0)


class Admin:
    """One connection to a cluster. Every call waits for its answer, `timeout` seconds at most."""

    def __init__(self, client: Any, brokers: Sequence[Address], timeout: float) -> None:
        self._client = client
        self._brokers = ", ".join(map(str, brokers))
        self._timeout = timeout

    @classmethod
    def connect(cls, brokers: Sequence[Address], timeout: float) -> "Admin":
        _require_an_answer(brokers, timeout)
        client = _kafka.AdminClient(
            {
                "bootstrap.servers": ",".join(map(str, brokers)),
                "client.id": "kafkaesque-cli",
                # Only emergencies: what a command has to say it says itself.
                "log_level": 0,
            }
        )
        return cls(client, brokers, timeout)

    def create(
        self, names: Iterable[str], partitions: int, replicas: int, config: Mapping[str, str]
    ) -> list[Status]:
        topics = [
            _kafka.NewTopic(name, partitions, replicas, config=dict(config)) for name in names
        ]
        return self._statuses(lambda: self._client.create_topics(topics, **self._limits))

    def delete(self, names: Iterable[str]) -> list[Status]:
        return self._statuses(lambda: self._client.delete_topics(list(names), **self._limits))

    def topics(self) -> list[TopicSize]:
        try:
            found = self._client.list_topics(timeout=self._timeout).topics
        except KafkaException as error:
            raise self._explained(error) from None
        return [
            TopicSize(
                name,
                len(topic.partitions),
                max((len(p.replicas) for p in topic.partitions.values()), default=0),
            )
            for name, topic in sorted(found.items())
        ]

    def describe(self, names: Sequence[str]) -> list[Topic | Status]:
        topics = TopicCollection(list(names))
        futures = _started(lambda: self._client.describe_topics(topics, **self._limits))
        return [self._or_status(name, partial(self._topic, futures[name])) for name in names]

    def _topic(self, future: "Future[Any]") -> Topic:
        described = future.result()
        numbers = [partition.id for partition in described.partitions]
        starts = self._offsets(described.name, numbers, _kafka.OffsetSpec.earliest())
        ends = self._offsets(described.name, numbers, _kafka.OffsetSpec.latest())
        partitions = [
            PartitionState(
                partition=partition.id,
                leader=partition.leader.id if partition.leader else -1,
                replicas=[node.id for node in partition.replicas],
                in_sync_replicas=[node.id for node in partition.isr],
                log_start_offset=starts[partition.id],
                high_watermark=ends[partition.id],
            )
            for partition in described.partitions
        ]
        return Topic(
            described.name, described.is_internal, self._configs(described.name), partitions
        )

    def _offsets(self, topic: str, partitions: list[int], spec: Any) -> dict[int, int | None]:
        """Per partition; None where the partition itself cannot say."""
        request = {TopicPartition(topic, partition): spec for partition in partitions}
        found: dict[int, int | None] = {}
        for asked, future in self._client.list_offsets(request, **self._limits).items():
            try:
                found[asked.partition] = future.result().offset
            except KafkaException as error:
                self._raise_if_local(error)
                found[asked.partition] = None
        return found

    def _configs(self, topic: str) -> list[Setting]:
        resource = _kafka.ConfigResource(_kafka.ConfigResource.Type.TOPIC, topic)
        (future,) = self._client.describe_configs([resource], **self._limits).values()
        return [
            Setting(
                entry.name,
                None if entry.is_sensitive else entry.value,
                _kafka.ConfigSource(entry.source).name,
            )
            for entry in sorted(future.result().values(), key=lambda entry: entry.name)
        ]

    @property
    def _limits(self) -> dict[str, float]:
        return {"request_timeout": self._timeout}

    def _statuses(self, start: Callable[[], Mapping[str, "Future[Any]"]]) -> list[Status]:
        done = []
        for name, future in _started(start).items():
            result = self._or_status(name, future.result)
            done.append(result if isinstance(result, Status) else Status(name))
        return done

    def _or_status(self, topic: str, call: Callable[[], T]) -> T | Status:
        try:
            return call()
        except KafkaException as error:
            self._raise_if_local(error)
            message = error.args[0].str().removeprefix("Broker: ").rstrip(".")
            return Status(topic, _code(error.args[0].code()), message)

    def _raise_if_local(self, error: KafkaException) -> None:
        """Raise what librdkafka says itself. What a broker has said is for the caller."""
        # librdkafka's own errors are below -1; -1 is Kafka's UNKNOWN_SERVER_ERROR.
        if error.args[0].code() < ErrorCode.UNKNOWN_SERVER_ERROR:
            raise self._explained(error) from None

    def _explained(self, error: KafkaException) -> CommandError:
        return CommandError(
            f"no answer from {self._brokers} within {self._timeout:g} s "
            f"({error.args[0].str()}): if a Kafka broker listens there, see that the address it "
            "advertises (`kafkaesque broker --advertise`) can be reached from here"
        )


def _started(call: Callable[[], T]) -> T:
    """confluent_kafka refuses some arguments itself, such as an empty name."""
    try:
        return call()
    except ValueError as error:
        raise CommandError(f"{error}: correct the command line") from None


def _code(number: int) -> ErrorCode:
    try:
        return ErrorCode(number)
    except ValueError:  # A newer cluster may have codes that we do not know.
        return ErrorCode.UNKNOWN_SERVER_ERROR


def _require_an_answer(brokers: Sequence[Address], timeout: float) -> None:
    reasons = []
    for broker in brokers:
        try:
            socket.create_connection(broker, timeout).close()
        except OSError as error:
            reasons.append(error.strerror or str(error))
        else:
            return
    where = ", ".join(map(str, brokers))
    raise CommandError(
        f"nothing answers at {where} ({reasons[-1]}): "
        "start one with `kafkaesque broker`, or name one with --brokers"
    )
