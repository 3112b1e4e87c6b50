"""DescribeLogDirs (35), versions 1–5. One directory, what is in it, and, from version 4, the room
there is, unless the disk hangs. From version 2 on also how far compacted partitions are compacted.

A partition that could not be opened is left out: nobody knows its size.
"""

from collections.abc import Iterable

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
    wanted = None
    if request.topics is not None:
        wanted = {topic.topic: topic.partitions for topic in request.topics}
    result = DescribeLogDirsResult(log_dir=ctx.broker.storage.path)
    async for topic in ctx.broker.slices.paced(list(ctx.broker.topics)):
        if wanted is None:
            result.topics.append(await _describe(ctx, topic, range(len(topic.partitions))))
        elif topic.name in wanted:
            result.topics.append(await _describe(ctx, topic, dict.fromkeys(wanted[topic.name])))
    if ctx.broker.storage.is_durable:
        room = await ctx.broker.disk.room(ctx.broker.storage.path)
        if room is not None:
            result.total_bytes, result.usable_bytes = room
    return DescribeLogDirsResponse(results=[result])


async def _describe(ctx: Context, topic: Topic, indexes: Iterable[int]) -> DescribeLogDirsTopic:
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
