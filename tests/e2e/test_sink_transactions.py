"""The sink's transactions, without Spark: a batch once, whoever comes again, whatever is killed."""

import gc
import random
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import TopicPartition
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.committed_records import committed_records

from kafkaesque.pipelines.sink.committer import Committer, transaction_producer, write_once
from kafkaesque.pipelines.sink.errors import FencedError, LostError, RefusedRowError, SinkError
from kafkaesque.pipelines.sink.layout import Layout
from kafkaesque.pipelines.sink.options import SinkOptions, batch_options, stream_options
from kafkaesque.pipelines.sink.staging import Job, Staged, stage

pytestmark = pytest.mark.slow

MARKED = {"markColumn": "offset", "markBy": "topic,partition"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    place = tmp_path_factory.mktemp("sink") / "data"
    with BrokerProcess(place, "--set", "auto.create.topics.enable=false") as process:
        yield process


@pytest.fixture
def brokers(cluster: BrokerProcess) -> str:
    return cluster.bootstrap


def options(brokers: str, topic: str, **given: str) -> SinkOptions:
    return stream_options({"kafka.bootstrap.servers": brokers, "topic": topic, **given})


LAYOUT_COLUMNS = {"has_key": True, "has_partition": False, "has_headers": False}


def layout(topic: str | None) -> Layout:
    return Layout(topic, **LAYOUT_COLUMNS)


def staged(
    values: Sequence[str], run: str = "run", query: str = "query", first: int = 0, **more: Any
) -> list[Staged]:
    """What tasks have made of partition 0 of a source, from offset `first` on."""
    count = len(values)
    columns = {
        "key": [f"key-{each}" for each in values],
        "value": list(values),
        "topic": ["source"] * count,
        "partition": [0] * count,
        "offset": list(range(first, first + count)),
    }
    batch = pa.record_batch(columns | more)
    marks = options("a:1", "x", **MARKED).marks
    pieces = [batch.slice(start, 2000) for start in range(0, count, 2000)]
    return [stage(iter([piece]), Job(query, run), "0-0", marks) for piece in pieces]


def seen(brokers: str, topic: str) -> list[str]:
    return [message.value().decode() for message in committed_records(brokers, topic)]


def test_a_batch_that_comes_again_is_recognised(brokers: str) -> None:
    topic = foreign.create_topic(brokers)
    given = options(brokers, topic)
    committer = Committer(given)
    assert committer.commit(layout(topic), staged(["a", "b"]), 0) == 2
    assert committer.commit(layout(topic), staged(["c"]), 1) == 1
    assert committer.commit(layout(topic), staged(["c"]), 1) == 0
    # Another process, of another run.
    again = Committer(given)
    assert again.commit(layout(topic), staged(["c"], run="second"), 1) == 0
    assert again.commit(layout(topic), staged(["d"], run="second"), 2) == 1
    assert seen(brokers, topic) == ["a", "b", "c", "d"]
    with pytest.raises(SinkError, match=r"batch 0 .* comes again, .* up to batch 2"):
        again.commit(layout(topic), staged(["a", "b"], run="second"), 0)


def test_without_a_checkpoint_the_marks_tell_what_is_new(brokers: str) -> None:
    topic = foreign.create_topic(brokers)
    given = options(brokers, topic, **MARKED)
    Committer(given).commit(layout(topic), staged(["0", "1", "2"]), 0)
    lost = Committer(given)
    more = staged(["0", "1"], run="r2", query="q2")
    assert lost.commit(layout(topic), more, 0) == 0
    more = staged(["2", "3"], run="r2", query="q2", first=2)
    assert lost.commit(layout(topic), more, 1) == 1
    # A batch that was cut anew under its old number: what is new in it is not left out.
    more = staged(["2", "3", "4"], run="r2", query="q2", first=2)
    assert lost.commit(layout(topic), more, 1) == 1
    assert seen(brokers, topic) == ["0", "1", "2", "3", "4"]


def test_the_group_of_the_writer_has_no_lag_and_as_many_parts_as_marks_need(brokers: str) -> None:
    topic = foreign.create_topic(brokers)
    given = options(brokers, topic, writerId="many", **MARKED)
    values = [str(each) for each in range(900)]
    rows = staged(values, partition=list(range(900)), offset=[10**12 + each for each in range(900)])
    assert Committer(given).commit(layout(topic), rows, 0) == 900
    text = foreign.committed(brokers, "many", topic).metadata or ""
    number, _, count = text.split(":")[1].partition("/")
    assert (number, int(count) > 3) == ("1", True)
    for group in ["many", *(f"many.{each}" for each in range(2, int(count) + 1))]:
        committed = foreign.committed(brokers, group, topic)
        assert committed.offset == foreign.watermarks(brokers, topic)[1]
    assert Committer(given).commit(layout(topic), rows, 0) == 0


def test_rows_may_name_their_topics(brokers: str) -> None:
    first, second = foreign.create_topic(brokers), foreign.create_topic(brokers)
    given = stream_options({"kafka.bootstrap.servers": brokers, "writerId": foreign.name("w")})
    rows = staged(["a", "b", "c"], topic=[first, second, first])
    assert Committer(given).commit(layout(None), rows, 0) == 3
    assert Committer(given).commit(layout(None), rows, 0) == 0
    assert (seen(brokers, first), seen(brokers, second)) == (["a", "c"], ["b"])


def test_nothing_is_seen_before_the_commit_and_nothing_after_an_abort(brokers: str) -> None:
    topic = foreign.create_topic(brokers)
    producer = transaction_producer(options(brokers, topic), "open")
    producer.open()
    producer.begin()
    producer.send([(topic, "aborted")])
    producer.flush()
    assert foreign.watermarks(brokers, topic) == (0, 1)
    assert seen(brokers, topic) == []
    assert producer.abort()
    producer.begin()
    producer.send([(topic, "kept")])
    producer.flush()
    assert seen(brokers, topic) == []
    producer.commit()
    assert seen(brokers, topic) == ["kept"]


def test_an_older_driver_is_fenced_and_its_open_transaction_ends(brokers: str) -> None:
    topic = foreign.create_topic(brokers)
    given = options(brokers, topic, writerId=foreign.name("w"))
    old, new = Committer(given), Committer(given)
    old.commit(layout(topic), staged(["a"], run="old"), 0)
    assert given.writer_id is not None
    halfway = transaction_producer(given, given.writer_id)
    halfway.open()
    halfway.begin()
    halfway.send([(topic, "from the dead")])
    halfway.flush()
    new.commit(layout(topic), staged(["b"], run="new"), 1)
    with pytest.raises(SinkError, match="has failed"):
        halfway.commit()
    for driver in (old, Committer(given)):
        with pytest.raises(FencedError, match="another query writes with writerId"):
            driver.commit(layout(topic), staged(["never"], run="old", query="other"), 7)
    # The attempts of the old one have not disturbed the new one.
    new.commit(layout(topic), staged(["c"], run="new"), 2)
    assert seen(brokers, topic) == ["a", "b", "c"]


def test_a_run_may_change_from_one_worker_process_to_another_and_back(brokers: str) -> None:
    topic = foreign.create_topic(brokers)
    given = options(brokers, topic)
    workers = [Committer(given), Committer(given)]
    for batch in range(6):
        rows = staged([str(batch)])
        assert workers[batch % 2].commit(layout(topic), rows, batch) == 1
        assert workers[(batch + 1) % 2].commit(layout(topic), rows, batch) == 0
    assert seen(brokers, topic) == [str(batch) for batch in range(6)]


def test_a_broker_killed_in_the_middle_of_a_batch_brings_it_once(
    cluster: BrokerProcess, brokers: str
) -> None:
    topic = foreign.create_topic(brokers)
    given = options(brokers, topic)
    committer = Committer(given)
    committer.commit(layout(topic), staged(["first"]), 0)
    values = [f"{each:06}-{'x' * 100}" for each in range(100_000)]
    rows = staged(values)
    written: list[int] = []
    thread = threading.Thread(
        target=lambda: written.append(committer.commit(layout(topic), rows, 1))
    )
    thread.start()
    foreign.until(lambda: foreign.watermarks(brokers, topic)[1] > 2)
    cluster.kill()
    time.sleep(0.3)
    cluster.start()
    thread.join(100)
    assert written in ([len(values)], [0])
    assert seen(brokers, topic) == ["first", *values]
    assert Committer(given).commit(layout(topic), rows, 1) == 0


def test_what_a_topic_does_not_take_names_the_row_and_the_cure(brokers: str) -> None:
    topic = foreign.create_topic(brokers, configs={"max.message.bytes": "2000"})
    committer = Committer(options(brokers, topic))
    large = random.Random(7).randbytes(2000).hex()
    words = rf"topic {topic} did not take the row with key b?'key-{large[:9]}.*8004 bytes.*raise"
    with pytest.raises(RefusedRowError, match=words):
        committer.commit(layout(topic), staged(["a", large]), 0)
    assert seen(brokers, topic) == []
    # What is too large together is taken one by one.
    small = [large[start : start + 600] for start in range(0, 3000, 600)]
    assert committer.commit(layout(topic), staged(small), 0) == 5
    given = batch_options({"kafka.bootstrap.servers": brokers, "topic": topic})
    assert write_once(given, layout(topic), staged(small)) == 5
    assert seen(brokers, topic) == small * 2


def test_a_producer_that_is_dropped_ends_without_a_garbage_collection(brokers: str) -> None:
    topic = foreign.create_topic(brokers, configs={"max.message.bytes": "2000"})
    producer = transaction_producer(options(brokers, topic), foreign.name("dropped"))
    alive = weakref.ref(producer)
    producer.open()
    producer.begin()
    refused = ""
    gc.disable()
    try:
        try:
            producer.send([(topic, random.Random(7).randbytes(3000))])
            producer.flush()
        except RefusedRowError as error:
            refused = str(error)
        del producer
        assert alive() is None
    finally:
        gc.enable()
    assert f"topic {topic} did not take the row" in refused


def test_a_producer_that_another_has_fenced_ends_when_it_is_dropped(brokers: str) -> None:
    topic, transactional_id = foreign.create_topic(brokers), foreign.name("fenced")
    producer = transaction_producer(options(brokers, topic), transactional_id)
    alive = weakref.ref(producer)
    producer.open()
    producer.begin()
    transaction_producer(options(brokers, topic), transactional_id).open()
    lost = ""
    try:
        producer.send([(topic, "never")])
        producer.flush()
    except LostError as error:
        assert not producer.abort()
        lost = str(error)
    del producer
    gc.collect()
    assert alive() is None
    assert "fenced by a newer instance" in lost


def test_a_topic_that_is_not_there_is_said_at_once_and_can_be_made(brokers: str) -> None:
    topic = foreign.name("missing")
    committer = Committer(options(brokers, topic))
    with pytest.raises(RefusedRowError, match=f"kafkaesque topic create {topic}"):
        committer.commit(layout(topic), staged(["a"]), 0)
    foreign.create_topic(brokers, topic)
    assert committer.commit(layout(topic), staged(["a"]), 0) == 1


def test_a_group_that_somebody_else_uses_is_refused(brokers: str) -> None:
    topic = foreign.create_topic(brokers)
    place = TopicPartition(topic, 0, 1, metadata="mine")
    foreign.commit(brokers, "theirs", place)
    with pytest.raises(SinkError, match="a writerId that no consumer group has"):
        Committer(options(brokers, topic, writerId="theirs")).commit(
            layout(topic), staged(["a"]), 0
        )


def test_a_topic_that_is_made_anew_is_written_anew(brokers: str) -> None:
    topic = foreign.create_topic(brokers)
    given = options(brokers, topic, **MARKED)
    Committer(given).commit(layout(topic), staged(["a"]), 0)
    foreign.delete_topic(brokers, topic)
    foreign.create_topic(brokers, topic)
    rows = staged(["a"], run="r2", query="q2")
    assert Committer(given).commit(layout(topic), rows, 0) == 1
    assert seen(brokers, topic) == ["a"]


def test_a_batch_of_its_own_is_one_transaction(brokers: str, tmp_path: Path) -> None:
    topic = foreign.create_topic(brokers)
    given = batch_options({"kafka.bootstrap.servers": brokers, "topic": topic})
    assert write_once(given, layout(topic), staged(["a", "b"])) == 2
    low, high = foreign.watermarks(brokers, topic)
    assert (high - low, seen(brokers, topic)) == (3, ["a", "b"])
