"""Subscriber against a real fan-out: selections, resuming, gaps, refusals, over both transports."""

import asyncio
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests import foreign
from tests.broker_process import free_port
from tests.fanout_pair import FanoutPair, fanout_pair
from tests.switched_proxy import SwitchedProxy

from kafkaesque.client.connection import ClusterError
from kafkaesque.client.subscriber import Subscriber
from kafkaesque.client.v1 import Gap, GapReason
from kafkaesque.event import Event

T = TypeVar("T")

TOKENS = """
[[token]]
name = "test"
token = "secret"
topics = ["*"]
"""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FanoutPair]:
    with fanout_pair(tmp_path_factory.mktemp("subscriber")) as pair:
        yield pair


@pytest.fixture(params=["ws", "tcp"])
def uri(request: pytest.FixtureRequest, pair: FanoutPair) -> str:
    return f"ws://{pair.web}/v1" if request.param == "ws" else f"tcp://{pair.fanout.tcp}"


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, foreign.TIMEOUT_S))


async def take(subscriber: Subscriber, count: int) -> list[Event]:
    events: list[Event] = []
    async for event in subscriber:
        events.append(event)
        if len(events) == count:
            break
    return events


def test_events_come_as_they_were_written(pair: FanoutPair, uri: str) -> None:
    topic = pair.topic(3)

    async def program() -> list[Event]:
        async with Subscriber(uri) as subscriber:
            subscription = await subscriber.subscribe(topic, keys=["a", b"b"])
            assert subscription.position == {}
            pair.write(topic, [("a", "1"), ("other", "2"), ("b", None), ("a", "3")])
            events = await take(subscriber, 3)
            places = {event.partition: event.offset + 1 for event in events}
            assert subscription.position.items() >= places.items()
            assert subscription.position.keys() == {0, 1, 2}
            return events

    events = run(program())
    assert sorted((event.key, event.value or b"") for event in events) == [
        (b"a", b"1"),
        (b"a", b"3"),
        (b"b", b""),
    ]


def test_a_filter_a_prefix_and_a_start_select(pair: FanoutPair, uri: str) -> None:
    topic = pair.topic()
    pair.write(
        topic, [("eu-1", '{"price":50}'), ("eu-2", '{"price":150}'), ("us", '{"price":200}')]
    )

    async def program() -> list[list[bytes]]:
        async with Subscriber(uri) as subscriber:
            await subscriber.subscribe(topic, where="value.price > 100", start="earliest")
            by_price = await take(subscriber, 2)
        async with Subscriber(uri) as subscriber:
            await subscriber.subscribe(topic, prefix="eu-", start={0: 1})
            by_prefix = await take(subscriber, 1)
        return [[event.key for event in events] for events in (by_price, by_prefix)]

    assert run(program()) == [[b"eu-2", b"us"], [b"eu-2"]]


def test_two_subscriptions_are_told_apart(pair: FanoutPair, uri: str) -> None:
    topic = pair.topic()

    async def program() -> list[tuple[int, bytes]]:
        async with Subscriber(uri) as subscriber:
            first = await subscriber.subscribe(topic, key="a")
            second = await subscriber.subscribe(topic)
            pair.write(topic, [("a", "1"), ("b", "2")])
            got = []
            async for subscription, item in subscriber.deliveries():
                assert isinstance(item, Event)
                got.append((subscription.id, item.value))
                if len(got) == 3:
                    break
            assert (first.id, second.id) == (1, 2)
            await subscriber.unsubscribe(second)
            pair.write(topic, [("b", "3"), ("a", "4")])
            (event,) = await take(subscriber, 1)
            assert event.value == b"4"
            return got

    assert sorted(run(program())) == [(1, b"1"), (2, b"1"), (2, b"2")]


@pytest.mark.slow
def test_a_connection_that_is_cut_is_resumed(pair: FanoutPair, uri: str) -> None:
    """Nothing is missing and nothing comes twice, whatever is written meanwhile."""
    topic = pair.topic(3)
    host, _, port = (uri.split("//")[1].removesuffix("/v1")).partition(":")
    told: list[str] = []

    async def program() -> list[int]:
        with SwitchedProxy(host, int(port)) as proxy:
            through = uri.replace(f"{host}:{port}", proxy.address)
            async with Subscriber(through, tell=told.append) as subscriber:
                await subscriber.subscribe(topic, prefix="k")
                numbers: list[int] = []
                for round_ in range(5):
                    records = [(f"k{n}", f"{n}") for n in range(round_ * 20, round_ * 20 + 20)]
                    await asyncio.to_thread(pair.write, topic, [*records[:10], ("x", "no")])
                    proxy.cut()
                    await asyncio.to_thread(pair.write, topic, records[10:])
                    numbers += [int(event.value) for event in await take(subscriber, 20)]
                assert proxy.accepted == 6
                return numbers

    assert sorted(run(program())) == list(range(100))
    assert sum("it is tried again" in each for each in told) == 5
    assert sum(each.endswith("is back") and "tried" not in each for each in told) == 5


@pytest.mark.slow
def test_a_refused_subscription_says_why_and_the_others_go_on(pair: FanoutPair, uri: str) -> None:
    topic = pair.topic()

    async def program() -> None:
        async with Subscriber(uri) as subscriber:
            with pytest.raises(ClusterError, match="there is no topic 'nothing'"):
                await subscriber.subscribe("nothing")
            with pytest.raises(ClusterError, match="price"):
                await subscriber.subscribe(topic, where="value.price > ")
            await subscriber.subscribe(topic)
            pair.write(topic, [("a", "1")])
            assert len(await take(subscriber, 1)) == 1
            assert len(subscriber.subscriptions) == 1

    run(program())


def test_a_slow_program_is_told_what_it_missed(pair: FanoutPair) -> None:
    topic, count = pair.topic(), 400
    heard: list[Gap] = []
    value = "v" * 50_000

    async def program() -> list[int]:
        uri = f"ws://{pair.web}/v1"
        async with Subscriber(uri, on_gap=heard.append) as subscriber:
            await subscriber.subscribe(topic, buffer=10)
            for _ in range(0, count, 50):
                await asyncio.to_thread(pair.write, topic, [("k", value)] * 50)
            # The program does not read: what fits nowhere is dropped.
            while not (await asyncio.to_thread(pair.stats))["dropped"]:
                await asyncio.sleep(0.01)
            offsets = []
            async for event in subscriber:
                offsets.append(event.offset)
                if event.offset == count - 1:
                    return offsets
        raise AssertionError

    offsets = run(program())
    missed = [n for gap in heard for _, first, last in gap.ranges for n in range(first, last + 1)]
    assert sorted(offsets + missed) == list(range(count))
    assert missed
    assert {gap.reason for gap in heard} == {GapReason.SLOW}


@pytest.mark.slow
def test_a_token_opens_the_door(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(TOKENS)
    with fanout_pair(tmp_path, "--tokens", str(tokens)) as pair:
        topic = pair.topic()

        async def program(uri: str, token: str | None) -> None:
            async with Subscriber(uri, token) as subscriber:
                await subscriber.subscribe(topic)

        for uri in (f"ws://{pair.web}/v1", f"tcp://{pair.fanout.tcp}"):
            run(program(uri, "secret"))
            with pytest.raises(ClusterError, match="token"):
                run(program(uri, None))
            with pytest.raises(ClusterError, match="token"):
                run(program(uri, "wrong"))


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("http://127.0.0.1:8083", "is no ws://, wss://, tcp:// or tls:// address"),
        ("tcp://127.0.0.1", "needs a host and a port"),
        ("ws://127.0.0.1:{port}/v1", "start it with `kafkaesque fanout`"),
        ("tcp://127.0.0.1:{port}", "start it with `kafkaesque fanout`"),
    ],
)
def test_an_address_that_does_not_answer_is_told(uri: str, reason: str) -> None:
    async def program() -> None:
        async with Subscriber(uri.format(port=free_port())):
            pass

    with pytest.raises(ClusterError, match=reason):
        run(program())


def test_it_is_over_when_it_is_closed(pair: FanoutPair, uri: str) -> None:
    topic = pair.topic()

    async def program() -> list[Event]:
        async with Subscriber(uri) as subscriber:
            await subscriber.subscribe(topic)
        with pytest.raises(ClusterError, match="closed"):
            await subscriber.subscribe(topic)
        return [event async for event in subscriber]

    assert run(program()) == []
