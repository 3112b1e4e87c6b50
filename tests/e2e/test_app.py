"""An App with each kind of handler, on our broker; a foreign producer writes, and groups keep their
places."""

import asyncio
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from tests import foreign
from tests.in_process import InProcessBroker
from tests.kafka_python import KafkaProducer
from tests.running_app import RunningApp

from kafkaesque.client.app import Ack, App, HandlerError, State
from kafkaesque.client.connection import ClusterError
from kafkaesque.client.starts import Start
from kafkaesque.event import Event


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with InProcessBroker(None) as broker:
        yield broker.bootstrap


@pytest.fixture
def topic(bootstrap: str) -> str:
    return foreign.create_topic(bootstrap, partitions=3)


@pytest.fixture
def app(bootstrap: str) -> App:
    return App(bootstrap, commit_interval_s=0.1)


def committed(bootstrap: str, group: str, topic: str) -> list[int]:
    return [foreign.committed(bootstrap, group, topic, number).offset for number in range(3)]


@pytest.mark.slow
def test_events_of_a_foreign_producer_are_handled_and_committed(
    bootstrap: str, topic: str, app: App
) -> None:
    handled: list[Event] = []

    @app.handle(topic, group="billing", key="str", value="json")
    def bill(event: Event) -> None:
        handled.append(event)

    producer = KafkaProducer(bootstrap_servers=bootstrap)
    headers = [("source", b"web"), ("source", b"shop")]
    for number in range(30):
        value = b'{"number": %d}' % number
        producer.send(topic, value, b"k%d" % number, headers, partition=number % 3)
    producer.flush()
    producer.close()
    with RunningApp(app) as running:
        foreign.until(lambda: len(handled) == 30)
        assert running.status(topic, 2).state is State.IDLE
        foreign.until(lambda: committed(bootstrap, "billing", topic) == [10, 10, 10])
        assert f"billing: {topic}/1 @10 idle" in repr(app)
    assert sorted(event.value["number"] for event in handled) == list(range(30))
    first = next(event for event in handled if event.value["number"] == 0)
    assert (first.topic, first.partition, first.offset, first.key) == (topic, 0, 0, "k0")
    assert (first.headers, first.timestamp_type) == (headers, "create")
    for partition in range(3):  # In order.
        offsets = [event.offset for event in handled if event.partition == partition]
        assert offsets == list(range(10))


@pytest.mark.slow
def test_two_groups_each_get_everything_and_a_restart_goes_on(
    bootstrap: str, topic: str, app: App
) -> None:
    seen: dict[str, list[bytes]] = defaultdict(list)
    app.handle(topic, group="one")(lambda event: seen["one"].append(event.value))
    app.handle(topic, group="two")(lambda event: seen["two"].append(event.value))
    for values in ([b"a", b"b"], [b"c"]):
        seen.clear()
        foreign.produce(bootstrap, topic, values)
        with RunningApp(app):
            foreign.until(lambda: len(seen["one"]) >= len(values) <= len(seen["two"]))  # noqa: B023
        assert seen == {"one": values, "two": values}


def test_a_group_with_handlers_for_two_topics(bootstrap: str, topic: str, app: App) -> None:
    other = foreign.create_topic(bootstrap)
    seen: list[str] = []
    group = foreign.name("group")
    app.handle(topic, group=group)(lambda event: seen.append("first"))
    app.handle(other, group=group)(lambda event: seen.append("second"))
    foreign.produce(bootstrap, topic, [b"x"])
    foreign.produce(bootstrap, other, [b"y"])
    with RunningApp(app):
        foreign.until(lambda: sorted(seen) == ["first", "second"])


def test_batches_are_filled_or_come_after_a_wait(bootstrap: str, topic: str, app: App) -> None:
    batches: list[list[bytes]] = []

    @app.handle(topic, group=foreign.name("group"), batch=4, batch_wait_s=0.2)
    def load(events: list[Event]) -> None:
        batches.append([event.value for event in events])

    foreign.produce(bootstrap, topic, [b"%d" % number for number in range(10)])
    with RunningApp(app):
        foreign.until(lambda: sum(map(len, batches)) == 10)
    assert batches == [[b"0", b"1", b"2", b"3"], [b"4", b"5", b"6", b"7"], [b"8", b"9"]]


def test_async_handlers_of_partitions_run_side_by_side(
    bootstrap: str, topic: str, app: App
) -> None:
    waiting: set[int] = set()
    all_there = asyncio.Event()
    threads: set[int] = set()

    @app.handle(topic, group=foreign.name("group"))
    async def meet(event: Event) -> None:
        threads.add(threading.get_ident())
        waiting.add(event.partition)
        if len(waiting) == 3:
            all_there.set()
        await all_there.wait()

    for partition in range(3):
        foreign.produce(bootstrap, topic, [b"x"], partition)
    with RunningApp(app) as running:
        foreign.until(lambda: [it.position for it in running.app.status] == [1, 1, 1])
    assert len(threads) == 1


def test_plain_handlers_of_partitions_run_side_by_side(
    bootstrap: str, topic: str, app: App
) -> None:
    meeting = threading.Barrier(3, timeout=foreign.TIMEOUT_S)
    app.handle(topic, group=foreign.name("group"), retries=0)(lambda event: meeting.wait())
    for partition in range(3):
        foreign.produce(bootstrap, topic, [b"x"], partition)
    with RunningApp(app) as running:
        foreign.until(lambda: [it.position for it in running.app.status] == [1, 1, 1])
        assert all(it.last_error is None for it in running.app.status)


@pytest.mark.slow
def test_no_more_plain_handlers_run_than_are_allowed(bootstrap: str, topic: str) -> None:
    app = App(bootstrap, concurrency=2)
    at_work: list[int] = []
    most: list[int] = []
    two = threading.Event()

    @app.handle(topic, group=foreign.name("group"))
    def work(event: Event) -> None:
        at_work.append(event.partition)
        most.append(len(at_work))
        if len(at_work) == 2:
            two.set()
        two.wait(foreign.TIMEOUT_S)
        time.sleep(0.01)
        at_work.remove(event.partition)

    for partition in range(3):
        foreign.produce(bootstrap, topic, [b"x"] * 10, partition)
    with RunningApp(app):
        foreign.until(lambda: len(most) == 30)
    assert max(most) == 2


@pytest.mark.slow
def test_only_what_is_acknowledged_without_a_gap_is_committed(
    bootstrap: str, topic: str, app: App
) -> None:
    acks: dict[int, Ack] = {}
    group = foreign.name("group")

    @app.handle(topic, group=group)
    async def later(event: Event, ack: Ack) -> None:
        acks[event.offset] = ack

    def place() -> int:
        return foreign.committed(bootstrap, group, topic).offset

    foreign.produce(bootstrap, topic, [b"x"] * 5)
    app.grace_s = 0.1
    with RunningApp(app) as running:
        foreign.until(lambda: len(acks) == 5)
        for offset in (3, 1):
            acks[offset]()
        foreign.until(lambda: running.status(topic).unfinished == 3)
        acks[0]()
        foreign.until(lambda: place() == 2)
    assert place() == 2
    acks.clear()
    with RunningApp(app):  # What was not acknowledged comes again, and what was after it.
        foreign.until(lambda: sorted(acks) == [2, 3, 4])
        for ack in acks.values():
            ack()
        foreign.until(lambda: place() == 5)


@pytest.mark.slow
def test_a_handler_that_does_not_acknowledge_is_given_no_more_than_its_buffer(
    bootstrap: str, topic: str, app: App
) -> None:
    acks: list[Ack] = []

    @app.handle(topic, group=foreign.name("group"), buffer=10)
    async def later(event: Event, ack: Ack) -> None:
        acks.append(ack)

    app.grace_s = 0.1
    foreign.produce(bootstrap, topic, [b"x"] * 600)
    foreign.produce(bootstrap, topic, [b"y"], partition=1)
    with RunningApp(app) as running:
        foreign.until(lambda: running.status(topic, 1).unfinished == 1)
        foreign.until(lambda: running.status(topic).unfinished >= 10)
        time.sleep(0.3)
        assert len(acks) < 200
        done = 0
        while done < 601:  # Acknowledging lets the rest come.
            foreign.until(lambda: len(acks) > done)  # noqa: B023
            for ack in acks[done:]:
                ack()
                done += 1


START: dict[str, Start] = {
    "latest": "latest",
    "time": datetime.fromtimestamp(2, UTC),
    "offset": {0: 1},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", START)
def test_a_start_is_kept_from_the_moment_the_group_is_joined(
    bootstrap: str, topic: str, kind: str
) -> None:
    group = foreign.name("group")
    foreign.produce(bootstrap, topic, [b"old"] * 3, timestamps=[1000, 2000, 3000])
    seen: list[int] = []

    def made(handler: Callable[[Event], None]) -> App:
        app = App(bootstrap, commit_interval_s=0.1)
        app.handle(topic, group=group, start=START[kind])(handler)
        return app

    def fail(event: Event) -> None:
        raise RuntimeError("not yet")

    with RunningApp(made(fail)) as running:
        running.status(topic)
    assert foreign.committed(bootstrap, group, topic).offset == (3 if kind == "latest" else 1)
    foreign.produce(bootstrap, topic, [b"new"])
    with RunningApp(made(lambda event: seen.append(event.offset))):
        foreign.until(lambda: 3 in seen)
    assert seen == ([3] if kind == "latest" else [1, 2, 3])


@pytest.mark.slow
def test_a_wrapped_coroutine_is_awaited(bootstrap: str, topic: str, app: App) -> None:
    seen: list[bytes] = []

    async def inner(event: Event) -> None:
        await asyncio.sleep(0)
        seen.append(event.value)

    app.handle(topic, group=foreign.name("group"))(lambda event: inner(event))
    foreign.produce(bootstrap, topic, [b"x"])
    with RunningApp(app):
        foreign.until(lambda: seen == [b"x"])


def test_serve_runs_on_a_loop_of_the_users_own(bootstrap: str, topic: str, app: App) -> None:
    seen: list[bytes] = []

    @app.handle(topic, group=foreign.name("group"))
    async def stop_after_one(event: Event) -> None:
        seen.append(event.value)
        app.stop()

    foreign.produce(bootstrap, topic, [b"x", b"y"])

    async def main() -> None:
        await asyncio.wait_for(app.serve(), foreign.TIMEOUT_S)

    asyncio.run(main())
    assert seen[0] == b"x"


@pytest.mark.slow
def test_cancelling_serve_commits_and_leaves(bootstrap: str, topic: str, app: App) -> None:
    group = foreign.name("group")
    seen: list[bytes] = []
    app.commit_interval_s = 60
    app.handle(topic, group=group)(lambda event: seen.append(event.value))
    foreign.produce(bootstrap, topic, [b"x"])

    async def main() -> None:
        serving = asyncio.create_task(app.serve())
        while not seen:
            await asyncio.sleep(0.01)
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving

    asyncio.run(main())
    assert foreign.committed(bootstrap, group, topic).offset == 1


@pytest.mark.slow
def test_stopping_lets_the_handler_finish(bootstrap: str, topic: str, app: App) -> None:
    group = foreign.name("group")
    begun, go_on = threading.Event(), threading.Event()

    @app.handle(topic, group=group)
    def slow(event: Event) -> None:
        begun.set()
        go_on.wait(foreign.TIMEOUT_S)

    foreign.produce(bootstrap, topic, [b"x", b"y"])
    with RunningApp(app):
        assert begun.wait(foreign.TIMEOUT_S)
        app.stop()
        (member,) = app._members
        foreign.until(lambda: all(lane._is_closing for lane in member._lanes.values()))
        go_on.set()
    assert foreign.committed(bootstrap, group, topic).offset == 1


@pytest.mark.slow
def test_stopping_does_not_wait_for_ever(bootstrap: str, topic: str, app: App) -> None:
    group = foreign.name("group")
    begun, go_on = threading.Event(), threading.Event()
    app.grace_s = 0.2

    @app.handle(topic, group=group)
    def stuck(event: Event) -> None:
        begun.set()
        go_on.wait(foreign.TIMEOUT_S)

    foreign.produce(bootstrap, topic, [b"x"])
    with RunningApp(app):
        assert begun.wait(foreign.TIMEOUT_S)
    assert foreign.committed(bootstrap, group, topic).offset <= 0
    go_on.set()


@pytest.mark.slow
def test_an_app_that_cannot_work_says_so_before_it_joins(bootstrap: str, topic: str) -> None:
    with pytest.raises(HandlerError, match="the app has no handlers"):
        App(bootstrap).run()
    group = foreign.name("group")
    missing = App(bootstrap)
    missing.handle(topic, group=group)(lambda event: None)
    missing.handle("not-there", group=group)(lambda event: None)
    with pytest.raises(
        ClusterError, match=r"there is no topic not-there, .* topic create not-there"
    ):
        missing.run()
    unmakeable = App(bootstrap)
    unmakeable.handle(topic, group=group, dead_letter="no such name!")(lambda event: None)
    with pytest.raises(ClusterError, match="for dead letters cannot be made: INVALID_TOPIC"):
        unmakeable.run()
    groups = foreign.admin(bootstrap).list_consumer_groups().result(foreign.TIMEOUT_S)
    assert group not in [it.group_id for it in groups.valid]
    nowhere = App("127.0.0.1:1")
    nowhere.handle(topic, group=group)(lambda event: None)
    with pytest.raises(ClusterError, match="nothing answers at"):
        nowhere.run()
