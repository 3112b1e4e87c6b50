"""DescribeProducers (61), version 0. What a partition knows of its producers (KIP-664)."""

from collections import defaultdict

from kafkaesque.broker.apis.answer_size import answer_size
from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import KafkaError
from kafkaesque.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)


async def describe_producers(
    ctx: Context, request: DescribeProducersRequest
) -> DescribeProducersResponse:
    """Each partition once, however often it is named: it may have many producers."""
    response = DescribeProducersResponse()
    paced, size = ctx.broker.slices.paced, 0
    # Numbers, by topic: to free as many pairs at once would hold the loop.
    seen: defaultdict[str, set[int]] = defaultdict(set)
    async for topic in paced(request.topics):
        answered = TopicResponse(name=topic.name)
        response.topics.append(answered)
        async for number in paced(topic.partition_indexes):
            if number not in seen[topic.name]:
                seen[topic.name].add(number)
                answered.partitions.append(PartitionResponse(partition_index=number))
                size += _size(ctx, topic.name, number)
    await ctx.take_room(size)
    async for answered in paced(response.topics):
        async for partition in paced(answered.partitions):
            await _describe(ctx, answered.name, partition)
    return response


def _size(ctx: Context, topic: str, number: int) -> int:
    """One that is not there is named in an error."""
    try:
        partition = ctx.broker.topics.named(topic).partition(number)
    except KafkaError:
        return answer_size(1, topic)
    return answer_size(1 + len(partition.producers))


async def _describe(ctx: Context, topic: str, answer: PartitionResponse) -> None:
    try:
        partition = ctx.broker.topics.named(topic).partition(answer.partition_index)
        partition.check_online()
    except KafkaError as error:
        answer.error_code, answer.error_message = error.code, error.message
        return
    opened = {each.producer_id: each.first_offset for each in partition.open_transactions()}
    async for producer in ctx.broker.slices.paced(partition.producers.describe()):
        answer.active_producers.append(
            ProducerState(
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                last_sequence=producer.last_sequence,
                last_timestamp=producer.last_timestamp,
                coordinator_epoch=producer.coordinator_epoch,
                current_txn_start_offset=opened.get(producer.producer_id, -1),
            )
        )
