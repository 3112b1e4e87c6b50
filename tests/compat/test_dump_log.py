"""Kafka's own kafka-dump-log reads our files: topics, indexes, offsets, transactions, metadata.

The broker was killed and started again in the middle, and stopped in the end, so the files hold
what recovery left too.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import foreign
from tests.compat import reference
from tests.compat.drivers import CODECS, KAFKA_PYTHON
from tests.compat.dump_log import Dump, dump
from tests.compat.peer import running_peer
from tests.e2e.test_transactions import send, transactional

pytestmark = [pytest.mark.compat, pytest.mark.timeout(600)]

TOPIC, GROUP, COMMITTED = "dumped", "dumping-group", 7
TRANSACTIONAL = "dumping-transactions"
SMALL = [[f"key-{number}", f"value-{number}"] for number in range(4)]
LARGE = [[f"large-{number}", "x" * 100_000] for number in range(12)]
CONFIGS = {"segment.bytes": str(1 << 20), "index.interval.bytes": "100"}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with running_peer(tmp_path_factory.mktemp("dump") / "data") as peer:
        reference.run(peer.bootstrap, "create", topic=TOPIC, partitions=1, configs=CONFIGS)
        for codec in CODECS:
            reference.run(peer.bootstrap, "produce", **_batch(codec, SMALL))
        reference.run(peer.bootstrap, "consume_group", group=GROUP, topic=TOPIC, count=COMMITTED)
        _transactions(peer.bootstrap)
        peer.kill()
        peer.start()
        KAFKA_PYTHON.run(peer.bootstrap, "produce", **_batch("none", SMALL))
        reference.run(peer.bootstrap, "produce", **_batch("none", LARGE))
        peer.stop()
        yield peer.data_dir


@pytest.fixture(scope="module")
def dumped(data_dir: Path) -> Dump:
    files = (data_dir / f"{TOPIC}-0").iterdir()
    chosen = [path for path in files if path.suffix in (".log", ".index", ".timeindex")]
    return dump(chosen, "--deep-iteration", "--print-data-log")


def test_the_tool_finds_no_fault_in_topic_and_index_files(dumped: Dump) -> None:
    assert dumped.faults == []


def test_every_record_is_at_its_offset_in_every_codec(dumped: Dump) -> None:
    expected = SMALL * (len(CODECS) + 1) + LARGE
    assert [[each.key, each.payload] for each in dumped.records] == expected
    assert [each.offset for each in dumped.records] == list(range(len(expected)))
    assert {each.header_keys for each in dumped.records} == {"source"}
    assert {each.codec for each in dumped.batches} == set(CODECS)


def test_records_of_an_idempotent_producer_have_their_sequences(dumped: Dump) -> None:
    first = len(SMALL) * len(CODECS)
    assert [each.sequence for each in dumped.records[first : first + len(SMALL)]] == [0, 1, 2, 3]


def test_index_entries_point_at_batches(dumped: Dump, data_dir: Path) -> None:
    places = {(each.last_offset, each.position) for each in dumped.batches}
    last_offsets = {each.last_offset for each in dumped.batches}
    assert len(list((data_dir / f"{TOPIC}-0").glob("*.log"))) > 1
    assert len(dumped.index_entries) >= len(CODECS)
    assert set(dumped.index_entries) <= places
    assert dumped.time_index_entries
    assert {offset for _, offset in dumped.time_index_entries} <= last_offsets


def test_the_offsets_topic_holds_the_commits(data_dir: Path) -> None:
    decoded = dump((data_dir / "__consumer_offsets-0").glob("*.log"), "--offsets-decoder")
    assert decoded.faults == []
    commits = [
        json.loads(record.payload)["data"]["offset"]
        for record in decoded.records
        if record.payload and _key(record.key) == {"group": GROUP, "topic": TOPIC, "partition": 0}
    ]
    assert commits[-1] == COMMITTED


def test_the_offsets_topic_holds_the_group(data_dir: Path) -> None:
    decoded = dump((data_dir / "__consumer_offsets-0").glob("*.log"), "--offsets-decoder")
    groups = [
        json.loads(record.payload)["data"]
        for record in decoded.records
        if record.payload and _key(record.key) == {"group": GROUP}
    ]
    assert "consumer" in {group["protocolType"] for group in groups}


def test_the_transaction_log_holds_every_state(data_dir: Path) -> None:
    files = (data_dir / "__transaction_state-0").glob("*.log")
    decoded = dump(files, "--transaction-log-decoder")
    assert decoded.faults == []
    assert {str(_key(record.key)) for record in decoded.records} == {
        str({"transactionalId": TRANSACTIONAL})
    }
    states = [
        json.loads(each.payload or "")["data"]["transactionStatus"] for each in decoded.records
    ]
    empty, ongoing, prepare_commit, prepare_abort, complete_commit, complete_abort = range(6)
    committed = [ongoing, prepare_commit, complete_commit]
    assert states == [empty, *committed, ongoing, prepare_abort, complete_abort]


def test_markers_end_what_was_committed_and_what_was_aborted(data_dir: Path) -> None:
    decoded = dump((data_dir / "transacted-0").glob("*.log"), "--print-data-log")
    assert decoded.faults == []
    assert [record.payload for record in decoded.records if record.key is None][:2] == ["a", "b"]
    assert [batch.count for batch in decoded.batches] == [1, 1, 1, 1]


def test_the_metadata_log_holds_topic_partition_and_configs(data_dir: Path) -> None:
    files = (data_dir / "__cluster_metadata-0").glob("*.log")
    decoded = dump(files, "--cluster-metadata-decoder")
    assert decoded.faults == []
    records = [json.loads(each.payload) for each in decoded.records if each.payload]
    (topic,) = [each for each in _data(records, "TOPIC_RECORD") if each["name"] == TOPIC]
    partitions = [
        each["partitionId"]
        for each in _data(records, "PARTITION_RECORD")
        if each["topicId"] == topic["topicId"]
    ]
    assert partitions == [0]
    configs = {
        each["name"]: each["value"]
        for each in _data(records, "CONFIG_RECORD")
        if each["resourceName"] == TOPIC
    }
    assert configs == CONFIGS


def test_the_judge_notices_a_damaged_byte(data_dir: Path, tmp_path: Path) -> None:
    segment = tmp_path / "00000000000000000000.log"
    content = bytearray((data_dir / f"{TOPIC}-0" / segment.name).read_bytes())
    content[100] ^= 1
    segment.write_bytes(content)
    assert dump([segment]).faults


def _batch(codec: str, records: list[list[str]]) -> dict[str, Any]:
    place = {"topic": TOPIC, "partition": 0}
    return {**place, "codec": codec, "headers": [["source", "compat"]], "records": records}


def _transactions(bootstrap: str) -> None:
    """One that is committed, and one that is aborted."""
    foreign.create_topic(bootstrap, "transacted")
    producer = transactional(bootstrap, TRANSACTIONAL)
    for value, end in (("a", producer.commit_transaction), ("b", producer.abort_transaction)):
        producer.begin_transaction()
        send(producer, "transacted", [value])
        end(foreign.TIMEOUT_S)


def _key(key: str | None) -> Any:
    return json.loads(key)["data"] if key else None


def _data(records: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each["data"] for each in records if each["type"] == kind]
