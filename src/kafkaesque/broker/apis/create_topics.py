"""CreateTopics (19), versions 2–7. Each topic fails or succeeds alone; `validate_only` changes
nothing. A name that comes twice is refused, and answered once, as in Kafka.

A replication factor above 1 is taken as 1 on this single node, unless `strict.replication` is set.
Version 5 answers with the topic's configs (KIP-525), 7 with its id.
"""

from kafkaesque.broker.apis.config_entries import topic_configs
from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.config import NODE_ID
from kafkaesque.broker.topic_settings import TOPIC_SETTINGS
from kafkaesque.broker.topics import NewTopic
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)


async def create_topics(ctx: Context, request: CreateTopicsRequest) -> CreateTopicsResponse:
    paced = ctx.broker.slices.paced
    times_named: dict[str, int] = {}
    async for topic in paced(request.topics):
        times_named[topic.name] = times_named.get(topic.name, 0) + 1
    results = []
    async for topic in paced(request.topics):
        times = times_named.pop(topic.name, 0)
        if not times:
            continue
        try:
            if times > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            results.append(await _create(ctx, topic, request.validate_only))
        except KafkaError as error:
            results.append(
                CreatableTopicResult(
                    name=topic.name, error_code=error.code, error_message=error.message
                )
            )
    return CreateTopicsResponse(topics=results)


async def _create(
    ctx: Context, wanted: CreatableTopic, validate_only: bool
) -> CreatableTopicResult:
    new = _new_topic(ctx, wanted)
    topics = ctx.broker.topics
    if validate_only:
        topics.check(new)
        partitions = topics.partition_count(new)
        return CreatableTopicResult(
            name=wanted.name, error_message=None, num_partitions=partitions, replication_factor=1
        )
    topic = await topics.create(new, ctx.broker.slices.run)
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic.id,
        error_message=None,
        num_partitions=len(topic.partitions),
        replication_factor=1,
        configs=[
            CreatableTopicConfigs(
                name=config.name, value=config.value, config_source=config.config_source
            )
            for config in topic_configs(ctx.broker.config, topic.overrides)
        ],
    )


def _new_topic(ctx: Context, wanted: CreatableTopic) -> NewTopic:
    partitions = wanted.num_partitions
    if wanted.assignments:
        if partitions != -1 or wanted.replication_factor != -1:
            message = "with an assignment, partitions and replication factor are left to it (-1)"
            raise KafkaError(ErrorCode.INVALID_REQUEST, message)
        partitions = _assigned_partitions(wanted)
    elif partitions == 0 or partitions < -1:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, "a topic has at least one partition")
    _check_replication(ctx, wanted)
    configs: dict[str, str | None] = {}
    for config in wanted.configs:
        if config.name in configs:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"{config.name} is set twice")
        configs[config.name] = config.value
        if len(configs) > len(TOPIC_SETTINGS):
            break  # One of these is no setting, and that is what is answered.
    return NewTopic(wanted.name, None if partitions == -1 else partitions, configs)


def _assigned_partitions(wanted: CreatableTopic) -> int:
    indexes = sorted(assignment.partition_index for assignment in wanted.assignments)
    brokers = {broker for assignment in wanted.assignments for broker in assignment.broker_ids}
    if indexes != list(range(len(indexes))) or brokers != {NODE_ID}:
        message = f"partitions must be 0…n−1, each assigned to node {NODE_ID}, the only one"
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    return len(indexes)


def _check_replication(ctx: Context, wanted: CreatableTopic) -> None:
    factor = wanted.replication_factor
    if factor == 0 or factor < -1:
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, "must be at least 1, or -1")
    if factor > 1 and ctx.broker.config["strict.replication"]:
        message = f"replication factor {factor} on a single node (strict.replication is set)"
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, message)
