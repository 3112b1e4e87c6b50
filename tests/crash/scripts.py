"""Short stories for a broker whose power is cut at every point of them, and words to tell them in.

`cut_everywhere` runs a script on a prepared disk once for each of its file operations, with the cut
there, and lets another script check what is left.
Above: test_namesakes.py, test_deleted_records.py. Below: power.py.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from uuid import UUID

from tests.crash.forgetting import ForgettingFiles, PowerCut
from tests.crash.power import Disk, Machine
from tests.wire.client import AsyncClient
from tests.wire.requests import batch, create_topic, produce

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.create_topics import CreateTopicsResponse
from kafkaesque.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from kafkaesque.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kafkaesque.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kafkaesque.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafkaesque.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kafkaesque.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafkaesque.protocol.messages.produce import ProduceResponse

TOPIC = "again"
GROUP = "readers"
PRODUCER = 7

Script = Callable[[AsyncClient], Awaitable[None]]


async def cut_everywhere(before: Script | None, script: Script, check: Script) -> None:
    """Run `script` on what `before` has left, cut at every operation; `check` what remains."""
    prepared = await life(ForgettingFiles(), before or _nothing, None)
    operations = (await life(prepared.cut(random.Random(0)), script, None, count=True)).operations
    assert operations > 10
    for cut_at in range(1, operations + 2):
        rng = random.Random(cut_at)
        left = await life(prepared.cut(rng), script, cut_at)
        await life(left, check, None)


async def life(
    files: ForgettingFiles, script: Script, cut_at: int | None, count: bool = False
) -> ForgettingFiles:
    """What is left of the disk after the script or the cut; with `count`, the disk itself."""
    machine = Machine(Disk(files, cut_at, random.Random(cut_at or 0)))
    try:
        await machine.start()
        machine.begin_regular_work()
        client = await machine.connect()
        task = asyncio.ensure_future(script(client))
        dark = asyncio.create_task(machine.darkness.wait())
        await asyncio.wait({task, dark}, return_when=asyncio.FIRST_COMPLETED)
        dark.cancel()
        task.cancel()
        (failure,) = await asyncio.gather(task, return_exceptions=True)
        client.close()
        if failure is not None and not machine.is_dark:
            raise failure
    except PowerCut:
        pass
    finally:
        await machine.end()
    assert machine.disk.survivor is not None
    return machine.disk if count else machine.disk.survivor


async def _nothing(client: AsyncClient) -> None:
    pass


async def create(client: AsyncClient, partitions: int = 1) -> bool:
    """Whether there was no such topic."""
    answer = await client.call(
        create_topic(TOPIC, partitions, segment_bytes="1024"), CreateTopicsResponse, 7
    )
    assert answer.topics[0].error_code in {ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS}
    return answer.topics[0].error_code == ErrorCode.NONE


async def replace(client: AsyncClient) -> None:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=TOPIC)])
    assert (await client.call(request, DeleteTopicsResponse, 6)).responses[0].error_code == 0
    assert await create(client)


async def topic_id(client: AsyncClient) -> UUID:
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=TOPIC)], allow_auto_topic_creation=False
    )
    return (await client.call(request, MetadataResponse, 12)).topics[0].topic_id


async def produce_in_sequence(client: AsyncClient, sequence: int) -> int:
    records = batch([bytes(400)], producer=(PRODUCER, 0, sequence))
    answer = await client.call(produce(TOPIC, 0, records), ProduceResponse, 9)
    return answer.responses[0].partition_responses[0].error_code


async def delete_records(client: AsyncClient, partition: int = 0, offset: int = -1) -> None:
    wanted = DeleteRecordsPartition(partition_index=partition, offset=offset)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=TOPIC, partitions=[wanted])], timeout_ms=1000
    )
    answer = await client.call(request, DeleteRecordsResponse, 2)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE


async def commit(client: AsyncClient, offset: int) -> None:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topic = OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])
    request = OffsetCommitRequest(group_id=GROUP, topics=[topic])
    answer = await client.call(request, OffsetCommitResponse, 8)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE


async def committed(client: AsyncClient) -> int:
    request = OffsetFetchRequest(group_id=GROUP, topics=None)
    answer = await client.call(request, OffsetFetchResponse, 5)
    found = [p.committed_offset for topic in answer.topics for p in topic.partitions]
    return found[0] if found else -1


async def end_offset(client: AsyncClient) -> int:
    return await _list_offset(client, 0, -1)


async def log_start(client: AsyncClient, partition: int) -> int:
    return await _list_offset(client, partition, -2)


async def _list_offset(client: AsyncClient, partition: int, timestamp: int) -> int:
    wanted = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
    request = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=TOPIC, partitions=[wanted])]
    )
    return (await client.call(request, ListOffsetsResponse, 7)).topics[0].partitions[0].offset
