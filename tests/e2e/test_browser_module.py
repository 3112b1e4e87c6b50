"""/kafkaesque.js in a real Chromium: what a page that imports it sees."""

import base64
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests import foreign
from tests.console_page import TIMEOUT_MS, open_browser
from tests.fanout_pair import FanoutPair, fanout_pair
from tests.switched_proxy import SwitchedProxy

from kafkaesque.client.v1 import encode_event
from kafkaesque.records.record import Record

pytestmark = pytest.mark.slow

PAGE = """
async () => {
    const { connect } = await import("/kafkaesque.js");
    window.states = [];
    window.hub = connect();
    hub.onState = (state, detail) => states.push(state);
    window.events = [];
    window.listen = (wants, name = "any") => new Promise((resolve, reject) => {
        window[name] = hub.subscribe(
            wants,
            (event) => events.push([name, event.key, event.value, event.offset]),
            {
                onReady: () => resolve(),
                onError: (error) => reject(new Error(error.message)),
                onGap: (gap) => events.push([name, gap.reason, gap.missed, gap.ranges]),
                onCaughtUp: () => events.push([name, "caught up"]),
            },
        );
    });
}
"""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FanoutPair]:
    with fanout_pair(tmp_path_factory.mktemp("module")) as pair:
        yield pair


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, pair: FanoutPair) -> Iterator[Page]:
    with_module = opened(browser, pair.fanout.url)
    yield with_module
    with_module.close()


def opened(browser: Browser, url: str) -> Page:
    page = browser.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(url)
    page.evaluate(PAGE)
    return page


def wait_for_events(page: Page, count: int) -> list[list[Any]]:
    page.wait_for_function(f"events.length >= {count}")
    found: list[list[Any]] = page.evaluate("events.splice(0)")
    return found


def test_a_page_gets_what_it_wants(page: Page, pair: FanoutPair) -> None:
    topic = pair.topic()
    wants = {"topic": topic, "key": "AMZN", "where": "value.price > 100"}
    page.evaluate("wants => listen(wants)", wants)
    records = [("AMZN", '{"price":99}'), ("GOOG", '{"price":200}'), ("AMZN", '{"price":101}')]
    pair.write(topic, records)
    assert wait_for_events(page, 1) == [["any", "AMZN", '{"price":101}', 2]]
    assert page.evaluate("any.position") == {"0": 3}


def test_subscriptions_share_a_connection_and_are_closed_alone(
    page: Page, pair: FanoutPair
) -> None:
    topic = pair.topic()
    page.evaluate("topic => listen({topic, prefix: 'a'}, 'first')", topic)
    page.evaluate("topic => listen({topic, keys: ['b', new Uint8Array([255])]}, 'second')", topic)
    pair.write(topic, [("a1", "1"), ("b", "2"), (None, "3")])
    assert sorted(wait_for_events(page, 2)) == [["first", "a1", "1", 0], ["second", "b", "2", 1]]
    page.evaluate("first.close()")
    pair.write(topic, [("a2", "4"), ("b", None)])
    assert wait_for_events(page, 1) == [["second", "b", None, 4]]
    foreign.until(lambda: pair.stats()["connections"] == 1)


def test_it_begins_in_the_past_if_asked(page: Page, pair: FanoutPair) -> None:
    topic = pair.topic()
    pair.write(topic, [("k", "0"), ("k", "1"), ("k", "2")])
    page.evaluate("topic => listen({topic, from: {0: 1}})", topic)
    assert wait_for_events(page, 3) == [
        ["any", "k", "1", 1],
        ["any", "k", "2", 2],
        ["any", "caught up"],
    ]


def test_a_refused_subscription_is_told(page: Page, pair: FanoutPair) -> None:
    refusal = "wants => listen(wants).catch((error) => error.message)"
    assert "there is no topic" in page.evaluate(refusal, {"topic": "nothing"})
    said = page.evaluate(refusal, {"topic": pair.topic(), "where": "value.price >"})
    assert "value.price >" in said
    assert page.evaluate("hub.subscriptions.size") == 0


def test_a_connection_that_is_cut_is_resumed(browser: Browser, pair: FanoutPair) -> None:
    topic = pair.topic(3)
    host, _, port = pair.web.partition(":")
    with SwitchedProxy(host, int(port)) as proxy:
        page = opened(browser, f"http://{proxy.address}/")
        page.evaluate("topic => listen({topic, prefix: 'k'})", topic)
        for first in range(0, 60, 20):
            pair.write(topic, [(f"k{n}", str(n)) for n in range(first, first + 10)])
            proxy.cut()
            pair.write(topic, [(f"k{n}", str(n)) for n in range(first + 10, first + 20)])
            page.wait_for_function(
                f"events.filter((e) => e[1] !== 'caught up').length >= {first + 20}"
            )
        got = [int(each[2]) for each in page.evaluate("events") if each[1] != "caught up"]
        states = page.evaluate("states")
        page.close()
    assert sorted(got) == list(range(60))
    assert states.count("waiting") == 3
    assert states[-1] == "open"


def test_a_page_that_is_looked_at_again_does_not_wait(browser: Browser, pair: FanoutPair) -> None:
    host, _, port = pair.web.partition(":")
    with SwitchedProxy(host, int(port)) as proxy:
        page = opened(browser, f"http://{proxy.address}/")
        page.wait_for_function("hub.state === 'open'")
        proxy.is_down = True
        proxy.cut()
        page.wait_for_function("hub.delayMs >= 1000 && hub.state === 'waiting'")
        page.evaluate("clearTimeout(hub.timer)")
        proxy.is_down = False
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        page.wait_for_function("hub.state === 'open'")
        page.close()


def test_a_closed_hub_stays_closed(page: Page, pair: FanoutPair) -> None:
    page.evaluate("topic => listen({topic})", pair.topic())
    page.evaluate("hub.close()")
    assert page.evaluate("hub.state") == "closed"
    assert page.evaluate("states").count("waiting") == 0


def test_a_token_is_the_first_message(browser: Browser, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.toml"
    tokens.write_text('[[token]]\nname = "test"\ntoken = "secret"\ntopics = ["*"]\n')
    with fanout_pair(tmp_path, "--tokens", str(tokens)) as pair:
        topic = pair.topic()
        page = browser.new_page()
        page.goto(pair.fanout.url)
        said = page.evaluate(
            """async (topic) => {
                const { connect } = await import("/kafkaesque.js");
                const right = connect({ token: async () => "secret" });
                await new Promise((onReady) => right.subscribe({ topic }, () => {}, { onReady }));
                const wrong = connect({ token: "wrong" });
                return new Promise((resolve) => {
                    wrong.onState = (state, detail) => state === "closed" && resolve(detail);
                });
            }""",
            topic,
        )
        page.close()
    assert "token" in said


def test_a_page_of_another_origin_imports_it_if_it_may(browser: Browser, tmp_path: Path) -> None:
    """The address that the module came from is where it connects to."""
    (tmp_path / "index.html").write_text("<!doctype html><title>Elsewhere</title>")
    handler = partial(QuietHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as elsewhere:
        Thread(target=elsewhere.serve_forever, daemon=True).start()
        origin = f"http://127.0.0.1:{elsewhere.server_port}"
        with fanout_pair(tmp_path, "--origin", origin) as pair:
            page = browser.new_page()
            page.goto(origin)
            script = """async ([url, topic]) => {
                const { connect } = await import(`${url}/kafkaesque.js`);
                const hub = connect();
                await new Promise((onReady) => hub.subscribe({ topic }, () => {}, { onReady }));
                return hub.url;
            }"""
            url = page.evaluate(script, [pair.fanout.url, pair.topic()])
            page.close()
            assert url == f"ws://{pair.web}/v1"
        elsewhere.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_args: object) -> None:
        pass


def test_an_event_frame_is_read_whole(page: Page) -> None:
    headers = (("source", b"web"), ("x", None))
    frames = [
        encode_event(2**32 - 1, "ticks", 3, Record(12, 34, b"k", None, headers)),
        encode_event(1, "t", 0, Record(2**63 - 1, -1, None, b"\xff")),
    ]
    encoded = [base64.b64encode(each).decode() for each in frames]
    assert page.evaluate(
        """async (frames) => {
            const { decodeEvent } = await import("/kafkaesque.js");
            return frames.map((text) => {
                const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
                const [id, e] = decodeEvent(bytes.buffer);
                return [id, e.topic, e.partition, String(e.offset), typeof e.offset, e.timestamp,
                        e.key, e.value, [...(e.valueBytes ?? [])], e.headers];
            });
        }""",
        encoded,
    ) == [
        [
            2**32 - 1,
            "ticks",
            3,
            "12",
            "number",
            34,
            "k",
            None,
            [],
            [["source", "web"], ["x", None]],
        ],
        [1, "t", 0, str(2**63 - 1), "bigint", -1, None, "\ufffd", [255], []],
    ]
