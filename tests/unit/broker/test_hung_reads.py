"""A disk that hangs under the reads of some partitions: what becomes of them, and of the others."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.broker.brokers import ShiftedLoop, until
from tests.unit.broker.connections import LISTENER, Client, EndlessTurn

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.config import BrokerConfig
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.server import wall_clock
from kafkaesque.broker.topics import NewTopic
from kafkaesque.errors import ErrorCode
from kafkaesque.log.files import File, OsFiles
from kafkaesque.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kafkaesque.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkaesque.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkaesque.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkaesque.records.batch import Record, new_batch
from kafkaesque.records.compression import Codec
from kafkaesque.types import Buffer

FETCH, LIST_OFFSETS, PRODUCE = 11, 5, 9
THREADS_OF_ONE = 4
READING_THREADS = 32
PATIENCE_MS = 5000


class HungFiles(OsFiles):
    """No page cache has what is below a directory of `cold`. Of `hung`, no read ends."""

    def __init__(self) -> None:
        self.cold: set[str] = set()
        self.hung: set[str] = set()
        self.goes_on = threading.Event()

    def open(self, path: str, *, create: bool = False) -> File:
        return _HungFile(self, path, super().open(path, create=create))


class _HungFile:
    def __init__(self, files: HungFiles, path: str, file: File) -> None:
        self._files = files
        self._topic = Path(path).parent.name.rpartition("-")[0]
        self._file = file

    def pread(self, size: int, position: int) -> bytes:
        is_thread = threading.current_thread() is not threading.main_thread()
        if self._topic in self._files.hung and is_thread:
            self._files.goes_on.wait(60)
        return self._file.pread(size, position)

    def pread_nowait(self, size: int, position: int) -> Buffer | None:
        if self._topic in self._files.hung | self._files.cold:
            return None
        return self._file.pread_nowait(size, position)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class Rig:
    def __init__(self, broker: Broker, files: HungFiles) -> None:
        self.broker = broker
        self.files = files

    async def topic(self, name: str, size: int = 1000, **configs: str) -> Partition:
        given = {key.replace("_", "."): text for key, text in configs.items()}
        partition = (await self.broker.topics.create(NewTopic(name, 1, given))).partition(0)
        for _ in range(3):
            partition.append(memoryview(batch(size)))
        if waiting := partition.flushed(partition.log.end_offset):
            await waiting
        return partition

    async def hung(self, *names: str, size: int = 1000) -> list[Partition]:
        partitions = [await self.topic(name, size) for name in names]
        self.files.hung.update(names)
        return partitions

    async def take_all_threads_of(self, *names: str) -> None:
        """They hang, and for so long that it is known."""
        for name in names:
            for _ in range(THREADS_OF_ONE):
                Client(self.broker).send(fetch(name), FETCH)
        await until(lambda: self.threads == THREADS_OF_ONE * len(names))
        time_passes(PATIENCE_MS)
        partitions = [self.broker.topics.named(name).partition(0) for name in names]
        await until(lambda: all(partition.cold_reads.is_stuck for partition in partitions))

    @property
    def threads(self) -> int:
        return self.broker.disk._threads_reading.under_way


def run(path: Path, story: Callable[[Rig], Awaitable[None]]) -> None:
    async def main() -> None:
        files = HungFiles()
        broker = await Broker.open(BrokerConfig.of([LISTENER], path, {}), wall_clock, files)
        broker.turn = EndlessTurn()
        try:
            await story(Rig(broker, files))
        finally:
            files.hung.clear()
            files.goes_on.set()
            await broker.close()

    with asyncio.Runner(loop_factory=ShiftedLoop) as runner:
        runner.run(main())


def time_passes(duration_ms: int) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, ShiftedLoop)
    loop.shift_ms += duration_ms


async def turns() -> None:
    """Until everybody who can go on has."""
    for _ in range(20):
        await asyncio.sleep(0)


def batch(size: int = 1000, codec: Codec = Codec.NONE) -> bytearray:
    return new_batch([Record(0, wall_clock(), b"key", b"v" * size)], codec=codec)


def fetch(
    *topics: str, max_wait_ms: int = 100, max_bytes: int = 8 << 20, **session: int
) -> FetchRequest:
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=max_bytes)
    return FetchRequest(
        isolation_level=0,
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=50 << 20,
        topics=[FetchTopic(topic=topic, partitions=[wanted]) for topic in topics],
        **session,  # type: ignore[arg-type]
    )


def list_offsets(*topics: str) -> ListOffsetsRequest:
    partition = ListOffsetsPartition(partition_index=0, timestamp=1)
    return ListOffsetsRequest(
        topics=[ListOffsetsTopic(name=topic, partitions=[partition]) for topic in topics]
    )


def produce(topic: str, records: bytearray) -> ProduceRequest:
    data = [PartitionProduceData(index=0, records=records)]
    return ProduceRequest(
        acks=-1,
        timeout_ms=1000,
        topic_data=[TopicProduceData(name=topic, partition_data=data)],
    )


def fetched(answer: Any) -> dict[str, tuple[int, bool]]:
    """Error, and whether there are records, by topic."""
    return {
        topic.topic: (data.error_code, bool(data.records))
        for topic in answer.responses
        for data in topic.partitions
    }


def listed(answer: Any) -> dict[str, tuple[int, int]]:
    return {t.name: (p.error_code, p.offset) for t in answer.topics for p in t.partitions}


def test_whoever_waits_for_a_hung_partition_holds_no_bytes(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.hung("hung", size=900_000)
        clients = [Client(rig.broker) for _ in range(130)]
        for client in clients:
            client.send(fetch("hung"), FETCH)
        await until(lambda: rig.threads == THREADS_OF_ONE)
        await turns()
        assert rig.broker.budget.used < (THREADS_OF_ONE + 1) * 3 * 900_000
        # Once nobody waits for those either, they hold none, though they go on.
        for client in clients:
            client.cut()
        await until(lambda: not rig.broker.budget.used)
        assert rig.threads == THREADS_OF_ONE

    run(tmp_path, story)


def test_reads_that_were_given_up_are_no_longer_booked(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.hung("hung", size=900_000)
        client = Client(rig.broker)
        client.send(fetch("hung"), FETCH)
        await until(lambda: rig.broker.budget.used > 900_000)
        time_passes(PATIENCE_MS)
        await until(client.answers)
        assert rig.broker.budget.used == 0
        assert rig.threads == 1

    run(tmp_path, story)


def test_a_fetch_leaves_out_a_partition_that_hangs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(rig: Rig) -> None:
        await rig.hung("hung")
        await rig.topic("well")
        client = Client(rig.broker)
        client.send(fetch("well", "hung"), FETCH)
        await until(lambda: rig.threads == 1)
        time_passes(PATIENCE_MS)
        answer = await _answer(client)
        assert fetched(answer) == {"well": (0, True), "hung": (0, False)}
        assert "hung-0: a read hangs" in caplog.text

    with caplog.at_level(logging.WARNING):
        run(tmp_path, story)


def test_a_partition_without_a_thread_left_is_not_waited_for(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.hung("hung")
        await rig.topic("well")
        rig.files.cold.add("well")
        await rig.take_all_threads_of("hung")
        answer = await Client(rig.broker).call(fetch("hung", "well", max_wait_ms=10**6), FETCH)
        assert fetched(answer) == {"well": (0, True), "hung": (0, False)}

    run(tmp_path, story)


def test_a_fetch_of_a_hung_partition_alone_waits_as_if_there_was_nothing(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.hung("hung")
        await rig.take_all_threads_of("hung")
        client = Client(rig.broker)
        client.send(fetch("hung", max_wait_ms=1000), FETCH)
        await turns()
        assert client.answers() == []
        time_passes(1000)
        assert fetched(await _answer(client)) == {"hung": (0, False)}

    run(tmp_path, story)


def test_what_was_left_out_comes_as_soon_as_the_disk_answers(tmp_path: Path) -> None:
    """In a session it is asked for without being named."""

    async def story(rig: Rig) -> None:
        await rig.hung("hung")
        client = Client(rig.broker)
        client.send(fetch("hung", session_id=0, session_epoch=0), FETCH)
        await until(lambda: rig.threads == 1)
        time_passes(PATIENCE_MS)
        answer = await _answer(client)
        assert fetched(answer) == {"hung": (0, False)}
        rig.files.hung.clear()
        rig.files.goes_on.set()
        session = {"session_id": answer.session_id, "session_epoch": 1}
        assert fetched(await client.call(fetch(**session), FETCH)) == {"hung": (0, True)}

    run(tmp_path, story)


def test_the_room_of_what_hangs_is_for_the_others(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.hung("hung", size=1_000_000)
        await rig.topic("well")
        await rig.take_all_threads_of("hung")
        client = Client(rig.broker)
        # All of a small response would be the first one's.
        request = fetch("hung", "well", session_id=0, session_epoch=0)
        request.max_bytes = 1000
        client.send(request, FETCH)
        await turns()
        time_passes(100)
        answer = await _answer(client)
        assert fetched(answer) == {"hung": (0, False), "well": (0, True)}

    run(tmp_path, story)


def test_cold_reads_of_several_partitions_go_side_by_side(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.hung("one", "two")
        client = Client(rig.broker)
        client.send(fetch("one", "two"), FETCH)
        await until(lambda: rig.threads == 2)
        rig.files.goes_on.set()
        assert fetched(await _answer(client)) == {"one": (0, True), "two": (0, True)}

    run(tmp_path, story)


def test_behind_a_slow_disk_everybody_keeps_their_place(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        slow = await rig.topic("slow")
        gates = [threading.Event() for _ in range(4 * THREADS_OF_ONE)]
        reads = [slow.cold_reads.run(gate.wait) for gate in gates]
        # The last wait for twelve seconds, but never for five in which no read ends.
        for first in range(0, len(reads), THREADS_OF_ONE):
            time_passes(PATIENCE_MS - 1000)
            await turns()
            for gate in gates[first : first + THREADS_OF_ONE]:
                gate.set()
            assert all(await asyncio.gather(*reads[first : first + THREADS_OF_ONE]))

    run(tmp_path, story)


def test_a_search_that_hangs_keeps_no_other_from_its_turn(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.hung("hung")
        await rig.topic("well")
        client = Client(rig.broker)
        client.send(list_offsets("hung"), LIST_OFFSETS)
        await until(lambda: rig.threads == 1)
        answer = await Client(rig.broker).call(list_offsets("well"), LIST_OFFSETS)
        assert listed(answer) == {"well": (0, 0)}
        assert client.answers() == []
        time_passes(PATIENCE_MS)
        answer = await _answer(client)
        assert listed(answer) == {"hung": (ErrorCode.KAFKA_STORAGE_ERROR, -1)}

    run(tmp_path, story)


def test_clients_who_come_back_do_not_take_one_thread_after_the_other(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        (hung,) = await rig.hung("hung")
        for number in range(20):
            client = Client(rig.broker)
            client.send(list_offsets("hung"), LIST_OFFSETS)
            await until(lambda n=number: rig.threads == min(n + 1, THREADS_OF_ONE))  # type: ignore[misc]
            await turns()
            client.cut()
            await until(lambda: not rig.broker.searching.locked())
        assert rig.threads == THREADS_OF_ONE
        await until(lambda: not hung.cold_reads._waiting)

    run(tmp_path, story)


def test_many_hung_partitions_leave_threads_for_the_reads_of_others(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        names = [f"hung{number}" for number in range(10)]
        await rig.hung(*names)
        await rig.topic("well")
        rig.files.cold.add("well")
        for name in names:
            for _ in range(THREADS_OF_ONE + 1):
                Client(rig.broker).send(fetch(name), FETCH)
        await turns()
        assert rig.threads == READING_THREADS // 2 + 6
        assert fetched(await Client(rig.broker).call(fetch("well"), FETCH)) == {"well": (0, True)}

    run(tmp_path, story)


def test_batches_are_unpacked_whatever_hangs(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.topic("table", cleanup_policy="compact", compression_type="gzip")
        hung = [rig.broker.disk.run_read(rig.files.goes_on.wait) for _ in range(READING_THREADS)]
        answer = await Client(rig.broker).call(produce("table", batch(codec=Codec.ZSTD)), PRODUCE)
        assert answer.responses[0].partition_responses[0].error_code == 0
        rig.files.goes_on.set()
        await asyncio.gather(*hung)

    run(tmp_path, story)


def test_whoever_waits_for_a_deleted_partition_is_told_that_it_is_gone(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.hung("hung")
        clients = [Client(rig.broker) for _ in range(THREADS_OF_ONE + 2)]
        for client in clients:
            client.send(fetch("hung"), FETCH)
        await until(lambda: rig.threads == THREADS_OF_ONE)
        await rig.broker.delete_topic(rig.broker.topics.named("hung"))
        for client in clients:
            gone = {"hung": (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, False)}
            assert fetched(await _answer(client)) == gone

    run(tmp_path, story)


def test_a_search_in_a_deleted_partition_is_told_that_it_is_gone(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.hung("hung")
        client = Client(rig.broker)
        client.send(list_offsets("hung"), LIST_OFFSETS)
        await until(lambda: rig.threads == 1)
        await rig.broker.delete_topic(rig.broker.topics.named("hung"))
        gone = {"hung": (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)}
        assert listed(await _answer(client)) == gone

    run(tmp_path, story)


def test_however_many_ask_for_the_room_on_a_hung_disk_one_thread_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(rig: Rig) -> None:
        monkeypatch.setattr("shutil.disk_usage", lambda path: rig.files.goes_on.wait(60))
        clients = [Client(rig.broker) for _ in range(20)]
        for client in clients:
            client.send(DescribeLogDirsRequest(), 4)
        await until(lambda: rig.threads)
        await turns()
        assert rig.threads == 1
        time_passes(PATIENCE_MS)
        for client in clients:
            assert (await _answer(client)).results[0].total_bytes == -1

    run(tmp_path, story)


def test_a_hung_read_does_not_keep_the_broker_from_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("kafkaesque.broker.disk._LAST_READS_SECONDS", 0.01)

    async def story(rig: Rig) -> None:
        await rig.hung("hung")
        client = Client(rig.broker)
        client.send(fetch("hung"), FETCH)
        await until(lambda: rig.threads == 1)
        client.cut()
        await rig.broker.close()
        assert "1 reads hang" in caplog.text

    async def main() -> None:
        files = HungFiles()
        broker = await Broker.open(BrokerConfig.of([LISTENER], tmp_path, {}), wall_clock, files)
        await story(rig := Rig(broker, files))
        hung.append((rig, list(broker.disk._threads_reading._threads)))

    hung: list[tuple[Rig, list[threading.Thread]]] = []
    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    # The loop is closed: that is no trouble for the thread, which ends.
    ((rig, threads),) = hung
    rig.files.goes_on.set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


async def _answer(client: Client) -> Any:
    while not (answers := client.answers()):
        await asyncio.sleep(0)
    return answers[0]
