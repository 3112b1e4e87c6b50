"""Files that were damaged while no broker held them: repaired at start, with a line that says how.

What was cut is gone for good and its offsets are given out anew; everything before it stays as it
was. An index only says where to look: nothing is lost with it.
"""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from tests import foreign
from tests.broker_process import BrokerProcess

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


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_segment_is_cut_at_its_first_bad_batch(tmp_path: Path, damage: str) -> None:
    change, left, said = DAMAGES[damage]
    with BrokerProcess(tmp_path / "data", *NO_CHECKPOINTS) as broker:
        topic = foreign.create_topic(broker.bootstrap)
        for number in range(RECORDS):
            foreign.produce(broker.bootstrap, topic, [f"{number}"], linger_ms=0)
        broker.kill()
        segment = broker.data_dir / f"{topic}-0" / "00000000000000000000.log"
        segment.write_bytes(change(segment.read_bytes()))
        broker.start()
        assert not said or _line(broker, f"{segment}: ", said)
        assert foreign.watermarks(broker.bootstrap, topic) == (0, left)
        expected = [b"%d" % number for number in range(left)]
        assert foreign.values(foreign.read(broker.bootstrap, topic, left)) == expected
        assert foreign.produce(broker.bootstrap, topic, ["after"]) == [left]
        assert foreign.read(broker.bootstrap, topic, 1, offset=left)[0].value() == b"after"


def test_a_segment_that_does_not_follow_the_one_before_it_is_dropped(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", *NO_CHECKPOINTS) as broker:
        topic = _topic_of_many_segments(broker)
        broker.kill()
        segments = _segments(broker, topic)
        data = segments[1].read_bytes()
        segments[1].write_bytes(data[: len(data) // 2])
        broker.start()
        assert _line(broker, f"{segments[1]}: ", "cut by")
        assert _line(broker, f"{segments[2]}: ", "dropped")
        assert _segments(broker, topic) == segments[:2]
        _, end = foreign.watermarks(broker.bootstrap, topic)
        assert int(segments[1].stem) <= end < int(segments[2].stem)
        assert len(foreign.read(broker.bootstrap, topic, end)) == end


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("damage", ["deleted", "zeroed", "garbage", "torn"])
def test_a_damaged_index_is_built_anew_after_a_kill(
    tmp_path: Path, damage: str, suffix: str
) -> None:
    with BrokerProcess(tmp_path / "data", *QUICK_CHECKPOINTS) as broker:
        topic = _topic_of_many_segments(broker)
        foreign.until(lambda: _recovery_point(broker, topic) == 60)
        broker.kill()
        index = _segments(broker, topic)[0].with_suffix(suffix)
        _damage(index, damage)
        broker.start()
        assert _line(broker, str(index.with_suffix("")), "built anew")
        _check_that_everything_is_found(broker, topic)


@pytest.mark.parametrize("damage", ["deleted", "zeroed", "garbage"])
def test_every_record_is_found_though_all_indexes_were_damaged_after_a_clean_stop(
    tmp_path: Path, damage: str
) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        topic = _topic_of_many_segments(broker)
        broker.stop()
        for segment in _segments(broker, topic):
            for suffix in (".index", ".timeindex"):
                _damage(segment.with_suffix(suffix), damage)
        broker.start()
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
    start = time.time_ns() // 1_000_000 - 100_000
    for number in range(60):
        foreign.produce(
            broker.bootstrap,
            topic,
            [f"{number}".ljust(1000)],
            timestamps=[start + number * 1000],
            linger_ms=0,
        )
    return topic


def _check_that_everything_is_found(broker: BrokerProcess, topic: str) -> None:
    assert foreign.watermarks(broker.bootstrap, topic) == (0, 60)
    messages = foreign.read(broker.bootstrap, topic, 60)
    assert [message.offset() for message in messages] == [*range(60)]
    for offset in (1, 7, 20, 33, 59):
        (message,) = foreign.read(broker.bootstrap, topic, 1, offset=offset)
        assert message.value() == f"{offset}".ljust(1000).encode()
        assert _offset_at(broker, topic, message.timestamp()[1] - 500) == offset
    assert foreign.produce(broker.bootstrap, topic, ["after"]) == [60]


def _offset_at(broker: BrokerProcess, topic: str, timestamp: int) -> int:
    reader = foreign.consumer(broker.bootstrap)
    (found,) = reader.offsets_for_times([TopicPartition(topic, 0, timestamp)], foreign.TIMEOUT_S)
    reader.close()
    offset: int = found.offset
    return offset


def _segments(broker: BrokerProcess, topic: str) -> list[Path]:
    return sorted((broker.data_dir / f"{topic}-0").glob("*.log"))


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
