"""Everything is a log: topics, settings and offsets survive stop and kill, and stay short."""

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicCollection, TopicPartition
from confluent_kafka.admin import NewPartitions
from tests import foreign, group_state
from tests.broker_process import BrokerProcess
from tests.processes import running
from tests.wire.client import RawClient

from kafkaesque.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkaesque.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

pytestmark = pytest.mark.slow

QUICK = ("--set", "log.flush.offset.checkpoint.interval.ms=50")
TIMEOUT_S = foreign.TIMEOUT_S


def test_topics_settings_and_partitions_survive_kill_and_stop(broker: BrokerProcess) -> None:
    admin = foreign.admin(broker.bootstrap)
    foreign.create_topic(broker.bootstrap, "plain")
    foreign.create_topic(broker.bootstrap, "set", 3, {"retention.ms": "77", "segment.ms": "99"})
    foreign.create_topic(broker.bootstrap, "gone", 2)
    foreign.produce(broker.bootstrap, "gone", ["v"])
    foreign.alter(broker.bootstrap, "set", "retention.ms", "88")
    admin.create_partitions([NewPartitions("plain", 4)])["plain"].result(TIMEOUT_S)
    foreign.delete_topic(broker.bootstrap, "gone")
    before = _described(broker)
    broker.kill()
    broker.start()
    assert _described(broker) == before
    assert before["set"]["settings"] == {"retention.ms": "88", "segment.ms": "99"}
    assert {name: topic["partitions"] for name, topic in before.items()} == {"plain": 4, "set": 3}
    assert broker.stop() == 0
    broker.start()
    assert _described(broker) == before
    foreign.create_topic(broker.bootstrap, "gone")
    assert foreign.watermarks(broker.bootstrap, "gone") == (0, 0)


def test_a_deleted_topic_stays_deleted_with_its_offsets_after_a_kill(broker: BrokerProcess) -> None:
    topic, group = foreign.create_topic(broker.bootstrap), foreign.name("group")
    foreign.produce(broker.bootstrap, topic, ["v"])
    foreign.commit(broker.bootstrap, group, TopicPartition(topic, 0, 1))
    foreign.delete_topic(broker.bootstrap, topic)
    broker.kill()
    broker.start()
    assert not list(broker.data_dir.glob(f"{topic}-*"))
    foreign.create_topic(broker.bootstrap, topic)
    assert foreign.watermarks(broker.bootstrap, topic) == (0, 0)
    assert _committed(broker, group) == {}


def test_deleted_records_stay_deleted_after_a_kill(broker: BrokerProcess) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    foreign.produce(broker.bootstrap, topic, [f"{number}" for number in range(10)])
    place = TopicPartition(topic, 0, 6)
    foreign.admin(broker.bootstrap).delete_records([place])[place].result(TIMEOUT_S)
    broker.kill()
    broker.start()
    assert foreign.watermarks(broker.bootstrap, topic) == (6, 10)


def test_no_producer_id_is_given_out_twice(broker: BrokerProcess) -> None:
    given = []
    for _ in range(3):
        with RawClient(broker.bootstrap) as client:
            given += [
                client.call(InitProducerIdRequest(), InitProducerIdResponse, 4).producer_id
                for _ in range(5)
            ]
        broker.kill()
        broker.start()
    assert sorted(set(given)) == given


def test_forty_thousand_commits_leave_a_short_log_and_a_quick_restart(tmp_path: Path) -> None:
    small = (
        "--set",
        "offsets.topic.segment.bytes=500000",
        "--set",
        "log.cleaner.backoff.ms=50",
        "--set",
        "log.cleaner.niceness=0",
    )
    with BrokerProcess(tmp_path / "data", *QUICK, *small) as broker:
        topic, group = foreign.create_topic(broker.bootstrap, partitions=100), "busy"
        foreign.commit(broker.bootstrap, "quiet", TopicPartition(topic, 5, 55, metadata="kept"))
        with RawClient(broker.bootstrap) as client:
            for number in range(400):
                answer = client.call(_commit(group, topic, number), OffsetCommitResponse, 8)
                assert {each.error_code for each in answer.topics[0].partitions} == {0}
        foreign.until(lambda: _bytes_of(broker, "__consumer_offsets") < 1_000_000)
        broker.kill()
        broker.start()
        assert _worked_ns(broker) < 5e9
        assert _committed(broker, group) == {each: 399 * 100 + each for each in range(100)}
        assert foreign.committed(broker.bootstrap, "quiet", topic, 5).metadata == "kept"
        foreign.commit(broker.bootstrap, group, TopicPartition(topic, 0, 1))
        assert broker.stop() == 0
        broker.start()
        assert _committed(broker, group)[0] == 1


def test_very_many_changes_of_settings_leave_a_short_log(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", *QUICK) as broker:
        topic = foreign.create_topic(broker.bootstrap, configs={"segment.ms": "99"})
        for number in range(1, 701):
            # A long way to write a number, so that fewer of them fill the log.
            foreign.alter(broker.bootstrap, topic, "retention.bytes", f"{number:04000}")
        foreign.until(lambda: _bytes_of(broker, "__cluster_metadata") < 2_500_000)
        before = _described(broker)
        assert int(before[topic]["settings"]["retention.bytes"]) == 700
        broker.kill()
        broker.start()
        assert _described(broker) == before


def _described(broker: BrokerProcess) -> dict[str, dict[str, Any]]:
    """Id, number of partitions and own settings of every topic but the internal ones."""
    admin = foreign.admin(broker.bootstrap)
    names = [n for n in admin.list_topics(timeout=TIMEOUT_S).topics if not n.startswith("__")]
    described = admin.describe_topics(TopicCollection(names))
    return {
        name: {
            "id": str(described[name].result(TIMEOUT_S).topic_id),
            "partitions": len(described[name].result(TIMEOUT_S).partitions),
            "settings": {
                setting: entry.value
                for setting, entry in foreign.topic_configs(broker.bootstrap, name).items()
                if not entry.is_default
            },
        }
        for name in names
    }


def _commit(group: str, topic: str, number: int) -> OffsetCommitRequest:
    """A commit of 100 partitions by a client outside of the group's protocol."""
    partitions = [
        OffsetCommitRequestPartition(partition_index=each, committed_offset=number * 100 + each)
        for each in range(100)
    ]
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=-1,
        topics=[OffsetCommitRequestTopic(name=topic, partitions=partitions)],
    )


def _committed(broker: BrokerProcess, group: str) -> dict[int, int]:
    found = group_state.commits(broker.bootstrap, group)
    return {place.partition: each.offset for place, each in found.items()}


def _worked_ns(broker: BrokerProcess) -> int:
    """How long it has had a processor, however many wanted one."""
    (process,) = (each for each in running() if each.pid == broker.pid)
    return process.worked_ns


def _bytes_of(broker: BrokerProcess, topic: str) -> int:
    return sum(path.stat().st_size for path in broker.segments(topic))
