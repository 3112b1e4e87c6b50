"""A topic's `compression.type`: whatever producers send, the log has that codec, in their order."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Producer
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.wire.client import RawClient
from tests.wire.requests import batch, fetch, produce, produce_answer

from kafkaesque import Kafkaesque
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.fetch import FetchResponse
from kafkaesque.protocol.messages.produce import ProduceResponse
from kafkaesque.records.batch import batches
from kafkaesque.records.compression import Codec

TYPES = {"uncompressed": Codec.NONE, **{codec.name.lower(): codec for codec in list(Codec)[1:]}}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("codecs") / "data") as process:
        yield process


def stored_codecs(bootstrap: str, topic: str) -> set[Codec]:
    with RawClient(bootstrap) as client:
        response = client.call(fetch(topic, 0, 0, max_bytes=50 << 20), FetchResponse, 11)
    found = batches(response.responses[0].partitions[0].records or b"")
    return {Codec(header.attributes & 7) for _, header in found}


@pytest.mark.parametrize("name", TYPES)
def test_batches_of_every_codec_are_stored_in_the_topics(broker: BrokerProcess, name: str) -> None:
    topic = foreign.create_topic(broker.bootstrap, configs={"compression.type": name})
    values = [f"{number}".encode() * 50 for number in range(40)]
    with RawClient(broker.bootstrap) as client:
        for start, codec in enumerate(Codec):
            part = values[start * 8 : start * 8 + 8]
            client.send(produce(topic, 0, batch(part, codec=codec)), 9)
        answers = [produce_answer(client.receive()) for _ in Codec]
    assert [(a.error_code, a.base_offset) for a in answers] == [(0, i * 8) for i in range(5)]
    assert foreign.values(foreign.read(broker.bootstrap, topic, 40)) == values
    assert stored_codecs(broker.bootstrap, topic) == {TYPES[name]}


def test_an_idempotent_producer_with_requests_in_flight_stays_in_order(
    broker: BrokerProcess,
) -> None:
    topic = foreign.create_topic(broker.bootstrap, configs={"compression.type": "gzip"})
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "enable.idempotence": True,
        "linger.ms": 0,
        "batch.num.messages": 20,
        "log_level": 0,
    }
    producer = Producer(settings)
    # Large and small by turns: the small ones are ready first.
    values = [f"{n:05}".encode() * (2000 if n // 20 % 2 else 1) for n in range(1000)]
    failures: list[object] = []
    for value in values:
        producer.produce(topic, value, on_delivery=lambda error, _: failures.append(error))
        producer.poll(0)
    assert producer.flush(foreign.TIMEOUT_S) == 0
    assert set(failures) == {None}
    assert foreign.values(foreign.read(broker.bootstrap, topic, 1000)) == values
    assert stored_codecs(broker.bootstrap, topic) == {Codec.GZIP}


def test_a_batch_that_is_too_large_when_it_is_unpacked_is_refused(broker: BrokerProcess) -> None:
    configs = {"compression.type": "uncompressed", "max.message.bytes": "5000"}
    topic = foreign.create_topic(broker.bootstrap, configs=configs)
    with RawClient(broker.bootstrap) as client:
        records = batch([bytes(10_000)], codec=Codec.ZSTD)
        answer = client.call(produce(topic, 0, records), ProduceResponse, 9)
        assert produce_answer(answer).error_code == ErrorCode.MESSAGE_TOO_LARGE
        answer = client.call(produce(topic, 0, batch([b"v"])), ProduceResponse, 9)
        assert produce_answer(answer).base_offset == 0


@pytest.mark.parametrize("at", [70, -1])
def test_a_batch_with_a_wrong_crc_or_of_no_codec_is_refused_beside_good_ones(
    broker: BrokerProcess, at: int
) -> None:
    topic = foreign.create_topic(broker.bootstrap, configs={"compression.type": "zstd"})
    broken = batch([b"v" * 1000])
    broken[at] ^= 1
    with RawClient(broker.bootstrap) as client:
        for records in (batch([b"1"]), broken, batch([b"2"])):
            client.send(produce(topic, 0, records), 9)
        answers = [produce_answer(client.receive()) for _ in range(3)]
    codes = [answer.error_code for answer in answers]
    assert codes == [ErrorCode.NONE, ErrorCode.CORRUPT_MESSAGE, ErrorCode.NONE]
    assert foreign.values(foreign.read(broker.bootstrap, topic, 2)) == [b"1", b"2"]


def test_acks_0_and_1_and_a_changed_setting_keep_the_order(broker: BrokerProcess) -> None:
    topic = foreign.create_topic(broker.bootstrap, configs={"compression.type": "zstd"})
    with RawClient(broker.bootstrap) as client:
        client.send(produce(topic, 0, batch([b"0" * 500_000], codec=Codec.GZIP), acks=0), 9)
        client.send(produce(topic, 0, batch([b"1"]), acks=1), 9)
        assert produce_answer(client.receive()).base_offset == 1
    foreign.alter(broker.bootstrap, topic, "compression.type", "producer")
    with RawClient(broker.bootstrap) as client:
        answer = client.call(produce(topic, 0, batch([b"2"], codec=Codec.LZ4)), ProduceResponse, 9)
        assert produce_answer(answer).base_offset == 2
    read = foreign.values(foreign.read(broker.bootstrap, topic, 3))
    assert [len(value or b"") for value in read] == [500_000, 1, 1]
    assert stored_codecs(broker.bootstrap, topic) == {Codec.ZSTD, Codec.LZ4}


def test_an_unknown_codec_is_refused(broker: BrokerProcess) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    code = foreign.refusal(foreign.alter, broker.bootstrap, topic, "compression.type", "rar")
    assert code == KafkaError.INVALID_CONFIG


def test_the_broker_gives_the_default_and_events_of_a_program_follow_too(tmp_path: Path) -> None:
    with Kafkaesque(tmp_path / "data", settings={"compression.type": "lz4"}) as kafka:
        kafka.put("t", b"value" * 100)
        bootstrap = kafka.bootstrap_servers
        foreign.produce(bootstrap, "t", ["more"])
        assert stored_codecs(bootstrap, "t") == {Codec.LZ4}
        assert foreign.values(foreign.read(bootstrap, "t", 2)) == [b"value" * 100, b"more"]
