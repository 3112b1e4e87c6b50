"""DescribeProducers (61), version 0. What a partition knows of its producers (KIP-664)."""

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import KafkaError
from kafkaesque.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)


def describe_producers(
    ctx: Context, request: DescribeProducersRequest
) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[_describe(ctx, topic.name, n) for n in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


def _describe(ctx: Context, topic: str, number: int) -> PartitionResponse:
    answer = PartitionResponse(partition_index=number)
    try:
        partition = ctx.broker.topics.named(topic).partition(number)
    except KafkaError as error:
        answer.error_code, answer.error_message = error.code, error.message
        return answer
    opened = {each.producer_id: each.first_offset for each in partition.open_transactions()}
    answer.active_producers = [
        ProducerState(
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            last_sequence=producer.last_sequence,
            last_timestamp=producer.last_timestamp,
            coordinator_epoch=producer.coordinator_epoch,
            current_txn_start_offset=opened.get(producer.producer_id, -1),
        )
        for producer in partition.producers.describe()
    ]
    return answer
