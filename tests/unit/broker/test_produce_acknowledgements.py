"""A Produce of many batches for one partition: they wait for the disk together, and none of them is
acknowledged that the disk has lost.
"""

import asyncio
from itertools import count
from pathlib import Path

from tests.unit.broker.brokers import HeldSlices, PathFiles, call, new_topic, until, with_broker
from tests.unit.broker.state_logs import Now
from tests.wire.requests import batch

from kafkaesque.broker.broker import Broker
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

TIMEOUT_MS = 60_000
MANY = 150


def produce(*topics: str) -> ProduceRequest:
    """Many batches for each, in turns."""
    data = [
        TopicProduceData(
            name=name, partition_data=[PartitionProduceData(records=batch([b"v"], timestamp=0))]
        )
        for _ in range(MANY)
        for name in topics
    ]
    return ProduceRequest(acks=-1, timeout_ms=TIMEOUT_MS, topic_data=data)


def answers(response: ProduceResponse, topic: str) -> list[PartitionProduceResponse]:
    return [
        answered.partition_responses[0] for answered in response.responses if answered.name == topic
    ]


def test_the_batches_of_a_request_wait_together_for_each_partition(tmp_path: Path) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        partitions = await new_topic(broker, "a"), await new_topic(broker, "b")
        files.held.update(["/a-0/", "/b-0/"])
        producing = asyncio.ensure_future(call(broker, produce("a", "b"), 9))
        await until(lambda: all(each.log.end_offset == MANY for each in partitions))
        assert [len(partition._unflushed) for partition in partitions] == [1, 1]
        files.release()
        response = await producing
        for topic in ("a", "b"):
            assert [answer.base_offset for answer in answers(response, topic)] == [*range(MANY)]

    with_broker(tmp_path / "data", work)


def test_two_requests_for_one_partition_wait_each_for_its_own(tmp_path: Path) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a = await new_topic(broker, "a")
        files.held.add("/a-0/")
        broker.slices._clock = count().__next__
        requests = [asyncio.ensure_future(call(broker, produce("a"), 9)) for _ in range(2)]
        await until(lambda: a.log.end_offset == 2 * MANY)
        assert len(a._unflushed) > 1
        files.release()
        offsets = [
            answer.base_offset for request in requests for answer in answers(await request, "a")
        ]
        assert sorted(offsets) == [*range(2 * MANY)]

    with_broker(tmp_path / "data", work)


def test_batches_that_a_failed_flush_has_lost_are_refused_though_later_ones_are_durable(
    tmp_path: Path,
) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a = await new_topic(broker, "a")
        files.held.add("/a-0/")
        broker.slices._clock = count().__next__
        producing = asyncio.ensure_future(call(broker, produce("a"), 9))
        await until(lambda: a.log.end_offset > 10)
        held = HeldSlices(broker)
        await until(lambda: held.waits)
        files.unsynced.add("/a-0/")
        files.release()
        await until(lambda: a.offline is not None)
        lost = a.log.end_offset
        files.mend()
        await broker.storage.revive()
        held.let_go()
        codes = [answer.error_code for answer in answers(await producing, "a")]
        assert codes == [ErrorCode.KAFKA_STORAGE_ERROR] * lost + [ErrorCode.NONE] * (MANY - lost)
        assert a.high_watermark == MANY - lost > 0

    with_broker(tmp_path / "data", work)
