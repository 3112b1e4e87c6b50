"""Produce: what has to be opened is opened within bounds, beside the loop, and in order."""

import asyncio
import logging
import struct
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from crc32c import crc32c
from tests.unit.broker.connections import Client, memory_broker
from tests.wire.requests import batch, produce, produce_answer

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.topics import NewTopic
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.list_groups import ListGroupsRequest
from kafkaesque.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkaesque.records.batch import Codec, Record, assemble, new_batch, read_header
from kafkaesque.records.compression import compress
from kafkaesque.records.varint import encode_varint

NOW = 1_700_000_000_000
PACKED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


def with_broker(scenario: Callable[[Broker, Client], Coroutine[Any, Any, None]]) -> None:
    """With a plain topic `t` of 300 partitions, and a compacted one, `c`."""

    async def main() -> None:
        broker = await memory_broker()
        await broker.topics.create(NewTopic("t", 300))
        await broker.topics.create(NewTopic("c", 1, {"cleanup.policy": "compact"}))
        await scenario(broker, Client(broker))
        await broker.close()

    asyncio.run(main())


def keyed(
    values: list[bytes], codec: Codec = Codec.NONE, key: bytes | None = b"k", sequence: int = -1
) -> bytearray:
    records = [Record(i, NOW, key, value, ()) for i, value in enumerate(values)]
    producer_id = 5 if sequence >= 0 else -1
    return new_batch(
        records,
        codec=codec,
        producer_id=producer_id,
        producer_epoch=min(producer_id, 0),
        base_sequence=sequence,
    )


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_a_bomb_for_a_compacted_topic_is_refused(codec: Codec) -> None:
    async def scenario(broker: Broker, client: Client) -> None:
        bomb = keyed([bytes(35 << 20)], codec)
        answer = produce_answer(await client.call(produce("c", 0, bomb), 9))
        assert answer.error_code == ErrorCode.MESSAGE_TOO_LARGE
        assert "unpacks to more than" in (answer.error_message or "")
        assert broker.topics.named("c").partition(0).log.end_offset == 0

    with_broker(scenario)


@pytest.mark.parametrize("codec", [Codec.NONE, *PACKED])
def test_what_a_compacted_topic_takes_is_appended_in_the_order_of_sending(codec: Codec) -> None:
    async def scenario(broker: Broker, client: Client) -> None:
        for number in range(5):
            client.queue(produce("c", 0, keyed([bytes(50_000)], codec, sequence=number)), 9)
        client.queue(ListGroupsRequest(), 4)
        client.flush()
        answers: list[Any] = []
        while len(answers) < 6:
            answers += client.answers()
            await asyncio.sleep(0)
        offsets = [produce_answer(answer).base_offset for answer in answers[:5]]
        assert offsets == [0, 1, 2, 3, 4]

    with_broker(scenario)


@pytest.mark.parametrize("codec", [Codec.NONE, *PACKED])
def test_keyless_records_of_a_large_batch_are_named_but_not_all(codec: Codec) -> None:
    async def scenario(broker: Broker, client: Client) -> None:
        large = keyed([b"v" * 20] * 3000, codec, key=None)
        answer = produce_answer(await client.call(produce("c", 0, large), 9))
        assert answer.error_code == ErrorCode.INVALID_RECORD
        assert [error.batch_index for error in answer.record_errors] == list(range(1000))

    with_broker(scenario)


def test_a_topic_that_is_deleted_while_its_batch_is_looked_through_gets_nothing() -> None:
    async def scenario(broker: Broker, client: Client) -> None:
        client.send(produce("c", 0, keyed([bytes(100)] * 3000, Codec.GZIP)), 9)
        partition = broker.topics.named("c").partition(0)
        await broker.delete_topic(broker.topics.named("c"))
        answers: list[Any] = []
        while not answers:
            answers += client.answers()
            await asyncio.sleep(0)
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert produce_answer(answers[0]).error_code == unknown
        assert partition.log.end_offset == 0

    with_broker(scenario)


def test_hundreds_of_partitions_are_each_appended_to_once() -> None:
    async def scenario(broker: Broker, client: Client) -> None:
        request = produce("t", 0, batch([b"v"]))
        request.topic_data[0].partition_data = [
            PartitionProduceData(index=n, records=batch([b"v"])) for n in range(301)
        ]
        (topic,) = (await client.call(request, 9)).responses
        codes = [answer.error_code for answer in topic.partition_responses]
        assert codes == [0] * 300 + [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        ends = {partition.log.end_offset for partition in broker.topics.named("t").partitions}
        assert ends == {1}

    with_broker(scenario)


@pytest.mark.parametrize("name", ["no-such-topic", "__consumer_offsets"])
def test_an_error_without_acknowledgement_closes_the_connection(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(broker: Broker, client: Client) -> None:
        client.send(produce("t", 0, batch([b"v"]), acks=0), 9)
        assert not client.wire.is_closed
        with caplog.at_level(logging.WARNING):
            client.send(produce(name, 0, batch([b"v"]), acks=0), 9)
        assert client.wire.is_closed
        assert f"{name}-0 with acks=0" in caplog.text

    with_broker(scenario)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_more_records_than_the_bytes_can_hold_are_refused(codec: Codec) -> None:
    async def scenario(broker: Broker, client: Client) -> None:
        liar = batch([b"v"], codec=codec)
        struct.pack_into(">i", liar, 23, 2**31 - 2)
        struct.pack_into(">i", liar, 57, 2**31 - 1)
        struct.pack_into(">I", liar, 17, crc32c(bytes(liar[21:])))
        answer = produce_answer(await client.call(produce("t", 0, liar), 9))
        assert answer.error_code == ErrorCode.INVALID_RECORD
        assert "do not fit" in (answer.error_message or "")

    with_broker(scenario)


@pytest.mark.parametrize("codec", [Codec.NONE, *PACKED])
def test_as_many_records_as_can_be_are_taken(codec: Codec) -> None:
    async def scenario(broker: Broker, client: Client) -> None:
        records = [Record(i, NOW, None, None, ()) for i in range(60)]
        smallest = new_batch(records, codec=codec)
        answer = produce_answer(await client.call(produce("t", 0, smallest), 9))
        assert answer.error_code == 0

    with_broker(scenario)


def test_a_short_request_to_many_topics_keeps_its_bytes_while_others_are_read() -> None:
    def to_each(topics: list[str], value: bytes) -> ProduceRequest:
        data = [PartitionProduceData(index=0, records=batch([value]))]
        return ProduceRequest(
            acks=-1,
            timeout_ms=10_000,
            topic_data=[TopicProduceData(name=topic, partition_data=data) for topic in topics],
        )

    async def scenario(broker: Broker, client: Client) -> None:
        mine, hers = ([f"{name}{i:02}" for i in range(65)] for name in ("mine", "hers"))
        for topic in mine + hers:
            await broker.topics.create(NewTopic(topic, 1))
        other = Client(broker)
        client.send(to_each(mine, b"mine"), 9)
        other.send(to_each(hers, b"hers"), 9)
        for each in (client, other):
            while not each.answers():
                await asyncio.sleep(0)
        for topic in mine:
            log = broker.topics.named(topic).partition(0).log
            assert b"mine" in bytes(log.read(0, 1000, log.end_offset).read())

    with_broker(scenario)


def test_megabytes_for_a_few_partitions_are_appended_a_few_at_a_time() -> None:
    async def scenario(broker: Broker, client: Client) -> None:
        records = bytes(batch([bytes(1_000_000)]))
        data = [PartitionProduceData(index=number, records=records) for number in range(40)]
        topic = TopicProduceData(name="t", partition_data=data)
        client.send(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic]), 9)
        partitions = broker.topics.named("t").partitions
        assert sum(partition.log.end_offset for partition in partitions) == 0
        appended = []
        while not (answers := client.answers()):
            appended.append(sum(partition.log.end_offset for partition in partitions))
            await asyncio.sleep(0)
        assert {part.error_code for part in answers[0].responses[0].partition_responses} == {0}
        assert len(set(appended)) > 5

    with_broker(scenario)


def with_tail(tail: bytes, codec: Codec = Codec.NONE) -> bytearray:
    """One record with a key, and after it these bytes for value and headers."""
    body = bytes(3) + encode_varint(1) + b"k" + tail
    header = read_header(keyed([b""]))._replace(attributes=codec)
    return assemble(header, compress(codec, encode_varint(len(body)) + body))


MALFORMED = {
    "value": encode_varint(100) + b"xx\0",
    "headers": encode_varint(1) + b"x" + encode_varint(5),
    "rest": encode_varint(1) + b"x" + encode_varint(0) + b"junk",
}


@pytest.mark.parametrize("codec", [Codec.NONE, *PACKED])
@pytest.mark.parametrize("tail", MALFORMED.values(), ids=MALFORMED)
def test_what_compaction_would_take_for_the_latest_of_its_key_can_be_read(
    tail: bytes, codec: Codec
) -> None:
    async def scenario(broker: Broker, client: Client) -> None:
        answer = produce_answer(await client.call(produce("c", 0, with_tail(tail, codec)), 9))
        assert answer.error_code == ErrorCode.CORRUPT_MESSAGE
        assert broker.topics.named("c").partition(0).log.end_offset == 0

    with_broker(scenario)


def test_many_short_batches_are_not_all_looked_through_at_once() -> None:
    """Each is short enough for it, with as many headers as have room."""
    many = encode_varint(-1) + encode_varint(15_000) + b"\0\x01" * 15_000

    async def scenario(broker: Broker, client: Client) -> None:
        await broker.topics.create(NewTopic("many", 30, {"cleanup.policy": "compact"}))
        records = bytes(with_tail(many))
        data = [PartitionProduceData(index=number, records=records) for number in range(30)]
        topic = TopicProduceData(name="many", partition_data=data)
        request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic])
        client.send(request, 9)
        partitions = broker.topics.named("many").partitions
        assert sum(partition.log.end_offset for partition in partitions) == 1
        while not (answers := client.answers()):
            await asyncio.sleep(0)
        parts = answers[0].responses[0].partition_responses
        assert [part.error_code for part in parts] == [0] * 30

    with_broker(scenario)
