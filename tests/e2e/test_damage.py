"""Files that were damaged while no broker held them: repaired at start, with a line that says how.

What was cut is gone for good and its offsets are given out anew; everything before it stays as it
was. An index only says where to look: nothing is lost with it.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.wire.client import RawClient
from tests.wire.requests import batch, produce

from kafkaesque.broker.server import wall_clock
from kafkaesque.protocol.messages.produce import ProduceResponse
from kafkaesque.records.batch import Record, new_batch

pytestmark = pytest.mark.slow

NO_CHECKPOINTS = ("--set", "log.flush.offset.checkpoint.interval.ms=600000")
QUICK_CHECKPOINTS = ("--set", "log.flush.offset.checkpoint.interval.ms=50")
RECORDS = 10


def _flip_a_byte_of_the_last_batch(data: bytes) -> bytes:
    return data[:-5] + bytes([data[-5] ^ 0xFF]) + data[-4:]


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], int, str]] = {
    "garbage at its end": (lambda data: data + b"garbage" * 30, RECORDS, "cut by 210 bytes"),
    "zeros at its end": (lambda data: data + bytes(4096), RECORDS, "cut by 4096 bytes"),
    "a flipped byte": (_flip_a_byte_of_the_last_batch, RECORDS - 1, "a batch with a wrong CRC"),
    "a torn last batch": (lambda data: data[:-7], RECORDS - 1, "half a batch"),
    "nothing left": (lambda data: b"", 0, ""),
}

INDEX_DAMAGES = [
    (damage, suffix)
    for damage in ("deleted", "zeroed", "garbage", "torn")
    for suffix in (".index", ".timeindex")
]


def test_a_damaged_segment_is_cut_at_its_first_bad_batch(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", *NO_CHECKPOINTS) as broker:
        topics = {damage: foreign.create_topic(broker.bootstrap) for damage in DAMAGES}
        for topic in topics.values():
            _produce(broker, topic, [b"%d" % number for number in range(RECORDS)])
        broker.kill()
        for damage, topic in topics.items():
            segment = broker.segments(topic)[0]
            segment.write_bytes(DAMAGES[damage][0](segment.read_bytes()))
        broker.start()
        for damage, topic in topics.items():
            _, left, said = DAMAGES[damage]
            assert not said or _line(broker, f"{topic}-0/", said), damage
            assert foreign.watermarks(broker.bootstrap, topic) == (0, left), damage
            expected = [b"%d" % number for number in range(left)]
            assert foreign.values(foreign.read(broker.bootstrap, topic, left)) == expected
            assert foreign.produce(broker.bootstrap, topic, ["after"]) == [left], damage
            assert foreign.read(broker.bootstrap, topic, 1, offset=left)[0].value() == b"after"


def test_a_segment_that_does_not_follow_the_one_before_it_is_dropped(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", *NO_CHECKPOINTS) as broker:
        topic = _topic_of_many_segments(broker)
        broker.kill()
        segments = broker.segments(topic)
        data = segments[1].read_bytes()
        segments[1].write_bytes(data[: len(data) // 2])
        broker.start()
        assert _line(broker, f"{segments[1]}: ", "cut by")
        assert _line(broker, f"{segments[2]}: ", "dropped")
        assert broker.segments(topic) == segments[:2]
        _, end = foreign.watermarks(broker.bootstrap, topic)
        assert int(segments[1].stem) <= end < int(segments[2].stem)
        assert len(foreign.read(broker.bootstrap, topic, end)) == end


def test_a_damaged_index_is_built_anew_after_a_kill(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", *QUICK_CHECKPOINTS) as broker:
        topics = {case: _topic_of_many_segments(broker) for case in INDEX_DAMAGES}
        points = partial(map, partial(_recovery_point, broker), topics.values())
        foreign.until(lambda: set(points()) == {60})
        broker.kill()
        for (damage, suffix), topic in topics.items():
            _damage(broker.segments(topic)[0].with_suffix(suffix), damage)
        broker.start()
        for case, topic in topics.items():
            assert _line(broker, f"{topic}-0/", "built anew"), case
            _check_that_everything_is_found(broker, topic)


def test_every_record_is_found_though_indexes_were_damaged_after_a_clean_stop(
    tmp_path: Path,
) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        # A time index of zeros passes for one of 1970, as in Kafka: a clean start scans nothing.
        cases = [case for case in INDEX_DAMAGES if case != ("zeroed", ".timeindex")]
        topics = {case: _topic_of_many_segments(broker) for case in cases}
        assert broker.stop() == 0
        for (damage, suffix), topic in topics.items():
            for segment in broker.segments(topic):
                _damage(segment.with_suffix(suffix), damage)
        broker.start()
        for topic in topics.values():
            _check_that_everything_is_found(broker, topic)


def test_a_damaged_checkpoint_file_is_begun_anew_with_a_line(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", *QUICK_CHECKPOINTS) as broker:
        topic = _topic_of_many_segments(broker)
        foreign.until(lambda: _recovery_point(broker, topic) == 60)
        broker.kill()
        checkpoint = broker.data_dir / "recovery-point-offset-checkpoint"
        checkpoint.write_bytes(b"\0" * 40)
        broker.start()
        assert _line(broker, str(checkpoint), "begun anew")
        _check_that_everything_is_found(broker, topic)


def _topic_of_many_segments(broker: BrokerProcess) -> str:
    """60 records of a kilobyte in batches of their own, a second apart, in segments of 16 KB."""
    configs = {"segment.bytes": "16384", "index.interval.bytes": "1024"}
    topic = foreign.create_topic(broker.bootstrap, configs=configs)
    start = wall_clock() - 100_000
    with RawClient(broker.bootstrap) as client:
        for number in range(60):
            record = Record(0, start + number * 1000, None, b"%-1000d" % number, ())
            client.call(produce(topic, 0, new_batch([record])), ProduceResponse, 9)
    return topic


def _produce(broker: BrokerProcess, topic: str, values: list[bytes]) -> None:
    """A batch for each."""
    with RawClient(broker.bootstrap) as client:
        for value in values:
            records = batch([value], timestamp=wall_clock())
            client.call(produce(topic, 0, records), ProduceResponse, 9)


def _check_that_everything_is_found(broker: BrokerProcess, topic: str) -> None:
    assert foreign.watermarks(broker.bootstrap, topic) == (0, 60)
    messages = foreign.read(broker.bootstrap, topic, 60)
    assert [message.offset() for message in messages] == [*range(60)]
    for offset in (7, 33):
        (message,) = foreign.read(broker.bootstrap, topic, 1, offset=offset)
        assert message.value() == b"%-1000d" % offset
        before = message.timestamp()[1] - 500
        assert foreign.offset_at(broker.bootstrap, topic, before) == offset
    assert foreign.produce(broker.bootstrap, topic, ["after"]) == [60]


def _recovery_point(broker: BrokerProcess, topic: str) -> int:
    path = broker.data_dir / "recovery-point-offset-checkpoint"
    lines = path.read_text().splitlines() if path.exists() else []
    found = [line.split() for line in lines if line.startswith(f"{topic} 0 ")]
    return int(found[0][2]) if found else -1


def _damage(path: Path, damage: str) -> None:
    data = path.read_bytes()
    if damage == "deleted":
        path.unlink()
    elif damage == "zeroed":
        path.write_bytes(bytes(len(data)))
    elif damage == "garbage":
        path.write_bytes(b"\x7f" * len(data))
    else:
        path.write_bytes(data[:-3])


def _line(broker: BrokerProcess, *parts: str) -> str | None:
    """The first line of the broker's log that has all of these."""
    lines = broker.log.splitlines()
    return next((line for line in lines if all(part in line for part in parts)), None)
