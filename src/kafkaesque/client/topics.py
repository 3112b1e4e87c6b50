"""What can be said of topics: the nouns of admin.py.

Everything here is plain data and loads no client library. `cure` says what to do about an error
that a cluster reports for a topic.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kafkaesque.errors import ErrorCode

if TYPE_CHECKING:
    from kafkaesque.client.answers import Status

CLEANUP_POLICY = "cleanup.policy"

_CURES = {
    ErrorCode.TOPIC_ALREADY_EXISTS: "look at it with `kafkaesque topic describe {topic}`, "
    "or choose another name",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "see which topics there are with "
    "`kafkaesque topic list`, or make it with `kafkaesque topic create {topic}`",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "choose another name",
    ErrorCode.INVALID_CONFIG: "correct the setting; `kafkaesque topic describe --print-all` "
    "of any topic lists the names",
    ErrorCode.INVALID_PARTITIONS: "give --partitions 1 or more",
    ErrorCode.INVALID_REPLICATION_FACTOR: "give --replicas from 1 to the number of brokers",
    ErrorCode.OFFSET_OUT_OF_RANGE: "see what there is with `kafkaesque topic describe {topic}`",
}


def cure(code: ErrorCode, topic: str) -> str:
    return _CURES.get(code, "").format(topic=topic)


@dataclass(frozen=True, slots=True)
class Watermarks:
    """The first offset of a partition and the next to be written; None: it cannot say."""

    low: int | None
    high: int | None


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
    read_only: bool
    sensitive: bool


@dataclass(frozen=True, slots=True)
class PartitionState:
    """`size` is the bytes that it takes on disk, `cleaned_to` the offset below which it is
    compacted; None if nobody has asked, or nobody has said.
    """

    partition: int
    leader: int
    replicas: list[int]
    in_sync_replicas: list[int]
    log_start_offset: int | None
    high_watermark: int | None
    size: int | None = None
    cleaned_to: int | None = None


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    internal: bool
    configs: list[Setting]
    partitions: list[PartitionState]

    @property
    def replicas(self) -> int:
        return max((len(partition.replicas) for partition in self.partitions), default=0)

    @property
    def policies(self) -> set[str]:
        """What its `cleanup.policy` holds: delete, compact, or both."""
        values = [it.value or "" for it in self.configs if it.name == CLEANUP_POLICY]
        return {policy.strip() for value in values for policy in value.split(",")}


class Change(NamedTuple):
    """One change to a setting: `operation` is a name of confluent_kafka's AlterConfigOpType."""

    operation: str
    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Trimmed:
    """How it went for one partition: where its log now starts, or why it does not."""

    topic: str
    partition: int
    start: int | None
    status: "Status"
