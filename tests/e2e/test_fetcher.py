"""`Fetcher` against our broker: whole batches, moving positions, and brokers that come and go.

What it reads is compared with what confluent-kafka wrote, or with what its consumer reads.
"""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as ForeignPlace
from tests import foreign
from tests.broker_process import BrokerProcess, free_port

from kafkaesque.broker import fetch_sessions
from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.client.connection import Address, ClusterError, Connection
from kafkaesque.client.fetch import EARLIEST, LATEST, Fetched, Fetcher
from kafkaesque.client.link import Link
from kafkaesque.embedded.thread import BrokerThread
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.record import Record
from kafkaesque.testing import Kafka
from kafkaesque.types import TopicPartition

pytestmark = pytest.mark.slow

T = TypeVar("T")

TIMEOUT_S = 60
PLACE = TopicPartition("orders", 0)


def to(bootstrap: str) -> Connection:
    host, _, port = bootstrap.rpartition(":")
    return Connection(brokers=(Address(host, int(port)),), timeout_s=TIMEOUT_S)


def run(
    bootstrap: str,
    scene: Callable[[Fetcher], Awaitable[T]],
    **options: Any,
) -> T:
    async def play() -> T:
        async with asyncio.timeout(TIMEOUT_S), Fetcher(to(bootstrap), **options) as fetcher:
            return await scene(fetcher)

    return asyncio.run(play())


async def read(fetcher: Fetcher, count: int) -> list[Record]:
    found: list[Record] = []
    while len(found) < count:
        for fetched in await fetcher.fetch():
            assert fetched.error is ErrorCode.NONE
            found += fetched.records()
    return found


def values(records: list[Record]) -> list[bytes | None]:
    return [record.value for record in records]


def test_it_reads_what_was_written_from_where_it_was_told(kafka: Kafka) -> None:
    bootstrap = kafka.bootstrap_servers
    foreign.create_topic(bootstrap, "orders", 2)
    foreign.produce(bootstrap, "orders", [b"%d" % n for n in range(10)])
    foreign.produce(bootstrap, "orders", [b"other"], partition=1)

    async def scene(fetcher: Fetcher) -> None:
        fetcher.seek(PLACE, 4)
        records = await read(fetcher, 6)
        assert [record.offset for record in records] == list(range(4, 10))
        assert values(records) == [b"%d" % n for n in range(4, 10)]
        assert fetcher.positions == {PLACE: 10}
        second = TopicPartition("orders", 1)
        fetcher.seek(second, 0)
        (fetched,) = await fetcher.fetch()
        assert (fetched.place, fetched.offset, fetched.next_offset) == (second, 0, 1)
        assert (fetched.high_watermark, fetched.log_start_offset) == (1, 0)
        fetcher.forget(second)
        assert fetcher.positions == {PLACE: 10}
        assert fetcher.bytes_fetched > 10 * 61 / 10

    run(bootstrap, scene)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_read(kafka: Kafka, codec: str) -> None:
    written = [b"%d " % n * 50 for n in range(200)]
    foreign.produce(kafka.bootstrap_servers, "orders", written, compression_type=codec)

    async def scene(fetcher: Fetcher) -> list[Record]:
        fetcher.seek(PLACE, 0)
        return await read(fetcher, 200)

    assert values(run(kafka.bootstrap_servers, scene)) == written


def test_batches_larger_than_all_limits_make_progress(kafka: Kafka) -> None:
    written = [bytes([n]) * 50_000 for n in range(5)]
    for value in written:
        foreign.produce(kafka.bootstrap_servers, "orders", [value])

    async def scene(fetcher: Fetcher) -> list[Record]:
        fetcher.seek(PLACE, 0)
        return await read(fetcher, 5)

    found = run(kafka.bootstrap_servers, scene, max_bytes=1000, partition_max_bytes=100)
    assert values(found) == written


def test_many_partitions_are_read_in_full_with_small_limits_and_without_sessions() -> None:
    with Kafka(settings={"max.incremental.fetch.session.cache.slots": "0"}) as kafka:
        bootstrap = kafka.bootstrap_servers
        foreign.create_topic(bootstrap, "orders", 8)
        places = [TopicPartition("orders", number) for number in range(8)]
        for place in places:
            foreign.produce(bootstrap, "orders", [bytes(2000)] * 10, place.partition)

        async def scene(fetcher: Fetcher) -> None:
            for place in places:
                fetcher.seek(place, 0)
            await read(fetcher, 80)
            assert fetcher.positions == dict.fromkeys(places, 10)

        run(bootstrap, scene, max_bytes=3000, partition_max_bytes=3000)


def test_a_seek_while_it_waits_is_heard(kafka: Kafka) -> None:
    kafka.put("orders", "first")
    kafka.put("ticks", "tick")

    async def scene(fetcher: Fetcher) -> None:
        waiting = asyncio.ensure_future(fetcher.fetch())
        await asyncio.sleep(0)
        fetcher.seek(PLACE, 0)
        assert [each.place for each in await waiting] == [PLACE]
        waiting = asyncio.ensure_future(fetcher.fetch())
        await asyncio.sleep(0.05)
        fetcher.seek(TopicPartition("ticks", 0), 0)
        assert [each.place.topic for each in await waiting] == ["ticks"]

    run(kafka.bootstrap_servers, scene, max_wait_ms=100)


def test_what_was_asked_for_before_a_seek_is_dropped(kafka: Kafka) -> None:
    async def scene(fetcher: Fetcher) -> None:
        fetcher.seek(PLACE, 2)
        waiting = asyncio.ensure_future(fetcher.fetch())
        await asyncio.sleep(0.2)
        fetcher.seek(PLACE, 0)
        await asyncio.to_thread(kafka.put, "orders", "c")
        (fetched,) = await waiting
        found = list(fetched.records())
        found += await read(fetcher, 3 - len(found))
        assert (fetched.offset, values(found)) == (0, [b"a", b"b", b"c"])

    kafka.put("orders", "a")
    kafka.put("orders", "b")
    run(kafka.bootstrap_servers, scene)


def test_a_call_that_is_cancelled_loses_nothing(kafka: Kafka) -> None:
    async def scene(fetcher: Fetcher) -> None:
        found: list[Record] = []
        fetcher.seek(PLACE, 0)
        for number in range(50):
            await asyncio.to_thread(kafka.put, "orders", str(number))
            for _ in range(3):
                try:
                    async with asyncio.timeout(0.0005):
                        for fetched in await fetcher.fetch():
                            found += fetched.records()
                except TimeoutError:
                    pass
        found += await read(fetcher, 50 - len(found))
        assert values(found) == [b"%d" % n for n in range(50)]

    foreign.create_topic(kafka.bootstrap_servers, "orders")
    run(kafka.bootstrap_servers, scene)


def test_partitions_and_offsets_are_told_and_nothing_is_created(kafka: Kafka) -> None:
    bootstrap = kafka.bootstrap_servers
    foreign.create_topic(bootstrap, "orders", 3)
    foreign.create_topic(bootstrap, "ticks")
    foreign.produce(bootstrap, "orders", ["a", "b", "c"], timestamps=[1000, 2000, 3000])
    foreign.commit(bootstrap, "group", ForeignPlace("orders", 0, 1))

    async def scene(fetcher: Fetcher) -> None:
        assert await fetcher.partitions() == {"orders": 3, "ticks": 1}
        assert await fetcher.partitions(["orders", "missing"]) == {"orders": 3}
        assert await fetcher.partitions([]) == {}
        empty = TopicPartition("orders", 1)
        assert await fetcher.offsets([PLACE, empty], EARLIEST) == {PLACE: 0, empty: 0}
        assert await fetcher.offsets([PLACE, empty], LATEST) == {PLACE: 3, empty: 0}
        assert await fetcher.offsets([PLACE, empty], 1500) == {PLACE: 1, empty: 0}
        assert await fetcher.offsets([PLACE], 4000) == {PLACE: 3}
        with pytest.raises(KafkaError, match="missing-0: UNKNOWN_TOPIC_OR_PARTITION"):
            await fetcher.offsets([TopicPartition("missing", 0)], LATEST)

    run(bootstrap, scene)
    assert "missing" not in foreign.admin(bootstrap).list_topics(timeout=TIMEOUT_S).topics


async def the_error(fetcher: Fetcher, place: TopicPartition, offset: int) -> Fetched:
    fetcher.seek(place, offset)
    (fetched,) = await fetcher.fetch()
    assert place not in fetcher.positions
    assert list(fetched.records()) == []
    return fetched


def test_what_retention_has_removed_is_out_of_range(kafka: Kafka) -> None:
    bootstrap = kafka.bootstrap_servers
    foreign.produce(bootstrap, "orders", [b"%d" % n for n in range(10)])
    place = ForeignPlace("orders", 0, 6)
    foreign.admin(bootstrap).delete_records([place])[place].result(TIMEOUT_S)

    async def scene(fetcher: Fetcher) -> None:
        told = await the_error(fetcher, PLACE, 2)
        assert told.error is ErrorCode.OFFSET_OUT_OF_RANGE
        assert (told.offset, told.log_start_offset, told.high_watermark) == (2, 6, 10)
        fetcher.seek(PLACE, told.log_start_offset)
        assert values(await read(fetcher, 4)) == [b"6", b"7", b"8", b"9"]

    run(bootstrap, scene)


def test_an_error_of_one_partition_does_not_disturb_another(kafka: Kafka) -> None:
    kafka.put("orders", "a")
    missing = TopicPartition("missing", 0)

    async def scene(fetcher: Fetcher) -> None:
        fetcher.seek(missing, 0)
        fetcher.seek(PLACE, 0)
        assert values(await read(fetcher, 1)) == [b"a"]
        (told,) = await fetcher.fetch()
        assert (told.place, told.error) == (missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        await asyncio.to_thread(kafka.put, "orders", "b")
        assert values(await read(fetcher, 1)) == [b"b"]

    run(kafka.bootstrap_servers, scene)


def test_a_refusal_is_the_owners_to_decide(kafka: Kafka) -> None:
    kafka.put("orders", "a")
    kafka.faults.error("Fetch", ErrorCode.TOPIC_AUTHORIZATION_FAILED, topic="orders", times=1)
    told = run(kafka.bootstrap_servers, lambda fetcher: the_error(fetcher, PLACE, 0))
    assert told.error is ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        None,
    ],
)
def test_troubles_that_pass_are_dealt_with_inside(kafka: Kafka, error: ErrorCode | None) -> None:
    """Each strikes three fetches of a session that is under way; None drops the connection."""
    said: list[str] = []

    async def scene(fetcher: Fetcher) -> None:
        fetcher.seek(PLACE, 0)
        for number in range(3):
            await asyncio.to_thread(kafka.put, "orders", str(number))
            assert values(await read(fetcher, 1)) == [b"%d" % number]
            if error is None:
                kafka.faults.drop("Fetch", times=1)
            else:
                kafka.faults.error("Fetch", error, times=1)

    run(kafka.bootstrap_servers, scene, tell=said.append)
    assert said == []


def test_a_trouble_that_lasts_is_told_of_once_and_so_is_its_end(kafka: Kafka) -> None:
    said: list[str] = []
    kafka.put("orders", "a")

    async def scene(fetcher: Fetcher) -> None:
        with kafka.faults.error("Fetch", ErrorCode.NOT_LEADER_OR_FOLLOWER, topic="orders") as fault:
            fetcher.seek(PLACE, 0)
            waiting = asyncio.ensure_future(fetcher.fetch())
            while fault.count < 5:
                await asyncio.sleep(0.01)
        (fetched,) = await waiting
        assert values(list(fetched.records())) == [b"a"]

    run(kafka.bootstrap_servers, scene, tell=said.append)
    assert said == [
        "waiting for the cluster: orders-0 cannot be read (NOT_LEADER_OR_FOLLOWER)",
        "the cluster is back",
    ]


def test_a_damaged_batch_is_told_of(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        foreign.produce(broker.bootstrap, "orders", ["good"])
        foreign.produce(broker.bootstrap, "orders", ["bad, though the broker cannot know"])
        (segment,) = broker.segments("orders")
        content = bytearray(segment.read_bytes())
        content[content.index(b"cannot")] ^= 1
        segment.write_bytes(content)

        async def scene(fetcher: Fetcher) -> None:
            fetcher.seek(PLACE, 0)
            assert values(await read(fetcher, 1)) == [b"good"]
            (told,) = await fetcher.fetch()
            assert (told.offset, told.error) == (1, ErrorCode.CORRUPT_MESSAGE)

        run(broker.bootstrap, scene)


def test_aborted_records_are_left_out_as_confluent_kafka_does(kafka: Kafka) -> None:
    bootstrap = kafka.bootstrap_servers
    foreign.create_topic(bootstrap, "orders")
    producers = [
        Producer(
            {"bootstrap.servers": bootstrap, "log_level": 0, "transactional.id": f"copier-{n}"}
        )
        for n in range(2)
    ]
    for producer in producers:
        producer.init_transactions(TIMEOUT_S)
    for turn in range(6):
        for number, producer in enumerate(producers):
            producer.begin_transaction()
            for record in range(3):
                producer.produce("orders", f"{turn}-{number}-{record}")
            producer.flush(TIMEOUT_S)
        foreign.produce(bootstrap, "orders", [f"{turn}-plain"])
        for number, producer in enumerate(producers):
            if (turn + number) % 2:
                producer.commit_transaction(TIMEOUT_S)
            else:
                producer.abort_transaction(TIMEOUT_S)
    producers[0].begin_transaction()
    producers[0].produce("orders", "still open")
    producers[0].flush(TIMEOUT_S)

    committed = foreign.read(bootstrap, "orders", 24, isolation_level="read_committed")
    seen = foreign.read(bootstrap, "orders", 43, isolation_level="read_uncommitted")

    async def read_all(fetcher: Fetcher) -> list[tuple[int, bytes | None]]:
        end = (await fetcher.offsets([PLACE], LATEST))[PLACE]
        found: list[tuple[int, bytes | None]] = []
        fetcher.seek(PLACE, 0)
        while fetcher.positions[PLACE] < end:
            for fetched in await fetcher.fetch():
                found += [(record.offset, record.value) for record in fetched.records()]
        return found

    for read_committed, expected in ((True, committed), (False, seen)):
        options = {"read_committed": read_committed, "partition_max_bytes": 500}
        found = run(bootstrap, read_all, **options)
        assert found == [(each.offset(), each.value()) for each in expected]
    producers[0].abort_transaction(TIMEOUT_S)


def test_a_broker_that_restarts_is_waited_for(tmp_path: Path) -> None:
    said: list[str] = []
    with BrokerProcess(tmp_path / "data") as broker:
        foreign.produce(broker.bootstrap, "orders", ["before"])

        async def scene(fetcher: Fetcher) -> None:
            fetcher.seek(PLACE, 0)
            assert values(await read(fetcher, 1)) == [b"before"]
            broker.kill()
            waiting = asyncio.ensure_future(fetcher.fetch())
            while not said:
                await asyncio.sleep(0.01)
            await asyncio.to_thread(broker.start)
            await asyncio.to_thread(foreign.produce, broker.bootstrap, "orders", ["after"])
            (fetched,) = await waiting
            assert [(it.offset, it.value) for it in fetched.records()] == [(1, b"after")]

        run(broker.bootstrap, scene, tell=said.append)
    assert len(said) == 2
    assert said[0].startswith("waiting for the cluster: nothing answers at 127.0.0.1:")
    assert said[1] == "the cluster is back"


def test_a_session_is_not_gone_on_with_at_a_broker_that_has_restarted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another reads the same partition there, by the same number and at the same epoch."""
    config = BrokerConfig.of([Listener("127.0.0.1", free_port())], tmp_path / "data", {})

    def started() -> BrokerThread:
        numbers = count(1)
        monkeypatch.setattr(fetch_sessions, "randint", lambda *_: next(numbers))
        broker = BrokerThread(config)
        broker.start()
        return broker

    async def scene(fetcher: Fetcher) -> None:
        fetcher.seek(PLACE, 0)
        await read(fetcher, 4)
        fetcher.forget(PLACE)
        broker.stop()
        again = started()
        async with Fetcher(to(again.bootstrap_servers)) as other:
            other.seek(PLACE, 2)
            await read(other, 2)
            fetcher.seek(PLACE, 0)
            assert values(await read(fetcher, 2))[:2] == [b"0", b"1"]
        again.stop()

    broker = started()
    for number in range(4):
        foreign.produce(broker.bootstrap_servers, "orders", [f"{number}"])
    run(broker.bootstrap_servers, scene)


def test_a_cluster_that_is_not_there_is_waited_for_but_not_asked_for_ever(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data")
    connection = Connection(brokers=(Address("127.0.0.1", broker.port),), timeout_s=0.3)

    async def scene() -> None:
        async with asyncio.timeout(TIMEOUT_S), Fetcher(connection) as fetcher:
            with pytest.raises(ClusterError, match="nothing answers at"):
                await fetcher.partitions()
            fetcher.seek(PLACE, 0)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await fetcher.fetch()

    asyncio.run(scene())


def test_a_broker_of_an_impossible_name_is_a_trouble_of_the_cluster() -> None:
    expected = r"nothing answers at a\.\.b:9092 \(no host can have that name\)"
    with pytest.raises(ClusterError, match=expected):
        asyncio.run(Link.open(Address("a..b", 9092), Connection()))
