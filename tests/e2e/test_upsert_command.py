"""`kafkaesque pipeline run upsert`: what it writes, says and answers."""

import random
import subprocess
from pathlib import Path

from tests.broker_process import COMMAND, BrokerProcess
from tests.table_contents import in_sqlite, model
from tests.upsert_events import make_topic, produce, rows


def upsert(brokers: str, directory: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [str(COMMAND), "pipeline", "run", "upsert", "--brokers", brokers, "--topic", "t"]
    places = ["--to", f"sqlite:///{directory}/f.db", "--checkpoint", str(directory / "checkpoint")]
    table = ["--table", "t", "--key", "id", "--once"]
    return subprocess.run([*command, *places, *table, *words], capture_output=True, text=True)


def test_once_takes_all_there_is_and_says_what_it_wrote(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    brokers = broker.bootstrap
    make_topic(brokers, "t")
    produce(brokers, "t", random.Random(1), 1000, 1_700_000_000_000)
    expected = model(rows(brokers, "t"))
    ended = upsert(brokers, tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert f"t: {len(expected)} rows written, of 1,000 events" in ended.stdout
    assert in_sqlite(tmp_path / "f.db", "t") == expected
