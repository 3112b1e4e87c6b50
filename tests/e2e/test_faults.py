"""A disk that is full, and one that fails: produces are refused, reads go on, nothing is lost.

Once with a real disk that is really full, and with faults on demand under a broker in this process.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import NewPartitions
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.faulty_files import FaultyFiles
from tests.in_process import InProcessBroker
from tests.small_disks import no_room_left
from tests.wire.client import RawClient
from tests.wire.requests import batch, fetch, produce, produce_answer

from kafkaesque.broker.server import wall_clock
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.fetch import FetchResponse
from kafkaesque.protocol.messages.produce import ProduceResponse

LARGE = b"x" * 50_000


@pytest.fixture
def files() -> FaultyFiles:
    return FaultyFiles()


@pytest.fixture
def faulty(tmp_path: Path, files: FaultyFiles) -> Iterator[InProcessBroker]:
    with InProcessBroker(tmp_path / "data", files=files) as broker:
        yield broker
        files.is_full = files.fails_to_sync = False


@pytest.mark.slow
def test_a_disk_that_is_really_full_refuses_produces_until_there_is_room(small_disk: Path) -> None:
    with BrokerProcess(small_disk / "data") as broker:
        topic = foreign.create_topic(broker.bootstrap)
        group = foreign.name("group")
        assert _produce(broker.bootstrap, topic, LARGE) == (ErrorCode.NONE, 0)
        foreign.commit(broker.bootstrap, group, TopicPartition(topic, 0, 1))
        with no_room_left(small_disk):
            for _ in range(3):
                assert _produce(broker.bootstrap, topic, LARGE) == _REFUSED
            with pytest.raises(KafkaException):
                foreign.create_topic(broker.bootstrap, "no-room")
            assert foreign.values(foreign.read(broker.bootstrap, topic, 1)) == [LARGE]
            assert foreign.committed(broker.bootstrap, group, topic).offset == 1
        assert _produce(broker.bootstrap, topic, LARGE) == (ErrorCode.NONE, 1)
        assert foreign.create_topic(broker.bootstrap, "no-room") == "no-room"
        foreign.commit(broker.bootstrap, group, TopicPartition(topic, 0, 2))
        broker.kill()
        broker.start()
        assert foreign.values(foreign.read(broker.bootstrap, topic, 2)) == [LARGE, LARGE]
        assert foreign.watermarks(broker.bootstrap, topic) == (0, 2)
        assert foreign.committed(broker.bootstrap, group, topic).offset == 2
        assert foreign.produce(broker.bootstrap, "no-room", ["v"]) == [0]


@pytest.mark.slow
def test_a_broker_whose_disk_is_full_stops_in_good_order_and_starts_to_be_read(
    small_disk: Path, tmp_path: Path
) -> None:
    broker = BrokerProcess(small_disk / "data")
    broker.log_path = tmp_path / "broker.log"
    with broker:
        assert foreign.produce(broker.bootstrap, "kept", ["a", "b"]) == [0, 1]
        with no_room_left(small_disk):
            assert broker.stop() == 0
            assert "the next start will scan" in broker.log
            broker.start()
            assert "No space left on device" in broker.log
            assert foreign.values(foreign.read(broker.bootstrap, "kept", 2)) == [b"a", b"b"]
        assert "Traceback" not in broker.log
        assert foreign.produce(broker.bootstrap, "kept", ["c"]) == [2]


def test_a_full_disk_refuses_produces_and_serves_reads(
    faulty: InProcessBroker, files: FaultyFiles
) -> None:
    topic = foreign.create_topic(faulty.bootstrap)
    foreign.produce(faulty.bootstrap, topic, ["a", "b"])
    files.is_full = True
    for _ in range(3):
        assert _produce(faulty.bootstrap, topic, b"c") == _REFUSED
    assert foreign.values(foreign.read(faulty.bootstrap, topic, 2)) == [b"a", b"b"]
    files.is_full = False
    assert _produce(faulty.bootstrap, topic, b"c") == (ErrorCode.NONE, 2)
    assert foreign.values(foreign.read(faulty.bootstrap, topic, 3)) == [b"a", b"b", b"c"]


def test_a_producer_that_meets_a_full_disk_goes_on_when_there_is_room(
    faulty: InProcessBroker, files: FaultyFiles
) -> None:
    topic = foreign.create_topic(faulty.bootstrap)
    files.is_full = True
    code = foreign.refusal(foreign.produce, faulty.bootstrap, topic, ["lost"], retries=0)
    assert code == ErrorCode.KAFKA_STORAGE_ERROR
    files.is_full = False
    assert foreign.produce(faulty.bootstrap, topic, ["kept"]) == [0]


def test_a_topic_and_a_commit_that_do_not_fit_are_refused_and_can_be_repeated(
    faulty: InProcessBroker, files: FaultyFiles
) -> None:
    topic, group = foreign.create_topic(faulty.bootstrap), foreign.name("group")
    foreign.commit(faulty.bootstrap, group, TopicPartition(topic, 0, 1))
    files.is_full = True
    code = foreign.refusal(foreign.create_topic, faulty.bootstrap, "new")
    assert code == ErrorCode.KAFKA_STORAGE_ERROR
    assert "new" not in foreign.admin(faulty.bootstrap).list_topics(timeout=60).topics
    files.is_full = False
    foreign.create_topic(faulty.bootstrap, "new")
    assert foreign.produce(faulty.bootstrap, "new", ["v"]) == [0]
    foreign.commit(faulty.bootstrap, group, TopicPartition(topic, 0, 2))
    assert foreign.committed(faulty.bootstrap, group, topic).offset == 2


def test_a_topic_whose_files_cannot_be_made_leaves_nothing_behind(
    tmp_path: Path, files: FaultyFiles
) -> None:
    with InProcessBroker(tmp_path / "data", files=files) as broker:
        foreign.create_topic(broker.bootstrap, "old")
        files.is_full_for_new_files = True
        code = foreign.refusal(foreign.create_topic, broker.bootstrap, "new")
        assert code == ErrorCode.KAFKA_STORAGE_ERROR
        grow = foreign.admin(broker.bootstrap).create_partitions([NewPartitions("old", 2)])["old"]
        assert foreign.refusal(grow.result, 20) == ErrorCode.KAFKA_STORAGE_ERROR
        files.is_full_for_new_files = False
        foreign.create_topic(broker.bootstrap, "new")
        assert foreign.produce(broker.bootstrap, "new", ["a", "b"]) == [0, 1]
    with InProcessBroker(tmp_path / "data") as broker:
        assert foreign.values(foreign.read(broker.bootstrap, "new", 2)) == [b"a", b"b"]
        topics = foreign.admin(broker.bootstrap).list_topics(timeout=60).topics
        assert {name: len(topic.partitions) for name, topic in topics.items()} == {
            "old": 1,
            "new": 1,
        }


def test_a_failed_fsync_takes_the_partition_offline_until_it_has_been_scanned_again(
    faulty: InProcessBroker, files: FaultyFiles, caplog: pytest.LogCaptureFixture
) -> None:
    topic = foreign.create_topic(faulty.bootstrap)
    for value in (b"a", b"b"):
        assert _produce(faulty.bootstrap, topic, value)[0] == ErrorCode.NONE
    files.fails_to_sync = True
    assert _produce(faulty.bootstrap, topic, b"never acknowledged") == _REFUSED
    assert _produce(faulty.bootstrap, topic, b"nor this") == _REFUSED
    assert _fetch_error(faulty.bootstrap, topic) == ErrorCode.KAFKA_STORAGE_ERROR
    assert f"{topic}-0 goes offline" in caplog.text
    files.fails_to_sync = False
    foreign.until(lambda: f"{topic}-0 is back online" in caplog.text)
    assert _produce(faulty.bootstrap, topic, b"c") == (ErrorCode.NONE, 2)
    assert foreign.values(foreign.read(faulty.bootstrap, topic, 3)) == [b"a", b"b", b"c"]
    assert foreign.watermarks(faulty.bootstrap, topic) == (0, 3)


@pytest.mark.slow
def test_what_was_acknowledged_before_a_failed_fsync_survives_a_restart(
    tmp_path: Path, files: FaultyFiles, caplog: pytest.LogCaptureFixture
) -> None:
    with InProcessBroker(tmp_path / "data", files=files) as broker:
        topic = foreign.create_topic(broker.bootstrap)
        assert foreign.produce(broker.bootstrap, topic, ["a", "b"]) == [0, 1]
        files.fails_to_sync = True
        assert _produce(broker.bootstrap, topic, b"never acknowledged") == _REFUSED
        files.fails_to_sync = False
        foreign.until(lambda: "is back online" in caplog.text)
        assert foreign.produce(broker.bootstrap, topic, ["c"]) == [2]
    with InProcessBroker(tmp_path / "data") as broker:
        assert foreign.values(foreign.read(broker.bootstrap, topic, 3)) == [b"a", b"b", b"c"]
        assert foreign.watermarks(broker.bootstrap, topic) == (0, 3)


@pytest.mark.slow
def test_a_commit_whose_fsync_fails_is_not_seen(
    faulty: InProcessBroker, files: FaultyFiles, caplog: pytest.LogCaptureFixture
) -> None:
    topic, group = foreign.create_topic(faulty.bootstrap), foreign.name("group")
    foreign.commit(faulty.bootstrap, group, TopicPartition(topic, 0, 1))
    files.fails_to_sync = True
    with pytest.raises(KafkaException):
        foreign.commit(faulty.bootstrap, group, TopicPartition(topic, 0, 2))
    assert foreign.committed(faulty.bootstrap, group, topic).offset == 1
    files.fails_to_sync = False
    foreign.until(lambda: "is back online" in caplog.text)
    assert foreign.committed(faulty.bootstrap, group, topic).offset == 1
    foreign.commit(faulty.bootstrap, group, TopicPartition(topic, 0, 3))
    assert foreign.committed(faulty.bootstrap, group, topic).offset == 3


_REFUSED = (ErrorCode.KAFKA_STORAGE_ERROR, -1)


def _produce(bootstrap: str, topic: str, value: bytes) -> tuple[int, int]:
    """Error code and offset of one batch, without the retries of a real client."""
    request = produce(topic, 0, batch([value], timestamp=wall_clock()))
    with RawClient(bootstrap) as client:
        answer = produce_answer(client.call(request, ProduceResponse, 9))
    return answer.error_code, answer.base_offset


def _fetch_error(bootstrap: str, topic: str) -> int:
    with RawClient(bootstrap) as client:
        answer = client.call(fetch(topic, 0, 0), FetchResponse, 11)
    return answer.responses[0].partitions[0].error_code
