"""`kafkaesque pipeline run archive`: what it writes, says and answers."""

import json
import subprocess
from pathlib import Path

import pytest
from tests import foreign
from tests.broker_process import COMMAND, BrokerProcess
from tests.lake_rows import foreign_rows

pytestmark = pytest.mark.slow


def kafkaesque(*words: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(COMMAND), *map(str, words)], capture_output=True, text=True)


def test_once_takes_all_there_is_into_a_table_of_columns(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    topic = foreign.create_topic(broker.bootstrap, "orders")
    orders = [{"id": number, "item": f"item {number}"} for number in range(100)]
    foreign.produce(broker.bootstrap, topic, [json.dumps(each).encode() for each in orders])
    lake = tmp_path / "lake"
    where = ("--brokers", broker.bootstrap, "--warehouse", lake, "--checkpoint", tmp_path / "kept")
    columns = ("--decode", "json", "--value-schema", "id BIGINT, item STRING")
    ended = kafkaesque("pipeline", "run", "archive", "-t", topic, *where, *columns, "--once")
    assert ended.returncode == 0, ended.stderr
    assert "100 rows in" in ended.stdout
    assert [row["value"] for row in foreign_rows(lake, "lake.orders")] == orders
    listed = kafkaesque("lake", "list", "--warehouse", lake, "--format", "json")
    (table,) = json.loads(listed.stdout)
    assert (table["table"], table["rows"]) == ("lake.orders", 100)
