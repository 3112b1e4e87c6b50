"""MirrorMaker 2 between our broker and Apache Kafka, both ways at once.

Records, settings, added partitions and a group's offsets must arrive, each where it belongs.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewPartitions
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.compat.apache_kafka import ApacheKafka
from tests.compat.committed import CommittedReader
from tests.compat.connect_process import ConnectProcess

pytestmark = [pytest.mark.compat, pytest.mark.timeout(400)]

PATIENCE_S = 120.0
PARTITIONS = 2
COUNT = 1000
INTERNAL_TOPICS = ("checkpoints", "heartbeats", "offset-syncs")
INTERVALS = (
    "refresh.topics",
    "refresh.groups",
    "sync.topic.configs",
    "emit.checkpoints",
    "sync.group.offsets",
)


def settings(ours: str, kafka: str) -> dict[str, str]:
    return {
        "clusters": "ours,kafka",
        "ours.bootstrap.servers": ours,
        "kafka.bootstrap.servers": kafka,
        "ours->kafka.enabled": "true",
        "kafka->ours.enabled": "true",
        "topics": "travels.*",
        "groups": "travellers.*",
        "replication.factor": "1",
        "sync.group.offsets.enabled": "true",
        "offset.lag.max": "0",
        **{f"{what}.interval.seconds": "1" for what in INTERVALS},
        **{f"{what}.topic.replication.factor": "1" for what in INTERNAL_TOPICS},
        **{f"{what}.storage.replication.factor": "1" for what in ("offset", "config", "status")},
    }


@pytest.fixture
def mirror_maker(
    broker: BrokerProcess, apache_kafka: ApacheKafka, tmp_path: Path
) -> Iterator[ConnectProcess]:
    main_class = "org.apache.kafka.connect.mirror.MirrorMaker"
    both = settings(broker.bootstrap, apache_kafka.bootstrap)
    process = ConnectProcess(main_class, tmp_path, both)
    yield process
    process.kill()


def test_records_settings_and_offsets_are_mirrored_both_ways(
    broker: BrokerProcess, apache_kafka: ApacheKafka, mirror_maker: ConnectProcess
) -> None:
    clusters = {"ours": broker.bootstrap, "kafka": apache_kafka.bootstrap}
    for name, bootstrap in clusters.items():
        configs = {"retention.ms": "123456789"}
        foreign.create_topic(bootstrap, f"travels-{name}", PARTITIONS, configs)
        _produce(bootstrap, name, 0)
    mirror_maker.start()
    _expect_mirrors(clusters, mirror_maker, COUNT)
    for name, bootstrap in clusters.items():
        _produce(bootstrap, name, COUNT)
        offset = TopicPartition(f"travels-{name}", 0, 2 * COUNT)
        foreign.commit(bootstrap, f"travellers-{name}", offset)
    _expect_mirrors(clusters, mirror_maker, 2 * COUNT)
    for source, target in (("ours", "kafka"), ("kafka", "ours")):
        _expect_state(clusters[source], clusters[target], source)
    assert [line for line in mirror_maker.said.splitlines() if " ERROR " in line] == []


def _produce(bootstrap: str, name: str, start: int) -> None:
    for partition in range(PARTITIONS):
        values = [f"{partition} {number}" for number in range(start, start + COUNT)]
        foreign.produce(bootstrap, f"travels-{name}", values, partition)


def _expect_mirrors(
    clusters: dict[str, str], mirror_maker: ConnectProcess, per_partition: int
) -> None:
    """Each record once, in its partition, in its order."""
    for source, target in (("ours", "kafka"), ("kafka", "ours")):
        topic = f"{source}.travels-{source}"
        bootstrap = clusters[target]
        foreign.until(lambda: _exists(bootstrap, topic, mirror_maker), PATIENCE_S)  # noqa: B023
        reader = CommittedReader(bootstrap, topic, PARTITIONS)
        reader.read_until(PARTITIONS * per_partition, mirror_maker.check)
        reader.close()
        values = [(value or b"").decode() for _, value in reader.records]
        for partition in range(PARTITIONS):
            mirrored = [value for value in values if value.startswith(f"{partition} ")]
            assert mirrored == [f"{partition} {number}" for number in range(per_partition)]


def _exists(bootstrap: str, topic: str, mirror_maker: ConnectProcess) -> bool:
    mirror_maker.check()
    return topic in foreign.admin(bootstrap).list_topics(timeout=foreign.TIMEOUT_S).topics


def _expect_state(source: str, target: str, name: str) -> None:
    """The topic's settings, a partition that was added, and the group's offset."""
    topic, mirror, group = f"travels-{name}", f"{name}.travels-{name}", f"travellers-{name}"
    grown = foreign.admin(source).create_partitions([NewPartitions(topic, PARTITIONS + 1)])
    grown[topic].result(foreign.TIMEOUT_S)
    assert foreign.topic_configs(target, mirror)["retention.ms"].value == "123456789"
    foreign.until(lambda: _partitions(target, mirror) == PARTITIONS + 1, PATIENCE_S)
    foreign.until(lambda: foreign.committed(target, group, mirror).offset == 2 * COUNT, PATIENCE_S)
    clusters = foreign.admin(target).list_topics(timeout=foreign.TIMEOUT_S).topics
    assert [each for each in clusters if each.count("travels") > 1] == [], "it came back"


def _partitions(bootstrap: str, topic: str) -> int:
    metadata = foreign.admin(bootstrap).list_topics(topic, foreign.TIMEOUT_S)
    return len(metadata.topics[topic].partitions)
