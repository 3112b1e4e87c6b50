"""The fan-out in a real Chromium without any module of ours: plain WebSocket, plain EventSource."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests import foreign
from tests.console_page import TIMEOUT_MS, open_browser
from tests.fanout_pair import FanoutPair, fanout_pair
from tests.switched_proxy import SwitchedProxy

pytestmark = pytest.mark.slow

SAMPLE = """
(answer) => {
    window.messages = [];
    const text = (data) => typeof data === "string" ? data : new TextDecoder().decode(data);
    const socket = new WebSocket(`ws://${location.host}/ws`);
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => {
        messages.push([typeof data === "string" ? "text" : data.constructor.name, text(data)]);
        if (messages.length === 1) socket.send(answer);
    };
    socket.onclose = ({ code, reason }) => messages.push([code, reason]);
}
"""
V1 = """
(request) => {
    window.messages = [];
    const socket = new WebSocket(`ws://${location.host}/v1`, "kafkaesque.v1");
    socket.onopen = () => socket.send(JSON.stringify(request));
    socket.onmessage = ({ data }) => messages.push([socket.protocol, JSON.parse(data)]);
}
"""
EVENTS = """
(address) => {
    window.messages = [];
    window.opened = 0;
    window.source = new EventSource(address);
    source.onopen = () => opened++;
    source.addEventListener("subscribed", ({ data }) => messages.push(["subscribed"]));
    source.onmessage = ({ data, lastEventId }) => {
        const { key, value } = JSON.parse(data);
        messages.push([key, value, lastEventId]);
    };
}
"""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FanoutPair]:
    with fanout_pair(tmp_path_factory.mktemp("browser")) as pair:
        yield pair


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@contextmanager
def opened(browser: Browser, url: str) -> Iterator[Page]:
    page = browser.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(url)
    yield page
    page.close()


def wait_for_messages(page: Page, count: int) -> list[list[Any]]:
    page.wait_for_function(f"messages.length >= {count}")
    found: list[list[Any]] = page.evaluate("messages")
    return found


def test_a_plain_websocket_speaks_the_samples_protocol(browser: Browser, pair: FanoutPair) -> None:
    topic = pair.topic()
    with opened(browser, pair.fanout.url) as page:
        page.evaluate(SAMPLE, f"{topic}/dave")
        foreign.until(lambda: pair.stats()["subscriptions"] == 1)
        pair.write(topic, [("max", "no"), ("dave", "Hey, Dave, grüß dich"), ("dave", None)])
        assert wait_for_messages(page, 5) == [
            ["text", "what topic/key do you want?\n"],
            ["ArrayBuffer", "dave"],
            ["ArrayBuffer", "Hey, Dave, grüß dich"],
            ["ArrayBuffer", "dave"],
            ["ArrayBuffer", ""],
        ]


def test_a_plain_websocket_is_told_why_it_is_closed(browser: Browser, pair: FanoutPair) -> None:
    with opened(browser, pair.fanout.url) as page:
        page.evaluate(SAMPLE, "nothing/dave")
        code, reason = wait_for_messages(page, 2)[1]
    assert code == 1008
    assert "there is no topic 'nothing'" in reason


def test_a_plain_websocket_reads_v1_as_json(browser: Browser, pair: FanoutPair) -> None:
    topic = pair.topic()
    wants = {"topic": topic, "where": "value.price > 100", "encoding": "json"}
    with opened(browser, pair.fanout.url) as page:
        page.evaluate(V1, {"type": "subscribe", "id": 1, **wants})
        wait_for_messages(page, 1)
        pair.write(topic, [("AMZN", '{"price":99}'), ("AMZN", '{"price":101}')])
        first, second = wait_for_messages(page, 2)
    assert first[0] == second[0] == "kafkaesque.v1"
    assert first[1]["type"] == "subscribed"
    assert (second[1]["offset"], second[1]["value"]) == (1, '{"price":101}')


def test_a_plain_event_source_gets_what_it_wants(browser: Browser, pair: FanoutPair) -> None:
    topic = pair.topic()
    address = f"/sse?topic={topic}&key=AMZN&where=value.price+%3E+100"
    with opened(browser, pair.fanout.url) as page:
        page.evaluate(EVENTS, address)
        assert wait_for_messages(page, 1) == [["subscribed"]]
        records = [("AMZN", '{"price":99}'), ("GOOG", '{"price":200}'), ("AMZN", '{"price":101}')]
        pair.write(topic, records)
        assert wait_for_messages(page, 2)[1:] == [["AMZN", '{"price":101}', "0:3"]]


def test_an_event_source_that_is_cut_goes_on_by_itself(browser: Browser, pair: FanoutPair) -> None:
    """Three partitions; what is written while nobody is there comes afterwards, and once."""
    topic = pair.topic(3)
    host, _, port = pair.web.partition(":")
    with (
        SwitchedProxy(host, int(port)) as proxy,
        opened(browser, f"http://{proxy.address}") as page,
    ):
        page.evaluate(EVENTS, f"/sse?topic={topic}&prefix=k")
        wait_for_messages(page, 1)
        pair.write(topic, [(f"k{n}", str(n)) for n in range(20)])
        wait_for_messages(page, 21)
        proxy.is_down = True
        proxy.cut()
        pair.write(topic, [(f"k{n}", str(n)) for n in range(20, 40)] + [("x", "no")])
        page.wait_for_function("source.readyState === EventSource.CONNECTING")
        proxy.is_down = False
        page.wait_for_function("opened === 2")
        pair.write(topic, [(f"k{n}", str(n)) for n in range(40, 60)])
        wait_for_messages(page, 62)
        got = [message[1] for message in page.evaluate("messages") if message != ["subscribed"]]
    assert sorted(map(int, got)) == list(range(60))
