"""A piece of a partition as a task of Spark reads it, without Spark: what happens underneath it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka
import pytest
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.open_transaction import open_transaction

from kafkaesque.client.connection import ClusterError
from kafkaesque.pipelines.source.offsets import Range
from kafkaesque.pipelines.source.options import batch_options
from kafkaesque.pipelines.source.planning import DataLossError
from kafkaesque.pipelines.source.reading import read
from kafkaesque.types import TopicPartition

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with BrokerProcess(tmp_path_factory.mktemp("reading") / "data") as process:
        yield process.bootstrap


@pytest.fixture
def offsets(brokers: str) -> Callable[..., list[int]]:
    """The offsets that reading a range brings."""

    def found(topic: str, start: int, end: int, **options: str) -> list[int]:
        given = {"kafka.bootstrap.servers": brokers, "subscribe": topic, **options}
        piece = Range(TopicPartition(topic, 0), start, end)
        batches = read(piece, batch_options(given))
        return [offset for batch in batches for offset in batch["offset"].to_pylist()]

    return found


def written(brokers: str, count: int) -> str:
    topic = foreign.create_topic(brokers)
    for _ in range(count // 10):
        foreign.produce(brokers, topic, [b"x" * 100] * 10)
    return topic


def truncate(brokers: str, topic: str, offset: int) -> None:
    place = confluent_kafka.TopicPartition(topic, 0, offset)
    for future in foreign.admin(brokers).delete_records([place]).values():
        future.result(foreign.TIMEOUT_S)


def test_many_small_answers_are_one_piece(brokers: str, offsets: Callable[..., list[int]]) -> None:
    topic = written(brokers, 60)
    small = {"kafka.max.partition.fetch.bytes": "1500"}
    assert offsets(topic, 7, 53, **small) == list(range(7, 53))
    assert offsets(topic, 0, 60, **small) == list(range(60))


def test_a_piece_that_is_not_read_to_its_end_leaves_nothing_behind(
    brokers: str, offsets: Callable[..., list[int]]
) -> None:
    topic = written(brokers, 40)
    given = {
        "kafka.bootstrap.servers": brokers,
        "subscribe": topic,
        "kafka.max.partition.fetch.bytes": "1500",
    }
    begun = read(Range(TopicPartition(topic, 0), 0, 40), batch_options(given))
    assert next(begun)["offset"].to_pylist()[0] == 0
    del begun
    assert offsets(topic, 20, 40, **{"kafka.max.partition.fetch.bytes": "1500"}) == list(
        range(20, 40)
    )


def test_what_goes_while_it_is_read_is_told_or_left_out(
    brokers: str, offsets: Callable[..., list[int]]
) -> None:
    topic = written(brokers, 30)
    truncate(brokers, topic, 12)
    with pytest.raises(DataLossError, match="has no offset 5"):
        offsets(topic, 5, 30)
    assert offsets(topic, 5, 30, failOnDataLoss="false") == list(range(12, 30))
    assert offsets(topic, 5, 9, failOnDataLoss="false") == []
    assert offsets(topic, 90, 99, failOnDataLoss="false") == []
    foreign.delete_topic(brokers, topic)
    with pytest.raises(DataLossError, match="is not there any more"):
        offsets(topic, 12, 30)


def test_a_task_does_not_wait_for_ever(brokers: str, offsets: Callable[..., list[int]]) -> None:
    topic = written(brokers, 10)
    soon = {"kafkaConsumer.pollTimeoutMs": "600"}
    with pytest.raises(ClusterError, match=r"nothing came of .* from offset 10 on in 0\.6 s"):
        offsets(topic, 0, 20, **soon)


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_piece_that_ends_in_the_marker_of_a_transaction_ends(
    brokers: str, offsets: Callable[..., list[int]], is_committed: bool
) -> None:
    topic = written(brokers, 10)
    with open_transaction(brokers, foreign.name("id"), topic) as producer:
        end = producer.commit_transaction if is_committed else producer.abort_transaction
        end(foreign.TIMEOUT_S)
    soon = {"kafkaConsumer.pollTimeoutMs": "10000"}
    assert offsets(topic, 0, 12, **soon) == list(range(11 if is_committed else 10))
    assert offsets(topic, 11, 12, **soon) == []


def test_a_piece_whose_end_was_compacted_away_ends(tmp_path: Path) -> None:
    soon = {"kafkaConsumer.pollTimeoutMs": "10000"}
    with BrokerProcess(tmp_path / "data") as broker:
        topic = written(broker.bootstrap, 20)
        given = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic, **soon}
        broker.stop()
        # As a cleaner leaves it that has dropped the last records of a log: the next segment says
        # how far it went.
        (tmp_path / "data" / f"{topic}-0" / f"{30:020}.log").touch()
        broker.start()

        def found(start: int, end: int) -> list[int]:
            batches = read(Range(TopicPartition(topic, 0), start, end), batch_options(given))
            return [offset for batch in batches for offset in batch["offset"].to_pylist()]

        assert found(0, 30) == list(range(20))
        # The leader does not tell again what it has told in this session.
        assert found(25, 30) == []
        given["kafkaConsumer.pollTimeoutMs"] = "1500"
        with pytest.raises(ClusterError, match="from offset 20 on"):
            found(10, 31)
