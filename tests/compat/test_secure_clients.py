"""Our own codec against Apache Kafka with SASL over TLS: `Fetcher`, `txn` commands, topic sizes."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Producer
from tests import foreign
from tests.commands import Commands
from tests.compat.secure_kafka import MECHANISMS, SecureKafka, secure_kafka
from tests.open_transaction import open_transaction

from kafkaesque.client.connection import Connection, RefusedError
from kafkaesque.client.fetch import EARLIEST, LATEST, Fetcher
from kafkaesque.errors import ErrorCode
from kafkaesque.types import TopicPartition

pytestmark = pytest.mark.compat

TIMEOUT_S = 60


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    with secure_kafka(tmp_path_factory.mktemp("secure")) as running:
        yield running


@pytest.fixture
def commands(secure: SecureKafka, capfd: pytest.CaptureFixture[str]) -> Commands:
    return Commands(secure.connection.bootstrap_servers, capfd)


async def read_to_the_end(
    connection: Connection, place: TopicPartition, read_committed: bool = True
) -> list[tuple[int, bytes | None]]:
    found: list[tuple[int, bytes | None]] = []
    async with (
        asyncio.timeout(TIMEOUT_S),
        Fetcher(connection, read_committed=read_committed, partition_max_bytes=1000) as fetcher,
    ):
        start = (await fetcher.offsets([place], EARLIEST))[place]
        end = (await fetcher.offsets([place], LATEST))[place]
        fetcher.seek(place, start)
        while fetcher.positions[place] < end:
            for fetched in await fetcher.fetch():
                assert fetched.error is ErrorCode.NONE
                found += [(record.offset, record.value) for record in fetched.records()]
    return found


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_fetcher_reads_what_confluent_kafka_wrote(secure: SecureKafka, mechanism: str) -> None:
    topic = foreign.create_topic(secure.plain, partitions=2)
    connection = replace(secure.connection, sasl_mechanism=mechanism)
    producer = Producer(connection.config(linger_ms=5))
    written = [b"%d" % number * 20 for number in range(500)]
    for value in written:
        producer.produce(topic, value, partition=1)
    assert producer.flush(TIMEOUT_S) == 0
    found = asyncio.run(read_to_the_end(connection, TopicPartition(topic, 1)))
    assert found == list(enumerate(written))


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_read(secure: SecureKafka, codec: str) -> None:
    topic = foreign.create_topic(secure.plain)
    written = [b"%d " % number * 50 for number in range(100)]
    foreign.produce(secure.plain, topic, written, compression_type=codec)
    found = asyncio.run(read_to_the_end(secure.connection, TopicPartition(topic, 0)))
    assert [value for _, value in found] == written


def test_aborted_records_are_left_out(secure: SecureKafka) -> None:
    topic = foreign.create_topic(secure.plain)
    name = foreign.name("copier")
    with open_transaction(secure.plain, name, topic) as producer:
        foreign.produce(secure.plain, topic, ["plain"])
        producer.abort_transaction(foreign.TIMEOUT_S)
        producer.begin_transaction()
        producer.produce(topic, "committed")
        producer.commit_transaction(foreign.TIMEOUT_S)
    place = TopicPartition(topic, 0)
    committed = foreign.read(secure.plain, topic, 2, isolation_level="read_committed")
    expected = [(each.offset(), each.value()) for each in committed]
    assert asyncio.run(read_to_the_end(secure.connection, place)) == expected
    assert len(asyncio.run(read_to_the_end(secure.connection, place, False))) == 3


def test_what_is_out_of_range_and_what_is_not_there(secure: SecureKafka) -> None:
    topic = foreign.create_topic(secure.plain)
    foreign.produce(secure.plain, topic, ["a", "b", "c"])
    place, missing = TopicPartition(topic, 0), TopicPartition(foreign.name("missing"), 0)

    async def scene() -> None:
        async with asyncio.timeout(TIMEOUT_S), Fetcher(secure.connection) as fetcher:
            fetcher.seek(place, 99)
            (told,) = await fetcher.fetch()
            assert told.error is ErrorCode.OFFSET_OUT_OF_RANGE
            assert (told.log_start_offset, told.high_watermark) == (0, 3)
            fetcher.seek(missing, 0)
            fetcher.seek(place, 1)
            (fetched,) = await fetcher.fetch()
            assert [record.value for record in fetched.records()] == [b"b", b"c"]
            (told,) = await fetcher.fetch()
            assert (told.place, told.error) == (missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            assert await fetcher.partitions([topic, missing.topic]) == {topic: 1}

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"password": "wrong"}, "does not let 'eve' in"),
        ({"user": "adam"}, "does not let 'adam' in"),
        ({"sasl_mechanism": "PLAIN"}, "choose another --sasl-mechanism"),
        ({"tls_ca": None}, "is not trusted"),
    ],
)
def test_who_is_not_let_in_is_told_why(
    secure: SecureKafka, change: dict[str, Any], reason: str
) -> None:
    async def scene() -> None:
        async with (
            asyncio.timeout(TIMEOUT_S),
            Fetcher(replace(secure.connection, **change)) as fetcher,
        ):
            fetcher.seek(TopicPartition("any", 0), 0)
            await fetcher.fetch()

    with pytest.raises(RefusedError, match=reason):
        asyncio.run(scene())


def test_transactions_and_sizes_are_told(secure: SecureKafka, commands: Commands) -> None:
    topic = foreign.create_topic(secure.plain)
    name = foreign.name("copier")
    foreign.produce(secure.plain, topic, [bytes(10_000)])
    with open_transaction(secure.plain, name, topic):
        listed = commands.succeed("txn", "list", *secure.options).rows
        (producer,) = commands.succeed(
            "txn", "producers", topic, "--open", "--format", "json", *secure.options
        ).json
    assert [row[3] for row in listed if row[0] == name] == ["Ongoing"]
    assert producer["transactional_id"] == name
    (told,) = commands.succeed("topic", "describe", topic, "--format", "json", *secure.options).json
    assert told["partitions"][0]["size"] > 10_000
