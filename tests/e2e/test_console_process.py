"""The console's process: what it asks of a broker, and what happens when one of them goes away."""

import signal
import socket
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect
from tests import foreign
from tests.broker_process import COMMAND, BrokerProcess
from tests.console_page import RECORDS, start_tail, wait_for_text, watched_page, write_until_shown
from tests.console_process import ConsoleProcess
from tests.counting_proxy import CountingProxy

from kafkaesque.protocol.messages import FETCH

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.console_fixtures"]

LIST_OFFSETS = 2
DOCS = Path(__file__).parents[2] / "docs" / "reference"


def test_nothing_is_read_until_the_tail_is_started_nor_after_it_is_left(
    browser: Browser, tmp_path: Path
) -> None:
    with (
        CountingProxy() as proxy,
        BrokerProcess(tmp_path / "data", "--advertise", proxy.address) as broker,
    ):
        proxy.forward_to(broker.port)
        topic = foreign.create_topic(proxy.address)
        foreign.produce(proxy.address, topic, ["a"])
        log_path = tmp_path / "console.log"
        with (
            ConsoleProcess(proxy.address, log_path) as console,
            watched_page(browser, console.url) as page,
        ):
            page.goto("/topics")
            wait_for_text(page, f"[data-row={topic}] [data-cell=rate]", "/s")
            page.get_by_role("link", name=topic).click()
            looks = proxy.requests[LIST_OFFSETS]
            foreign.until(lambda: proxy.requests[LIST_OFFSETS] >= looks + 4)
            assert proxy.requests[FETCH] == 0
            start_tail(page)
            foreign.until(lambda: proxy.requests[FETCH] > 0)
            page.get_by_role("link", name="Groups").click()
            expect(page.locator("h1")).to_have_text("Groups")
            assert_it_calms_down(proxy, FETCH)
            page.close()
            assert_it_calms_down(proxy, LIST_OFFSETS)


def assert_it_calms_down(proxy: CountingProxy, api_key: int) -> None:
    """Within a while there is a second and a half without such a request; else there are many."""

    def is_calm() -> bool:
        before = proxy.requests[api_key]
        time.sleep(1.5)
        return proxy.requests[api_key] == before

    foreign.until(is_calm)


def test_a_broker_that_is_away_is_said_to_be_and_its_return_is_noticed(
    browser: Browser, tmp_path: Path
) -> None:
    broker = BrokerProcess(tmp_path / "data")
    with (
        ConsoleProcess(broker.bootstrap, tmp_path / "console.log") as console,
        watched_page(browser, console.url) as page,
    ):
        page.goto("/")
        expect(page.get_by_role("alert")).to_contain_text(f"Nothing answers at {broker.bootstrap}")
        with broker:
            expect(page.locator(".k-link-state")).to_have_text("Healthy")
            expect(page.get_by_text("No topics yet.")).to_be_visible()
            topic = foreign.create_topic(broker.bootstrap)
            page.get_by_role("link", name=topic).click()
            start_tail(page)
            broker.kill()
            expect(page.locator(".k-link-state")).to_have_text("No answer")
            expect(page.locator("[data-figure=Events]")).to_have_text("0")
            broker.start()
            expect(page.locator(".k-link-state")).to_have_text("Healthy")
            expect(page.locator(".k-banner")).to_be_hidden()
            write_until_shown(page, broker.bootstrap, topic, "back again")


def test_it_stops_at_once_with_a_tail_open(
    browser: Browser, broker: BrokerProcess, tmp_path: Path
) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    foreign.produce(broker.bootstrap, topic, ["x"])
    page = browser.new_page()
    with ConsoleProcess(broker.bootstrap, tmp_path / "console.log") as console:
        page.goto(f"{console.url}/topics/{topic}")
        start_tail(page)
        page.wait_for_selector(RECORDS)
        assert console.stop() == 0
        assert console.log == ""
    page.close()


def test_a_taken_port_is_named_with_the_flag_that_changes_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [str(COMMAND), "console", "--port", str(port)], capture_output=True, text=True
        )
    assert done.returncode == 1
    assert done.stderr.startswith(f"kafkaesque: the console cannot listen on 127.0.0.1:{port}")
    assert "--port" in done.stderr
    assert done.stderr.count("\n") == 1


def test_it_says_how_it_is(tmp_path: Path) -> None:
    with (
        BrokerProcess(tmp_path / "data") as broker,
        ConsoleProcess(broker.bootstrap, tmp_path / "console.log") as console,
    ):
        health = httpx.get(f"{console.url}/health", timeout=60).json()
        assert health == {"status": "ok", "reasons": []}
        figures = httpx.get(f"{console.url}/metrics", timeout=60).text
        assert "\nkafkaesque_console_pages 0\n" in figures
        page = (DOCS / "metrics.md").read_text()
        names = [line.split()[2] for line in figures.splitlines() if line.startswith("# TYPE")]
        assert [name for name in names if f"`{name}`" not in page] == []
        broker.stop()
        sick = httpx.get(f"{console.url}/health", timeout=60)
        assert sick.status_code == 503
        assert broker.bootstrap in sick.json()["reasons"][0]


def test_who_presses_ctrl_c_twice_sees_no_traceback(tmp_path: Path) -> None:
    with ConsoleProcess("127.0.0.1:1", tmp_path / "log") as running:
        for _ in range(2):
            running.process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        assert running.stop() == 0
        assert running.log == ""
