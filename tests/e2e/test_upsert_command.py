"""`kafkaesque pipeline run upsert`: what it writes, says and answers."""

import os
import random
import re
import subprocess
import threading
from pathlib import Path

import pytest
from tests.broker_process import COMMAND, BrokerProcess
from tests.table_contents import in_sqlite, model
from tests.upsert_events import make_topic, produce, rows

pytestmark = pytest.mark.slow


def upsert(
    brokers: str, directory: Path, *words: str, stderr: int = subprocess.PIPE
) -> "subprocess.CompletedProcess[str]":
    command = [str(COMMAND), "pipeline", "run", "upsert", "--brokers", brokers, "--topic", "t"]
    places = ["--to", f"sqlite:///{directory}/f.db", "--checkpoint", str(directory / "checkpoint")]
    table = ["--table", "t", "--key", "id", "--once"]
    whole = [*command, *places, *table, *words]
    return subprocess.run(whole, stdout=subprocess.PIPE, stderr=stderr, text=True)


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


def test_a_terminal_shows_how_far_it_is(broker: BrokerProcess, tmp_path: Path) -> None:
    make_topic(broker.bootstrap, "t")
    produce(broker.bootstrap, "t", random.Random(1), 1000, 1_700_000_000_000)
    ours, its = os.openpty()
    shown = bytearray()
    watching = threading.Thread(target=_watch, args=(ours, shown))
    watching.start()
    ended = upsert(broker.bootstrap, tmp_path, "--batch-rows", "40", stderr=its)
    os.close(its)
    watching.join()
    assert ended.returncode == 0, shown
    assert re.search(rb"upsert \[#*-+\] +\d+%  [\d,]+ rows, [\d,]+/s, [\d,]+ behind", shown), shown


def _watch(terminal: int, shown: bytearray) -> None:
    """Until nobody writes there any more: Linux says so by an error."""
    try:
        while piece := os.read(terminal, 4096):
            shown += piece
    except OSError:
        pass
    finally:
        os.close(terminal)
