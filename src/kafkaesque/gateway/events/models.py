"""What the answers look like, for the OpenAPI document: it is the reference that programs read.

Answers are built as plain data elsewhere; tests hold that they are what stands here.
Above: all routes.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """Why something was not done. Some have more: a line, a column, the number of an event."""

    error: str = Field(description="A word for programs", examples=["UNKNOWN_TOPIC_OR_PARTITION"])
    message: str = Field(description="A sentence for people, which says what to do")


class Base64(Model):
    base64: str = Field(examples=["/wA="])


class Written(Model):
    """Where an event lies."""

    partition: int = Field(examples=[2])
    offset: int = Field(examples=[41])


class NotWritten(BaseModel):
    error: str = Field(examples=["MESSAGE_TOO_LARGE"])
    message: str


class Results(Model):
    """One result for each event, in the order of the events."""

    results: list[Written | NotWritten]
    failed: int = Field(description="How many were not written", examples=[0])


class NewEvent(Model):
    """Only `value` must be there."""

    key: Any = Field(None, description="As `value`; decides the partition", examples=["AMZN"])
    value: Any = Field(
        description='A string is stored as its text, {"base64": …} as those bytes, null as null, '
        "anything else as its JSON",
        examples=[{"price": 101}],
    )
    headers: list[tuple[str, str | Base64 | None]] | dict[str, str | Base64 | None] = Field(
        [], description="Pairs in order, or an object", examples=[[["source", "web"]]]
    )
    partition: int | None = Field(None, description="Instead of the one that the key decides")
    timestamp: int | None = Field(None, description="Milliseconds since 1970; else now")


class Event(Model):
    """Bytes that are UTF-8 are a string, others are base64. With `decode=json`, keys and values
    that have a schema are what they say by it, and the ids of their schemas are there."""

    topic: str = Field(examples=["ticks"])
    partition: int = Field(examples=[2])
    offset: int = Field(examples=[41])
    timestamp: int = Field(description="Milliseconds since 1970", examples=[1700000000000])
    key: Any = Field(description="A string, base64 or null", examples=["AMZN"])
    value: Any = Field(description="A string, base64 or null", examples=['{"price":101}'])
    headers: list[tuple[str, str | Base64 | None]] = Field(examples=[[["source", "web"]]])
    key_schema_id: int = Field(0, description="Of the schema that has decoded the key")
    value_schema_id: int = Field(0, description="Of the schema that has decoded the value")


class Gap(Model):
    """What was to come and is no more, both ends included."""

    topic: str
    partition: int
    first: int
    last: int
    reason: str = Field(description="`expired` or `reset`", examples=["expired"])


class EventPage(Model):
    events: list[Event]
    gaps: list[Gap]
    position: str = Field(description="Where to go on: a vector", examples=["0:12,1:7"])
    next: str = Field(
        description="The address of the next page",
        examples=["/topics/ticks/events?from=0:12,1:7&limit=100"],
    )


class TopicSummary(Model):
    name: str = Field(examples=["ticks"])
    partitions: int = Field(examples=[3])
    replicas: int = Field(examples=[1])


class TopicList(Model):
    topics: list[TopicSummary]


class NewTopic(Model):
    name: str = Field(examples=["ticks"])
    partitions: int = Field(-1, description="-1: as many as the cluster thinks right", ge=-1)
    replicas: int = Field(-1, description="-1: as many as the cluster thinks right", ge=-1)
    settings: dict[str, str] = Field({}, examples=[{"retention.ms": "86400000"}])


class Partition(Model):
    partition: int
    leader: int = Field(description="A broker's number; -1 if nobody leads it")
    replicas: list[int]
    in_sync_replicas: list[int]
    first_offset: int | None = Field(description="Of the oldest event there is")
    next_offset: int | None = Field(description="Of the event that will be written next")


class Setting(Model):
    value: str | None
    source: str = Field(examples=["DYNAMIC_TOPIC_CONFIG"])


class Topic(Model):
    name: str
    internal: bool
    partitions: list[Partition]
    settings: dict[str, Setting]


class GroupSummary(Model):
    name: str = Field(examples=["billing"])
    state: str = Field(examples=["Stable"])
    kind: str = Field(examples=["classic"])


class GroupList(Model):
    groups: list[GroupSummary]


class Member(Model):
    member_id: str
    client_id: str
    host: str
    partitions: list[str] = Field(examples=[["ticks/0"]])


class GroupOffset(Model):
    topic: str
    partition: int
    committed: int | None
    first_offset: int | None
    next_offset: int | None
    lag: int | None
    member_id: str | None


class Group(Model):
    name: str
    state: str
    coordinator: int
    assignor: str
    members: list[Member]
    offsets: list[GroupOffset]
    lag: int


class Seek(Model):
    """Where a group is to go on; no member may be in it."""

    to: str = Field(
        description="`earliest`, `latest`, a time, or a vector with topics", examples=["earliest"]
    )
    topics: list[str] | None = Field(None, description="Else those that the group has committed")


class Moved(Model):
    topic: str
    partition: int
    before: int | None
    now: int | None
    error: str | None


class SeekResult(Model):
    group: str
    moved: list[Moved]


class Health(Model):
    status: str = Field(examples=["ok"])
    message: str = Field(examples=["the cluster answers"])


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For a route's `responses`."""
    return {status: {"model": Problem, "description": _MEANINGS[status]} for status in statuses}


_MEANINGS = {
    400: "The request cannot be read; it says where",
    403: "Not allowed",
    404: "There is no such thing",
    409: "It is in the way of something else",
    413: "Too large",
    415: "No form of events",
    503: "The cluster does not answer, or too many streams are open",
}
