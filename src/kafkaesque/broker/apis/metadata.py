"""Metadata (3), versions 0–13. Who leads what: this node leads everything.

- No topics in the request: none; null (or empty in version 0): all.
- A topic that is not there is created if the client allows it and `auto.create.topics.enable` is
  set; the answer waits until it is, instead of sending the client away to try again.
- Authorised operations are told where they are asked for (KIP-430), of topics that are not there
  too, unless they are asked for by id.
- Version 10 brings topic ids (KIP-516), 12 asks by id alone.
"""

from collections.abc import Mapping
from functools import partial

from kafkaesque.broker.apis.answer_size import answer_size
from kafkaesque.broker.apis.authorized_operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS
from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.config import NODE_ID
from kafkaesque.broker.partition import LEADER_EPOCH
from kafkaesque.broker.topics import NewTopic, Topic, check_topic_name
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafkaesque.protocol.schema import ZERO_UUID

_ELEMENTS_PER_PARTITION = 2
"""It has lists of its own."""


async def metadata(ctx: Context, request: MetadataRequest) -> MetadataResponse:
    topics, paced = ctx.broker.topics, ctx.broker.slices.paced
    described: list[MetadataResponseTopic] = []
    if request.topics is None or (ctx.version == 0 and not request.topics):
        async for topic in ctx.with_room(topics, _size, described):
            if topic.name in topics:  # Else it has been deleted meanwhile.
                topic = topics.named(topic.name)
                if not topic.is_unused:
                    described.append(_describe(topic))
        return metadata_response(ctx, request, described)
    # A topic that is named a thousand times is described once, as in Kafka.
    wanted: dict[tuple[str | None, int], MetadataRequestTopic] = {}
    refused: dict[str, ErrorCode] = {}
    async for named in paced(request.topics):
        wanted[named.name, named.topic_id.int] = named
    if request.allow_auto_topic_creation and ctx.broker.config["auto.create.topics.enable"]:
        async for named in paced(wanted.values()):
            if named.name and named.name not in topics:
                ctx.ends_with_connection = False
                await _create(ctx, named.name, refused)
    size = partial(_size_of_wanted, ctx)
    async for named in ctx.with_room(wanted.values(), size, described):
        answer = _look_up(ctx, named, refused)
        described.append(answer)
    return metadata_response(ctx, request, described)


def _size(topic: Topic) -> int:
    return answer_size(1 + _ELEMENTS_PER_PARTITION * len(topic.partitions), topic.name)


def _size_of_wanted(ctx: Context, wanted: MetadataRequestTopic) -> int:
    """Of those that are not there the request holds enough."""
    partitions = ctx.broker.topics.count_partitions(wanted.name, wanted.topic_id)
    return answer_size(_ELEMENTS_PER_PARTITION * partitions)


async def _create(ctx: Context, name: str, refused: dict[str, ErrorCode]) -> None:
    try:
        await ctx.broker.topics.create(NewTopic(name))
    except KafkaError as error:
        if error.code in (ErrorCode.INVALID_PARTITIONS, ErrorCode.POLICY_VIOLATION):
            refused[name] = error.code  # There is no room for it. Else a client asks again.


def _look_up(
    ctx: Context, wanted: MetadataRequestTopic, refused: Mapping[str, ErrorCode]
) -> MetadataResponseTopic:
    try:
        if wanted.topic_id == ZERO_UUID:
            check_topic_name(wanted.name or "")
        return _describe(ctx.broker.topics.find(wanted.name or "", wanted.topic_id))
    except KafkaError as error:
        name = wanted.name if wanted.name or ctx.version >= 12 else ""
        code = refused.get(wanted.name or "", error.code)
        return MetadataResponseTopic(error_code=code, name=name, topic_id=wanted.topic_id)


def _describe(topic: Topic) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.is_internal,
        partitions=[_partition(index) for index in range(len(topic.partitions))],
    )


def _partition(index: int) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        partition_index=index,
        leader_id=NODE_ID,
        leader_epoch=LEADER_EPOCH,
        replica_nodes=[NODE_ID],
        isr_nodes=[NODE_ID],
    )


def metadata_response(
    ctx: Context, request: MetadataRequest, topics: list[MetadataResponseTopic]
) -> MetadataResponse:
    """What there is to say beside the topics, and these."""
    node_id, host, port = ctx.advertised
    response = MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=node_id, host=host, port=port)],
        cluster_id=ctx.broker.cluster_id,
        controller_id=NODE_ID,
        topics=topics,
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    if request.include_topic_authorized_operations:
        for topic in topics:
            if topic.error_code != ErrorCode.UNKNOWN_TOPIC_ID:
                topic.topic_authorized_operations = TOPIC_OPERATIONS
    return response
