"""DescribeLogDirs (35), versions 1–5. One directory, what is in it, and, from version 4, the room
there is, unless the disk hangs. From version 2 on also how far compacted partitions are compacted.

A partition that could not be opened is left out: nobody knows its size.
"""

from collections.abc import Collection

from kafkaesque.broker.apis.answer_size import answer_size
from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.topics import Topic
from kafkaesque.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


async def describe_log_dirs(
    ctx: Context, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    wanted: dict[str, Collection[int]] | None = None
    if request.topics is not None:
        paced = ctx.broker.slices.paced(request.topics)
        wanted = {topic.topic: dict.fromkeys(topic.partitions) async for topic in paced}
    result = DescribeLogDirsResult(log_dir=ctx.broker.storage.path)
    topics = ctx.broker.topics

    def indexes(topic: Topic) -> Collection[int]:
        return range(len(topic.partitions)) if wanted is None else wanted.get(topic.name, ())

    def size(topic: Topic) -> int:
        count = min(len(indexes(topic)), len(topic.partitions))
        return answer_size(1 + count, topic.name) if count else 0

    async for topic in ctx.with_room(topics, size, result.topics):
        is_wanted = wanted is None or topic.name in wanted
        if is_wanted and topic.name in topics:  # Else it has been deleted meanwhile.
            topic = topics.named(topic.name)
            result.topics.append(await _describe(ctx, topic, indexes(topic)))
    if ctx.broker.storage.is_durable:
        room = await ctx.broker.disk.room(ctx.broker.storage.path)
        if room is not None:
            result.total_bytes, result.usable_bytes = room
    return DescribeLogDirsResponse(results=[result])


async def _describe(ctx: Context, topic: Topic, indexes: Collection[int]) -> DescribeLogDirsTopic:
    count = len(topic.partitions)
    return DescribeLogDirsTopic(
        name=topic.name,
        partitions=[
            _partition(ctx, topic, index)
            async for index in ctx.broker.slices.paced(indexes)
            if 0 <= index < count and topic.partitions[index].is_begun
        ],
    )


def _partition(ctx: Context, topic: Topic, index: int) -> DescribeLogDirsPartition:
    partition = topic.partitions[index]
    answer = DescribeLogDirsPartition(partition_index=index, partition_size=partition.log.size)
    if topic.config.compacted:
        answer.cleaned_to = ctx.broker.cleaner.state(partition).cleaned_to
    return answer
