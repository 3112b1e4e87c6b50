"""Handlers that fail: retried, then dead-lettered or the partition stops; the others go on."""

import asyncio
import functools
import json
import logging
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from tests import foreign
from tests.in_process import InProcessBroker
from tests.kafka_python import KafkaConsumer
from tests.running_app import RunningApp

from kafkaesque.client.app import Ack, App, State
from kafkaesque.event import Event

pytestmark = pytest.mark.slow

QUICK: dict[str, Any] = {"retries": 2, "backoff_s": 0.01, "backoff_max_s": 0.02}


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with InProcessBroker(None, {"group.min.session.timeout.ms": "100"}) as broker:
        yield broker.bootstrap


@pytest.fixture
def topic(bootstrap: str) -> str:
    return foreign.create_topic(bootstrap, partitions=2)


@pytest.fixture
def app(bootstrap: str) -> App:
    return App(bootstrap, commit_interval_s=0.1)


def place(bootstrap: str, group: str, topic: str, partition: int = 0) -> int:
    return foreign.committed(bootstrap, group, topic, partition).offset


def dead_letters(bootstrap: str, topic: str, count: int) -> list[Any]:
    """As a foreign consumer sees them."""
    reader = KafkaConsumer(
        f"{topic}.dead",
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        consumer_timeout_ms=1000 if count == 0 else foreign.TIMEOUT_S * 1000,
    )
    try:
        return [next(reader) for _ in range(count)]
    finally:
        reader.close()


def test_one_that_fails_for_a_while_is_retried(bootstrap: str, topic: str, app: App) -> None:
    attempts: Counter[int] = Counter()

    @app.handle(topic, group=foreign.name("group"), **QUICK)
    def flaky(event: Event) -> None:
        attempts[event.offset] += 1
        if attempts[event.offset] < 3:
            raise ConnectionError("not yet")

    foreign.produce(bootstrap, topic, [b"a", b"b"])
    with RunningApp(app) as running:
        foreign.until(lambda: running.status(topic).position == 2)
        assert running.status(topic).last_error == "ConnectionError: not yet"
    assert attempts == {0: 3, 1: 3}
    assert foreign.watermarks(bootstrap, f"{topic}.dead") == (0, 0)


def test_poison_becomes_a_dead_letter_and_the_rest_goes_on(
    bootstrap: str, topic: str, app: App
) -> None:
    handled: list[int] = []
    group = foreign.name("group")

    @app.handle(topic, group=group, value="json", **QUICK)
    def picky(event: Event) -> None:
        if event.value["n"] == 3:
            raise ValueError("three is too many")
        handled.append(event.offset)

    values = [json.dumps({"n": n}) for n in range(6)]
    values[1] = "{"  # Not JSON.
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for value in values:
        producer.produce(topic, value, b"key", partition=0, headers=[("source", b"web")])
    producer.flush()
    with RunningApp(app) as running:
        foreign.until(lambda: place(bootstrap, group, topic) == 6)
        assert running.status(topic).dead_letters == 2
    assert handled == [0, 2, 4, 5]
    first, second = dead_letters(bootstrap, topic, 2)
    assert [first.value, second.value] == [b"{", b'{"n": 3}']
    assert [first.key, second.key] == [b"key", b"key"]
    assert first.headers[0] == ("source", b"web")
    reasons = dict(first.headers)
    assert reasons["kafkaesque.error"].startswith(b"the value is not json")
    assert (reasons["kafkaesque.offset"], reasons["kafkaesque.attempts"]) == (b"1", b"0")
    reasons = dict(second.headers)
    assert reasons["kafkaesque.error"] == b"three is too many"
    assert reasons["kafkaesque.error.type"] == b"builtins.ValueError"
    assert (reasons["kafkaesque.topic"], reasons["kafkaesque.partition"]) == (topic.encode(), b"0")
    assert (reasons["kafkaesque.offset"], reasons["kafkaesque.attempts"]) == (b"3", b"3")
    assert reasons["kafkaesque.group"] == group.encode()


def test_a_partition_that_retries_does_not_hold_up_the_others(
    bootstrap: str, topic: str, app: App
) -> None:
    @app.handle(topic, group=foreign.name("group"), retries=100, backoff_s=60, backoff_max_s=60)
    def fails_in_the_first(event: Event) -> None:
        if event.partition == 0:
            raise ConnectionError("away")

    foreign.produce(bootstrap, topic, [b"x"] * 50)
    foreign.produce(bootstrap, topic, [b"x"] * 50, partition=1)
    with RunningApp(app) as running:
        foreign.until(lambda: running.status(topic, 1).position == 50)
        foreign.until(lambda: running.status(topic).state is State.RETRYING)
        assert running.status(topic).position == 0
        # A stop does not wait for the next attempt: this test would last a minute.


@pytest.mark.parametrize("batch", [None, 5])
def test_a_partition_may_stop_instead_and_keeps_its_place(
    bootstrap: str, topic: str, batch: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    group = foreign.name("group")
    handled: Counter[tuple[int, int]] = Counter()
    is_broken = True

    def made() -> App:
        app = App(bootstrap, commit_interval_s=0.1)

        @app.handle(topic, group=group, on_failure="stop", batch=batch, retries=1, backoff_s=0.01)
        def fussy(given: Any) -> None:
            for event in given if batch else [given]:
                if event.value == b"bad" and is_broken:
                    raise ValueError("no good")
            for event in given if batch else [given]:
                handled[event.partition, event.offset] += 1

        return app

    foreign.produce(bootstrap, topic, [b"a", b"b", b"bad", b"c"])
    foreign.produce(bootstrap, topic, [b"x"] * 4, partition=1)
    with RunningApp(made()) as running:
        foreign.until(lambda: running.status(topic).state is State.STOPPED)
        foreign.until(lambda: place(bootstrap, group, topic, 1) == 4)
        foreign.until(lambda: place(bootstrap, group, topic) == 2)
        assert f"{topic}/0 @2 stopped (ValueError: no good)" in repr(running.app)
    assert "stops at offset 2: ValueError: no good; its place is kept" in caplog.text
    assert place(bootstrap, group, topic) == 2
    assert (0, 3) not in handled
    is_broken = False
    with RunningApp(made()):
        foreign.until(lambda: place(bootstrap, group, topic) == 4)
    assert handled == dict.fromkeys([(p, o) for p in (0, 1) for o in range(4)], 1)


def test_one_bad_event_takes_no_other_of_its_batch_with_it(
    bootstrap: str, topic: str, app: App
) -> None:
    handled: list[bytes] = []
    sizes: list[int] = []

    @app.handle(topic, group=foreign.name("group"), batch=16, retries=1, backoff_s=0.01)
    def load(events: list[Event]) -> None:
        sizes.append(len(events))
        if any(event.value == b"7" for event in events):
            raise ValueError("seven")
        handled.extend(event.value for event in events)

    foreign.produce(bootstrap, topic, [b"%d" % number for number in range(16)])
    with RunningApp(app) as running:
        foreign.until(lambda: running.status(topic).position == 16)
    assert handled == [b"%d" % number for number in range(16) if number != 7]
    assert sizes == [16, 16, 8, 4, 4, 2, 2, 1, 1, 8]
    (letter,) = dead_letters(bootstrap, topic, 1)
    assert letter.value == b"7"
    assert dict(letter.headers)["kafkaesque.attempts"] == b"6"


def test_what_a_failed_batch_has_acknowledged_is_not_tried_again(
    bootstrap: str, topic: str, app: App
) -> None:
    calls: list[list[int]] = []

    @app.handle(topic, group=foreign.name("group"), batch=4, **QUICK)
    async def load(events: list[Event], ack: Ack) -> None:
        calls.append([event.offset for event in events])
        for event in events:
            if event.offset == 2 and len(calls) == 1:
                raise ConnectionError("away")
            ack(event)

    foreign.produce(bootstrap, topic, [b"x"] * 4)
    with RunningApp(app) as running:
        foreign.until(lambda: running.status(topic).position == 4)
    assert calls == [[0, 1, 2, 3], [2, 3]]


def test_an_event_may_be_given_up_after_its_handler_returned(
    bootstrap: str, topic: str, app: App
) -> None:
    acks: list[Ack] = []

    @app.handle(topic, group=foreign.name("group"))
    def later(event: Event, ack: Ack) -> None:
        acks.append(ack)

    foreign.produce(bootstrap, topic, [b"x", b"y"])
    with RunningApp(app) as running:
        foreign.until(lambda: len(acks) == 2)
        acks[0].fail("the bank said no")
        acks[1]()
        foreign.until(lambda: running.status(topic).position == 2)
    (letter,) = dead_letters(bootstrap, topic, 1)
    assert dict(letter.headers)["kafkaesque.error"] == b"the bank said no"


def test_no_exception_of_a_handler_ends_the_app(bootstrap: str, topic: str, app: App) -> None:
    def fail(event: Event, raised: BaseException) -> None:
        if event.value == b"bad":
            raise raised

    async def fail_later(event: Event, raised: BaseException) -> None:
        fail(event, raised)

    kinds = [
        (fail, SystemExit(1)),
        (fail, StopIteration()),
        (fail_later, SystemExit(1)),
        (fail_later, asyncio.CancelledError()),
    ]
    for handler, raised in kinds:
        bound = functools.partial(handler, raised=raised)
        app.handle(topic, group=foreign.name("group"), **QUICK)(bound)
    foreign.produce(bootstrap, topic, [b"bad", b"good"])
    with RunningApp(app):
        foreign.until(lambda: [it.position for it in app.status if not it.partition] == [2] * 4)
        assert [it.dead_letters for it in app.status if not it.partition] == [1] * 4


def test_a_dead_letter_that_is_refused_stops_the_partition(
    bootstrap: str, app: App, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    group, topic = foreign.name("group"), foreign.create_topic(bootstrap)
    foreign.create_topic(bootstrap, f"{topic}.dead", configs={"max.message.bytes": "1000"})

    @app.handle(topic, group=group, **QUICK)
    def fail(event: Event) -> None:
        raise ValueError("no")

    foreign.produce(bootstrap, topic, [b"x" * 5000])
    with RunningApp(app) as running:
        foreign.until(lambda: running.status(topic).state is State.STOPPED)
    assert place(bootstrap, group, topic) <= 0
    assert "took no dead letter" in caplog.text


def test_a_late_acknowledgement_is_ignored(bootstrap: str, topic: str, app: App) -> None:
    group, acks = foreign.name("group"), list[Ack]()
    app.handle(topic, group=group)(lambda event, ack: acks.append(ack))
    app.grace_s = 0.1
    foreign.produce(bootstrap, topic, [b"x"])
    with RunningApp(app):
        foreign.until(lambda: acks)
    acks[0]()
    assert place(bootstrap, group, topic) <= 0


def test_the_group_is_kept_while_a_handler_is_slow(bootstrap: str, topic: str) -> None:
    group, go_on = foreign.name("group"), threading.Event()
    impatient = {
        "session.timeout.ms": 3000,
        "heartbeat.interval.ms": 300,
        "max.poll.interval.ms": 3000,
    }
    app = App(bootstrap, settings=impatient)
    calls: list[int] = []

    @app.handle(topic, group=group)
    def slow(event: Event) -> None:
        calls.append(event.offset)
        go_on.wait(foreign.TIMEOUT_S)

    foreign.produce(bootstrap, topic, [b"x"])
    with RunningApp(app) as running:
        foreign.until(lambda: calls)
        # Longer than librdkafka would let a consumer go without a poll.
        assert not go_on.wait(5)
        go_on.set()
        foreign.until(lambda: running.status(topic).position == 1)
    assert calls == [0]
    assert place(bootstrap, group, topic) == 1
