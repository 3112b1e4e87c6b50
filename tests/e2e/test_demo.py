"""`kafkaesque demo ticks` as a user runs it: what arrives, how it ends, what an absence costs."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from tests import foreign
from tests.broker_process import COMMAND, BrokerProcess

from kafkaesque.records.murmur2 import partition_for_key

pytestmark = pytest.mark.slow

TOPIC = "stock_json_topic"


def ticks(broker: BrokerProcess, *args: object) -> "subprocess.CompletedProcess[str]":
    command = [str(COMMAND), "demo", "ticks", "-b", broker.bootstrap, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def total(broker: BrokerProcess, topic: str = TOPIC, partitions: int = 3) -> int:
    return sum(foreign.watermarks(broker.bootstrap, topic, p)[1] for p in range(partitions))


def all_of(
    broker: BrokerProcess, topic: str, partition: int
) -> Iterator[tuple[str, dict[str, object]]]:
    _, end = foreign.watermarks(broker.bootstrap, topic, partition)
    for message in foreign.read(broker.bootstrap, topic, end, partition=partition):
        key, value = message.key(), message.value()
        assert isinstance(key, bytes)
        assert isinstance(value, bytes)
        yield key.decode(), json.loads(value)


def test_so_many_ticks_arrive_in_the_partitions_of_their_tickers(broker: BrokerProcess) -> None:
    done = ticks(broker, "-n", 200, "--rate", 5000, "--tickers", "AMZN,GOOG", "--seed", 7)
    assert (done.returncode, done.stderr) == (0, "")
    first, last = done.stdout.splitlines()
    assert first.startswith(f"kafkaesque demo sends 5000 ticks/s to {TOPIC} at {broker.bootstrap}")
    assert last.startswith(f"sent 200 ticks to {TOPIC} in ")
    found = [(p, *tick) for p in range(3) for tick in all_of(broker, TOPIC, p)]
    assert len(found) == 200
    for partition, key, tick in found:
        assert list(tick) == ["event_time", "ticker", "price"]
        assert tick["ticker"] == key
        assert key in {"AMZN", "GOOG"}
        assert partition == partition_for_key(key.encode(), 3)
        datetime.fromisoformat(str(tick["event_time"]))


def test_the_last_tick_ends_it_at_once_however_slow_the_rate(broker: BrokerProcess) -> None:
    assert "sent 1 ticks" in ticks(broker, "-n", 1, "--rate", 0.01).stdout


def test_a_seed_makes_the_same_prices_again_in_a_topic_of_choice(broker: BrokerProcess) -> None:
    for topic in ("one", "two"):
        chosen = ("--topic", topic, "--partitions", 1, "--seed", 11)
        assert ticks(broker, "-n", 50, "--rate", 5000, *chosen).returncode == 0
    one, two = (
        [(key, tick["price"]) for key, tick in all_of(broker, topic, 0)] for topic in ("one", "two")
    )
    assert one == two


def test_a_topic_that_is_there_stays_as_it_is(broker: BrokerProcess) -> None:
    foreign.create_topic(broker.bootstrap, TOPIC, partitions=1)
    assert ticks(broker, "-n", 10, "--rate", 1000).returncode == 0
    assert total(broker, partitions=1) == 10


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_a_summary_and_all_that_it_counts_is_there(
    broker: BrokerProcess, number: signal.Signals
) -> None:
    command = [str(COMMAND), "demo", "ticks", "-b", broker.bootstrap, "--rate", "500"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        foreign.until(lambda: total(broker) > 100)
        process.send_signal(number)
        summary = process.stdout.read()
        assert process.wait(60) == 0
    assert summary.startswith(f"sent {total(broker):,} ticks to {TOPIC} in ")


def test_a_broker_that_is_killed_and_comes_back_loses_and_repeats_nothing(tmp_path: Path) -> None:
    command = [str(COMMAND), "demo", "ticks", "-n", "3000", "--rate", "600", "--late", "0"]
    with BrokerProcess(tmp_path / "data") as broker:
        foreign.create_topic(broker.bootstrap, TOPIC, partitions=1)
        with subprocess.Popen(
            [*command, "--out-of-order", "0", "-b", broker.bootstrap],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            foreign.until(lambda: total(broker, partitions=1) > 100)
            broker.kill()
            assert process.stderr is not None
            away = process.stderr.readline()
            broker.start()
            out, back = process.communicate(timeout=60)
        assert "nothing answers at" in away
        assert back == "kafkaesque: the broker is back\n"
        assert process.returncode == 0
        assert out.splitlines()[-1].startswith("sent 3,000 ticks")
        times = [str(tick["event_time"]) for _, tick in all_of(broker, TOPIC, 0)]
    assert len(times) == 3000
    assert times == sorted(set(times))


def test_a_terminal_sees_a_line_of_progress(broker: BrokerProcess) -> None:
    leader, follower = pty.openpty()
    try:
        command = [
            str(COMMAND),
            "demo",
            "ticks",
            "-b",
            broker.bootstrap,
            "-n",
            "300",
            "--rate",
            "200",
        ]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=follower, timeout=60)
        shown = os.read(leader, 1 << 16).decode()
    finally:
        os.close(leader)
        os.close(follower)
    assert done.returncode == 0
    assert f" ticks in {TOPIC}, " in shown
    assert "\n" not in shown


def test_no_broker_is_one_line_of_complaint(broker: BrokerProcess) -> None:
    broker.stop()
    done = ticks(broker)
    assert done.returncode == 1
    assert done.stderr.startswith("kafkaesque: nothing answers at 127.0.0.1:")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "wrong", [("--tickers", ", "), ("--rate", "0"), ("--out-of-order", "0.6"), ("--late", "2")]
)
def test_a_wrong_option_is_named(broker: BrokerProcess, wrong: tuple[str, str]) -> None:
    done = ticks(broker, *wrong)
    assert done.returncode == 2
    assert wrong[0] in done.stderr
