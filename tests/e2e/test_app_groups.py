"""Apps that share a group: partitions move between processes, and nothing is skipped."""

import logging
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import foreign
from tests.app_process import AppProcess
from tests.broker_process import BrokerProcess
from tests.in_process import InProcessBroker
from tests.running_app import RunningApp

from kafkaesque.client.app import App
from kafkaesque.event import Event

pytestmark = pytest.mark.slow

PARTITIONS = 4
EACH = 50


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with InProcessBroker(None, {"group.min.session.timeout.ms": "100"}) as broker:
        yield broker.bootstrap


def places(bootstrap: str, group: str, topic: str) -> list[int]:
    return [foreign.committed(bootstrap, group, topic, n).offset for n in range(PARTITIONS)]


def produce_to_all(bootstrap: str, topic: str) -> None:
    for partition in range(PARTITIONS):
        foreign.produce(bootstrap, topic, [b"x"] * EACH, partition)


@pytest.mark.parametrize("assignor", ["cooperative-sticky", "range"])
def test_partitions_move_to_a_second_app_and_back(
    bootstrap: str, tmp_path: Path, assignor: str
) -> None:
    topic, group = foreign.create_topic(bootstrap, partitions=PARTITIONS), foreign.name("group")
    settings = {"partition.assignment.strategy": assignor}
    app = App(bootstrap, settings=settings, commit_interval_s=0.1)
    here: list[tuple[int, int]] = []

    @app.handle(topic, group=group)
    def note(event: Event) -> None:
        time.sleep(0.01)
        here.append((event.partition, event.offset))

    second = AppProcess(
        tmp_path, brokers=bootstrap, topic=topic, group=group, settings=settings, pause_s=0.01
    )
    with RunningApp(app):
        foreign.until(lambda: len(app.status) == PARTITIONS)
        produce_to_all(bootstrap, topic)
        with second:
            foreign.until(lambda: len(app.status) == PARTITIONS // 2)
            produce_to_all(bootstrap, topic)
            foreign.until(second.handled)
            assert second.stop() == 0
        foreign.until(lambda: places(bootstrap, group, topic) == [2 * EACH] * PARTITIONS)
    handled = Counter([*here, *((it.partition, it.offset) for it in second.handled())])
    every = {(partition, offset) for partition in range(PARTITIONS) for offset in range(2 * EACH)}
    assert set(handled) == every
    # Both leave with all they did committed, so that nothing is even done twice.
    assert [it for it, count in handled.items() if count > 1] == []


def test_a_member_that_slept_through_a_rebalance_spoils_nothing(
    bootstrap: str, tmp_path: Path
) -> None:
    """Its partitions went to another one meanwhile: its late commits must not count."""
    topic, group = foreign.create_topic(bootstrap, partitions=PARTITIONS), foreign.name("group")
    settings = {"session.timeout.ms": 1000, "heartbeat.interval.ms": 300}
    app = App(bootstrap, settings=settings, commit_interval_s=0.1)
    here: set[tuple[int, int]] = set()
    app.handle(topic, group=group)(lambda event: here.add((event.partition, event.offset)))
    second = AppProcess(
        tmp_path, brokers=bootstrap, topic=topic, group=group, settings=settings, pause_s=0.02
    )
    produce_to_all(bootstrap, topic)
    with second:
        foreign.until(second.handled)
        second.send(signal.SIGSTOP)
        with RunningApp(app):
            foreign.until(lambda: len(app.status) == PARTITIONS)
            foreign.until(lambda: places(bootstrap, group, topic) == [EACH] * PARTITIONS)
            second.send(signal.SIGCONT)
            foreign.until(lambda: len(app.status) == PARTITIONS // 2)
            produce_to_all(bootstrap, topic)
            foreign.until(lambda: places(bootstrap, group, topic) == [2 * EACH] * PARTITIONS)
        assert second.stop() == 0
    there = {(it.partition, it.offset) for it in second.handled()}
    assert len(here | there) == PARTITIONS * 2 * EACH
    assert places(bootstrap, group, topic) == [2 * EACH] * PARTITIONS


def test_a_broker_that_restarts_is_waited_for(broker: BrokerProcess) -> None:
    topic, group = foreign.create_topic(broker.bootstrap, partitions=2), foreign.name("group")
    app = App(broker.bootstrap, commit_interval_s=0.1)
    handled: set[bytes] = set()

    @app.handle(topic, group=group, retries=0)
    def note(event: Event) -> None:
        if event.value.startswith(b"bad"):
            raise ValueError("bad")
        handled.add(event.value)

    def position() -> int | None:
        """None also while the app has no partition: it must join again after each restart."""
        return next((it.position for it in app.status if it.partition == 0), None)

    with RunningApp(app):
        # What an app asks before it joins it asks once: a broker that dies then ends it.
        foreign.until(lambda: len(app.status) == 2)
        for number in range(3):
            foreign.produce(broker.bootstrap, topic, [b"a%d" % number, b"bad"])
            foreign.produce(broker.bootstrap, topic, [b"b%d" % number], partition=1)
            broker.kill()
            broker.start()
        foreign.until(lambda: position() == 6, timeout_s=60)
        foreign.until(lambda: len(handled) == 6, timeout_s=60)
        foreign.until(lambda: foreign.committed(broker.bootstrap, group, topic).offset == 6)
    assert foreign.watermarks(broker.bootstrap, f"{topic}.dead")[1] >= 3


def test_a_handler_that_outlives_its_partition_does_not_run_beside_itself(
    bootstrap: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The partition goes and comes back while a call is still at work."""
    caplog.set_level(logging.INFO)
    topic = foreign.create_topic(bootstrap)
    app = App(bootstrap, grace_s=0.1, settings={"partition.assignment.strategy": "range"})
    begun: list[int] = []
    go_on = threading.Event()
    most: list[int] = []
    at_work: list[int] = []

    @app.handle(topic, group="straggling")
    def slow(event: Event) -> None:
        at_work.append(event.offset)
        most.append(len(at_work))
        begun.append(event.offset)
        go_on.wait(foreign.TIMEOUT_S)
        at_work.remove(event.offset)

    foreign.produce(bootstrap, topic, [b"x"])
    with RunningApp(app) as running:
        foreign.until(lambda: begun == [0])
        # Another member comes and goes: with this assignor all partitions are taken away twice.
        other = foreign.consumer(bootstrap, "straggling")
        other.subscribe([topic])
        gone = f"gave {topic}/0 back"
        foreign.until(lambda: other.poll(0.1) is not None or gone in caplog.text)
        other.close()
        foreign.until(lambda: caplog.text.count(f"given {topic}/0") >= 2)
        foreign.until(lambda: running.status(topic).unfinished == 1)
        time.sleep(0.2)
        assert begun == [0]
        go_on.set()
        foreign.until(lambda: running.status(topic).position == 1)
    assert "the handler is still at offset 0" in caplog.text
    assert (begun, max(most)) == ([0, 0], 1)
