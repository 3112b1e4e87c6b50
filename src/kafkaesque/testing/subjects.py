"""What a request is about: its topics, told by name whatever way the request names them.

A fault may be about one topic, and a request about several. `split` parts it in two: what the
fault is about, and the rest, which the broker carries out as ever; `merge` makes one answer of the
two. A request for *all* topics is spelled out first. A fetch of a session names no topics at all;
`leaves_out_topics` tells. Above: faults.py, faulty_apis.py.
"""

import copy
from typing import Any, NamedTuple

from kafkaesque.broker.apis import Context
from kafkaesque.errors import KafkaError
from kafkaesque.protocol.messages import MESSAGES
from kafkaesque.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from kafkaesque.protocol.messages.fetch import FetchRequest
from kafkaesque.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkaesque.protocol.messages.offset_fetch import OffsetFetchRequest
from kafkaesque.protocol.schema import ZERO_UUID, schema_of

_TOPIC_RESOURCE = 2
_REQUEST_LISTS = ("topic_data", "topics", "topic_names", "resources")
_RESPONSE_LISTS = ("responses", "topics", "results")


class Parts(NamedTuple):
    """A request in two: each is None where there is nothing for it."""

    meant: Any | None
    rest: Any | None


def names_topics(api_key: int) -> bool:
    """Whether requests of this API are about topics at all."""
    fields = {field.name for field in schema_of(MESSAGES[api_key].request).fields}
    return not fields.isdisjoint(_REQUEST_LISTS)


def leaves_out_topics(request: Any) -> bool:
    """Whether the topics are those of a fetch session (KIP-227), which began earlier."""
    return isinstance(request, FetchRequest) and request.session_epoch > 0


def split(context: Context, request: Any, topic: str | None) -> Parts:
    """Part a request in what is about this topic, or about anything for None, and the rest."""
    request = _spelled_out(context, request)
    if topic is None:
        return Parts(request, None)
    if isinstance(request, OffsetFetchRequest):
        # A group's offsets are asked for, and refused, all at once.
        return Parts(request, None) if topic in _fetched(context, request) else Parts(None, request)
    meant, rest = copy.copy(request), copy.copy(request)
    for name in _REQUEST_LISTS:
        parts = getattr(request, name, None)
        if parts:
            setattr(meant, name, [part for part in parts if _topic(context, part) == topic])
            setattr(rest, name, [part for part in parts if _topic(context, part) != topic])
    if isinstance(rest, FetchRequest):
        # The answer has errors in it, and those are not waited for. A session would hold both.
        rest.max_wait_ms, rest.session_epoch = 0, -1
    return Parts(meant if _has_parts(meant) else None, rest if _has_parts(rest) else None)


def merge(answer: Any, refused: Any) -> Any:
    """One answer of the answer to the rest and the refusal."""
    for name in _RESPONSE_LISTS:
        if hasattr(answer, name):
            getattr(answer, name).extend(getattr(refused, name))
    return answer


def _spelled_out(context: Context, request: Any) -> Any:
    topics = [topic for topic in context.broker.topics if not topic.is_internal]
    if isinstance(request, MetadataRequest):
        if request.topics is None or (context.version == 0 and not request.topics):
            wanted = [MetadataRequestTopic(name=topic.name, topic_id=topic.id) for topic in topics]
            return MetadataRequest(topics=wanted)
    elif isinstance(request, DescribeTopicPartitionsRequest) and not request.topics:
        named = [TopicRequest(name=topic.name) for topic in topics]
        return DescribeTopicPartitionsRequest(topics=named)
    return request


def _fetched(context: Context, request: OffsetFetchRequest) -> set[str | None]:
    groups = [group.topics for group in request.groups]
    return {_topic(context, part) for part in [*(request.topics or ()), *_flat(groups)]}


def _flat(lists: list[Any]) -> list[Any]:
    return [part for parts in lists for part in parts or ()]


def _has_parts(request: Any) -> bool:
    return any(getattr(request, name, None) for name in _REQUEST_LISTS)


def _topic(context: Context, part: Any) -> str | None:
    """The name of the topic that a part of a request is about."""
    if isinstance(part, str):
        return part
    if hasattr(part, "resource_type"):
        return part.resource_name if part.resource_type == _TOPIC_RESOURCE else None
    name: str | None = getattr(part, "name", None) or getattr(part, "topic", None)
    if name:
        return name
    topic_id = getattr(part, "topic_id", ZERO_UUID)
    try:
        return context.broker.topics.find("", topic_id).name
    except KafkaError:
        return None
