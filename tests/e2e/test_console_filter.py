"""The console's box for a condition, and its page of the fan-out, in a real Chromium."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests import foreign
from tests.console_page import RECORDS, start_tail, wait_for_text, watched_page
from tests.console_process import ConsoleProcess
from tests.fanout_pair import FanoutPair, fanout_pair
from tests.in_process import InProcessBroker

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.console_fixtures"]

WHERE = 'value.price > 100 and value.ticker in ("AMZN","GOOG")'
TICKS = [
    ("AMZN", 150),
    ("AMZN", 50),
    ("INTL", 500),
    ("GOOG", 101),
]
MATCHES = ["GOOG", "AMZN"]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FanoutPair]:
    with fanout_pair(tmp_path_factory.mktemp("fanout"), "--send-buffer-bytes", "4096") as running:
        yield running


@pytest.fixture(scope="module")
def shared(pair: FanoutPair) -> InProcessBroker:
    return pair.broker


@pytest.fixture(scope="module")
def console_args(pair: FanoutPair) -> tuple[str, ...]:
    return ("--fanout", pair.fanout.url)


def write_ticks(pair: FanoutPair, topic: str) -> None:
    pair.write(
        topic,
        [(ticker, json.dumps({"ticker": ticker, "price": price})) for ticker, price in TICKS],
    )


def box(page: Page) -> Locator:
    return page.get_by_label("Filter records by a condition")


def keys(page: Page) -> Locator:
    return page.locator(f"{RECORDS} [data-cell=key]")


def test_matches_come_from_the_fanout_and_no_others(pair: FanoutPair, page: Page) -> None:
    topic = pair.topic()
    write_ticks(pair, topic)
    page.goto(f"/topics/{topic}")
    box(page).fill(WHERE)
    box(page).press("Enter")
    expect(page.locator(".k-tail[data-state=live][data-source=fan-out]")).to_be_visible()
    # Of the last records, and of those that come.
    expect(keys(page)).to_have_text(MATCHES)
    write_ticks(pair, topic)
    expect(keys(page)).to_have_text(MATCHES * 2)
    expect(page.locator("[data-count=matched]")).to_contain_text("4 match")
    assert pair.stats()["topics"][topic]["subscriptions"] == 1
    # Another one looks at what is here, and the fan-out at what comes.
    box(page).fill('key == "AMZN"')
    expect(keys(page)).to_have_text(["AMZN"] * 2)
    foreign.until(lambda: pair.stats()["topics"][topic]["subscriptions"] == 1)
    page.get_by_role("link", name="Groups").click()
    foreign.until(lambda: topic not in pair.stats()["topics"])


def test_a_wrong_condition_is_shown_with_its_place_and_the_one_before_holds(
    pair: FanoutPair, page: Page
) -> None:
    topic = pair.topic()
    write_ticks(pair, topic)
    page.goto(f"/topics/{topic}")
    box(page).fill("value.price > 100 and value.price == 'x'")
    wrong = page.locator(".k-where [role=alert]")
    expect(wrong).to_contain_text("(at character 37)")
    place = wrong.inner_text().splitlines()
    assert place[1].index("'x'") == place[2].index("^")
    box(page).press("Enter")
    start = page.locator(".k-tail").get_by_role("button", name="Start")
    expect(start).to_be_disabled()
    expect(page.locator(".k-tail[data-state=idle]")).to_be_visible()
    box(page).fill("value.price > 100")
    expect(wrong).to_have_count(0)
    start_tail(page)
    expect(keys(page)).to_have_text(["GOOG", "INTL", "AMZN"])
    box(page).fill("value.price >")
    expect(wrong).to_contain_text("(at character 13)")
    expect(keys(page)).to_have_text(["GOOG", "INTL", "AMZN"])
    box(page).fill("")
    expect(wrong).to_have_count(0)
    expect(page.locator(".k-tail[data-source=topic]")).to_be_visible()


@contextmanager
def counting_server() -> Iterator[tuple[str, list[str]]]:
    """Something that is no fan-out: its address, and what it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(503)

        def log_request(self, code: object = "-", size: object = "-") -> None:
            pass

        def log_error(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()


def test_a_fanout_that_is_away_is_said_to_be_and_asked_only_while_its_page_is_open(
    browser: Browser, pair: FanoutPair, tmp_path: Path
) -> None:
    topic = pair.topic()
    with (
        counting_server() as (url, asked),
        ConsoleProcess(pair.broker.bootstrap, tmp_path / "console.log", "--fanout", url) as console,
        watched_page(browser, console.url) as page,
    ):
        page.goto("/fanout")
        said = page.get_by_role("alert").filter(has_text=f"The fan-out at {url} does not answer")
        expect(said).to_contain_text("(status 503)")
        foreign.until(lambda: len(asked) > 2)
        page.get_by_role("link", name="Topics").click()
        page.get_by_role("link", name=topic).click()
        expect(page.locator("h1")).to_have_text(topic)

        def is_calm() -> bool:
            """For longer than from one question to the next."""
            count = len(asked)
            page.wait_for_timeout(1500)
            return len(asked) == count

        foreign.until(is_calm)
        box(page).fill(WHERE)
        box(page).press("Enter")
        expect(page.locator(".k-note")).to_contain_text("Without the fan-out")
        expect(page.locator(".k-tail[data-state=live][data-source=topic]")).to_be_visible()

        def is_shown() -> bool:
            write_ticks(pair, topic)
            page.wait_for_timeout(200)
            return page.locator(RECORDS).count() > 0

        foreign.until(is_shown)
        assert set(keys(page).all_inner_texts()) <= {"AMZN", "GOOG"}
        assert console.log == ""


@contextmanager
def stalled_client(pair: FanoutPair, topic: str) -> Iterator[None]:
    """Subscribes, and then takes nothing."""
    host, _, port = pair.fanout.tcp.rpartition(":")
    request = json.dumps({"type": "subscribe", "id": 1, "topic": topic, "buffer": 10}).encode()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect((host, int(port)))
        client.sendall(len(request).to_bytes(4, "big") + request)
        assert b"subscribed" in client.recv(1000)
        yield


def test_the_page_of_the_fanout_shows_clients_slow_ones_and_workers(
    pair: FanoutPair, page: Page
) -> None:
    topic = pair.topic(partitions=3)
    page.goto("/fanout")
    expect(page.locator("h1")).to_have_text("Fan-out")
    expect(page.get_by_text("Every client keeps up.")).to_be_visible()
    expect(page.locator("[data-figure=Connections]")).to_have_text("0")
    with stalled_client(pair, topic):
        expect(page.locator("[data-figure=Connections]")).to_have_text("1")
        expect(page.locator(f"[data-row='{topic}'] [data-cell=partitions]")).to_have_text("3 / 3")
        pair.write(topic, [("k", "x" * 100_000)] * 200)
        slow = page.locator("section", has_text="Slow clients")
        expect(slow.locator("[data-cell=peer]")).to_contain_text("127.0.0.1")
        wait_for_text(page, "[data-cell=dropped]", "^1[0-9][0-9]$")
        wait_for_text(page, "[data-figure=Dropped]", "^1[0-9][0-9]$")
        wait_for_text(page, "[data-figure='Latency p99']", r"^[\d.,]+ m?s$")
        pid = str(pair.stats()["workers"][0]["pid"])
        worker = page.locator("[data-row='0']", has_text=pid)
        expect(worker.locator("[data-cell=memory]")).to_contain_text("MB")
        expect(worker.locator("[data-cell=connections]")).to_have_text("1")
    expect(page.get_by_text("Every client keeps up.")).to_be_visible()
    expect(page.locator("[data-figure=Connections]")).to_have_text("0")
