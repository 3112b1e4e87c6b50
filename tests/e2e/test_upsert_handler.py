"""examples/tables/app.py: a handler that compares and sets, killed with -9 and started again."""

import os
import random
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import foreign
from tests.broker_process import COMMAND, BrokerProcess
from tests.table_contents import Contents, in_sqlite, model
from tests.upsert_events import make_topic, produce, rows

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples" / "tables" / "app.py"
TIME_MS = 1_700_000_000_000


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[str]:
    with BrokerProcess(tmp_path / "data") as process:
        yield process.bootstrap


def contents(path: Path) -> Contents:
    try:
        return in_sqlite(path, "orders")
    except sqlite3.OperationalError:
        return {}  # It is not made yet.


def test_a_killed_handler_ends_in_the_same_table(brokers: str, tmp_path: Path) -> None:
    make_topic(brokers, "orders")
    path = tmp_path / "orders.db"
    environment = {**os.environ, "ORDERS_DATABASE": f"sqlite:///{path}"}
    command = [str(COMMAND), "run", str(EXAMPLE), "--brokers", brokers]

    def start() -> "subprocess.Popen[bytes]":
        with (tmp_path / "app.log").open("ab") as log:
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    chance = random.Random(5)
    produce(brokers, "orders", chance, 20_000, TIME_MS)
    app = start()
    try:
        foreign.until(lambda: contents(path), timeout_s=60)
        app.kill()
        app.wait(60)
        expected = model(rows(brokers, "orders"))
        assert contents(path) != expected, "the kill came too late"
        produce(brokers, "orders", chance, 500, TIME_MS)
        expected = model(rows(brokers, "orders"))
        app = start()
        foreign.until(lambda: contents(path) == expected, timeout_s=60)
        app.send_signal(signal.SIGTERM)
        assert app.wait(60) == 0
    finally:
        app.kill()
        app.wait()
    assert contents(path) == expected
