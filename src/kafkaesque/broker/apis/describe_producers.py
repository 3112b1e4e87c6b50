"""DescribeProducers (61), version 0. What a partition knows of its producers (KIP-664)."""

from collections import defaultdict

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
    paced = ctx.broker.slices.paced
    # Numbers, by topic: to free as many pairs at once would hold the loop.
    seen: defaultdict[str, set[int]] = defaultdict(set)
    async for topic in paced(request.topics):
        answered = TopicResponse(name=topic.name)
        response.topics.append(answered)
        async for number in paced(topic.partition_indexes):
            if number not in seen[topic.name]:
                seen[topic.name].add(number)
                answered.partitions.append(await _describe(ctx, topic.name, number))
    return response


async def _describe(ctx: Context, topic: str, number: int) -> PartitionResponse:
    answer = PartitionResponse(partition_index=number)
    try:
        partition = ctx.broker.topics.named(topic).partition(number)
        partition.check_online()
    except KafkaError as error:
        answer.error_code, answer.error_message = error.code, error.message
        return answer
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
    return answer
