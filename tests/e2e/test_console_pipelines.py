"""Pipelines and candles in a real Chromium, from records that a client has written.

KAFKAESQUE_SHOOT=1 also takes the picture of the candles that the documentation shows.
"""

import json
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from confluent_kafka import Producer
from playwright.sync_api import Browser, Page, expect
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.console_page import wait_for_text, watched_page
from tests.console_process import ConsoleProcess

from kafkaesque.client.board import Board
from kafkaesque.client.connection import Address, Connection
from kafkaesque.client.pipelines import TOPIC as PIPELINES
from kafkaesque.client.pipelines import PipelineStatus, QueryStatus, State

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.console_fixtures"]

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "candles.png"
OHLC = "stock_ohlc"
MINUTE = 60
RATES = QueryStatus(
    "q",
    batch=7,
    rows_in=12_345,
    rate_in=250.5,
    rate_processed=5_000.0,
    latency_ms=180,
    state_rows=1_200,
    state_bytes=640_000,
    late_rows=9,
    behind=42,
    source="stock_json_topic",
    sink=OHLC,
)


@pytest.fixture
def board(shared: BrokerProcess) -> Iterator[Board]:
    with made_board(shared) as made:
        yield made


@pytest.fixture
def candle_topic(shared: BrokerProcess) -> None:
    if OHLC not in topics(shared):
        make_candle_topic(shared)


@pytest.fixture
def page(candle_topic: None, page: Page) -> Page:
    return page


@contextmanager
def made_board(broker: BrokerProcess) -> Iterator[Board]:
    board = Board(Connection((Address("127.0.0.1", broker.port),)))
    board.make()
    yield board
    board.close()


def topics(broker: BrokerProcess) -> set[str]:
    return set(foreign.admin(broker.bootstrap).list_topics(timeout=foreign.TIMEOUT_S).topics)


def make_candle_topic(broker: BrokerProcess) -> None:
    foreign.create_topic(broker.bootstrap, OHLC, 3, {"cleanup.policy": "compact"})


def this_minute() -> int:
    return int(time.time()) // MINUTE * MINUTE


def moment(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def candle(ticker: str, start_s: int, *ohlc: float, window: str = "1m", **more: Any) -> Any:
    """A record of the topic, as the pipeline writes it."""
    end_s = start_s + MINUTE * int(window.removesuffix("m"))
    told: dict[str, Any] = dict(zip(("open", "high", "low", "close"), ohlc, strict=True))
    told |= {"ticker": ticker, "window": window, "start": moment(start_s), "end": moment(end_s)}
    told |= {"average": sum(ohlc) / 4, "volatility": 0.125, "count": 20} | more
    return f"{ticker}|{window}|{moment(start_s)}", json.dumps(told)


def write(broker: BrokerProcess, *records: tuple[str, str | None]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for key, value in records:
        producer.produce(OHLC, value, key)
    assert producer.flush(foreign.TIMEOUT_S) == 0


def show_candles(page: Page, address: str, count: int) -> None:
    page.goto(address)
    expect(page.locator(f".k-candles[data-candles='{count}']")).to_be_visible()


def status(name: str, state: State = "running", **more: Any) -> PipelineStatus:
    now_ms = time.time_ns() // 1_000_000
    query = replace(RATES, name=f"{name}.minutes", watermark_ms=now_ms - 12_000)
    # On a busy machine a test is slow; it is not lost for that.
    told = PipelineStatus(name, f"run-{name}", state, now_ms + 60_000, now_ms - 90_000)
    return replace(told, queries=(query,), **more)


def tell(board: Board, told: PipelineStatus) -> None:
    board.publish(told)
    board.flush()


def commands(broker: BrokerProcess, name: str) -> list[Any]:
    """Those that a pipeline was given, the oldest first."""
    _, end = foreign.watermarks(broker.bootstrap, PIPELINES)
    messages = foreign.read(broker.bootstrap, PIPELINES, end)
    key = f"{name}/command".encode()
    return [json.loads(each.value() or b"") for each in messages if each.key() == key]


def test_both_pages_say_what_to_run_and_go_on_when_it_runs_and_after_a_restart(
    browser: Browser, shared: BrokerProcess, console: ConsoleProcess
) -> None:
    minute = this_minute()
    for name in topics(shared) & {OHLC, PIPELINES}:
        foreign.delete_topic(shared.bootstrap, name)
    with (
        watched_page(browser, console.url) as page,
        watched_page(browser, console.url) as candles,
    ):
        page.goto("/pipelines")
        candles.goto("/candles")
        expect(page.locator(".k-main")).to_contain_text("kafkaesque pipeline run stocks")
        expect(candles.locator(".k-main")).to_contain_text("kafkaesque pipeline run stocks")
        make_candle_topic(shared)
        expect(candles.locator(".k-main")).to_contain_text("has no candles yet")
        write(shared, candle("AAPL", minute - MINUTE, 10, 12, 9, 11))
        expect(candles.locator(".k-candles[data-candles='1']")).to_be_visible()
        with made_board(shared) as board:
            tell(board, status("stocks"))
            expect(page.locator("[data-pipeline=stocks][data-state=running]")).to_be_visible()
        shared.stop()
        expect(candles.locator(".k-banner")).to_contain_text("Still trying")
        shared.start()
        write(shared, candle("AAPL", minute, 11, 11.5, 10.5, 11.25))
        expect(candles.locator(".k-candles[data-candles='2']")).to_be_visible()
        expect(candles.locator("[data-figure=close]")).to_have_text("11.25")


def test_the_newest_candle_moves_and_the_next_follows(shared: BrokerProcess, page: Page) -> None:
    ticker, minute = foreign.name("MOVES"), this_minute() - MINUTE
    up, down, flat = (
        candle(ticker, minute - 2 * MINUTE, 100, 104, 99, 103),
        candle(ticker, minute - MINUTE, 103, 103, 100, 101),
        candle(ticker, minute, 101, 101, 101, 101, count=1),
    )
    write(shared, up, down, flat, (f"{ticker}|1m|no moment", "{}"), ("no key of ours", "no JSON"))
    show_candles(page, f"/candles/{ticker}", 3)
    drawn = page.locator(".k-candle")
    for index, way in enumerate(("up", "down", "flat")):
        expect(drawn.nth(index)).to_have_attribute("data-way", way)
    filled, hollow = (
        drawn.nth(index).locator("rect").evaluate("body => getComputedStyle(body).fill")
        for index in (1, 0)
    )
    assert filled != hollow
    body = drawn.last.locator("rect")
    before = body.get_attribute("height")
    assert before is not None
    write(shared, candle(ticker, minute, 101, 106, 100.5, 105.5, count=9))
    expect(drawn.last).to_have_attribute("data-way", "up")
    expect(page.locator("[data-figure=close]")).to_have_text("105.50")
    expect(body).not_to_have_attribute("height", before)
    expect(drawn).to_have_count(3)
    write(shared, candle(ticker, minute + MINUTE, 105.5, 105.5, 104, 104.5))
    expect(drawn).to_have_count(4)
    expect(page.locator(".k-change")).to_have_text("▼ −1.00 (−0.95 %)")
    write(shared, (up[0], None))
    expect(drawn).to_have_count(3)


def test_the_table_and_the_crosshair_tell_the_numbers(shared: BrokerProcess, page: Page) -> None:
    ticker, minute = foreign.name("TELLS"), this_minute()
    write(
        shared,
        candle(ticker, minute - MINUTE, 10, 12, 9, 11, count=1234),
        candle(ticker, minute, 11, 11.5, 10.5, 11.25),
    )
    show_candles(page, f"/candles/{ticker}", 2)
    page.get_by_text("The same as a table").click()
    rows = page.locator(".k-same tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.last.locator("td")).to_have_text(
        [
            moment(minute - MINUTE).replace("T", " ")[:16],
            *("10.00", "12.00", "9.00", "11.00", "10.500", "0.1250", "1,234"),
        ]
    )
    chart = page.locator(".k-chart svg")
    chart.press("ArrowLeft")
    expect(page.locator("[data-tip=Close]")).to_have_text("11.25")
    chart.press("ArrowLeft")
    expect(page.locator("[data-tip=Ticks]")).to_have_text("1,234")
    chart.press("Escape")
    expect(page.locator(".k-tip")).to_have_count(0)
    page.locator(".k-candle").first.hover()
    expect(page.locator("[data-tip=High]")).to_have_text("12.00")
    expect(page.locator(".k-cross text")).to_be_visible()


def test_a_ticker_and_a_window_are_chosen_and_stay_in_the_address(
    shared: BrokerProcess, page: Page
) -> None:
    one, other, minute = foreign.name("ONE"), foreign.name("OTHER/"), this_minute()
    write(
        shared,
        candle(one, minute, 10, 12, 9, 11),
        *(candle(other, minute - n * MINUTE, 50, 51, 49, 50.5) for n in range(3)),
        *(candle(other, minute - n * MINUTE, 48, 51, 47, 50, window="5m") for n in (5, 6)),
    )
    show_candles(page, f"/candles/{one}", 1)
    page.get_by_label("Ticker").select_option(other)
    shown = page.locator(f".k-candles[data-ticker='{other}']")
    expect(shown).to_have_attribute("data-candles", "3")
    expect(shown).to_have_attribute("data-window", "1m")
    page.get_by_label("Window").select_option("5m")
    expect(shown).to_have_attribute("data-candles", "2")
    page.reload()
    expect(shown).to_have_attribute("data-window", "5m")
    expect(shown).to_have_attribute("data-candles", "2")
    page.goto("/candles/NOBODY")
    expect(page.get_by_text("There are no candles of NOBODY (1m) now.")).to_be_visible()
    write(shared, candle("NOBODY", minute, 1, 2, 1, 2))
    expect(page.locator(".k-candles[data-candles='1']")).to_be_visible()


@pytest.mark.usefixtures("candle_topic")
def test_candles_fit_a_phone_light_and_dark(
    browser: Browser, console: ConsoleProcess, shared: BrokerProcess
) -> None:
    random, minute, last = Random(9), this_minute(), 187.0
    records = []
    for back in range(74, -1, -1):
        prices = [last := last * math.exp(random.gauss(0, 0.0007)) for _ in range(20)]
        ohlc = prices[0], max(prices), min(prices), last
        average = sum(prices) / len(prices)
        counted = random.randint(18, 60)
        start = minute - back * MINUTE
        records.append(candle("AMZN", start, *ohlc, average=average, count=counted))
    write(shared, *records)
    with watched_page(browser, console.url, width=390) as phone:
        show_candles(phone, "/candles/AMZN", 75)
        expect(phone.locator(".k-candle")).to_have_count(30)
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390
        color = "getComputedStyle(document.querySelector('.k-grid text')).fill"
        light = phone.evaluate(color)
        phone.get_by_label("Light or dark").click()
        phone.wait_for_function(f"light => {color} !== light", arg=light)
        phone.goto("/pipelines")
        expect(phone.locator("h1")).to_have_text("Pipelines")
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    if os.environ.get("KAFKAESQUE_SHOOT"):
        with watched_page(browser, console.url) as wide:
            show_candles(wide, "/candles/AMZN", 75)
            wide.locator(".k-candle").nth(24).hover()
            wide.screenshot(path=PICTURE, clip={"x": 0, "y": 0, "width": 1280, "height": 700})


def test_a_pipeline_shows_its_figures_and_obeys_the_buttons(
    shared: BrokerProcess, board: Board, page: Page
) -> None:
    told = status("obeys", restarts=2, master="local[2]")
    tell(board, replace(told, at_ms=told.at_ms - 2000))
    tell(board, told)
    page.goto("/pipelines")
    panel = page.locator("[data-pipeline=obeys]")
    expect(panel).to_have_attribute("data-state", "running")
    expect(panel.locator("[data-cell=restarts]")).to_have_text("· 2 restarts")
    row = panel.locator("[data-row=minutes]")
    for cell, words in {
        "route": "stock_json_topic → stock_ohlc",
        "rate_in": "251 /s",
        "rate_processed": "5,000 /s",
        "rows": "12,345 rows",
        "latency": "180 ms",
        "state_rows": "1,200 rows",
        "state_bytes": "640 KB",
        "late": "9",
        "behind": "42",
    }.items():
        expect(row.locator(f"[data-cell={cell}]")).to_have_text(words)
    wait_for_text(page, "[data-pipeline=obeys] [data-cell=watermark_behind]", r"^[1-9]\ds behind$")
    expect(row.locator(".k-spark-line").first).to_have_attribute("d", "M71.5 2.0 L72.0 2.0")
    panel.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Let it run").click()
    assert commands(shared, "obeys") == []
    panel.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Stop it").click()
    expect(panel.get_by_text("Stopping …")).to_be_visible()
    (stop,) = commands(shared, "obeys")
    assert (stop["command"], stop["run"]) == ("stop", "run-obeys")
    tell(board, status("obeys", "stopped"))
    panel.get_by_role("button", name="Start").click()
    expect(panel.get_by_text("Starting …")).to_be_visible()
    assert [each["command"] for each in commands(shared, "obeys")] == ["stop", "start"]
    tell(board, status("obeys"))
    expect(panel.get_by_role("button", name="Stop")).to_be_enabled()


def test_what_is_lost_or_over_is_shown_so_without_buttons(board: Board, page: Page) -> None:
    old_ms = time.time_ns() // 1_000_000 - 60_000
    tell(board, status("gone", at_ms=old_ms))
    tell(board, status("broken", "failed", error="the disk is full: <b>make room</b>"))
    tell(board, status("done", "finished"))
    page.goto("/pipelines")
    for name, state in {"gone": "lost", "broken": "failed", "done": "finished"}.items():
        panel = page.locator(f"[data-pipeline={name}]")
        expect(panel).to_have_attribute("data-state", state)
        expect(panel.get_by_role("button")).to_have_count(0)
    expect(page.locator("[data-pipeline=gone] [data-cell=since]")).to_contain_text("silent for 1m")
    expect(page.locator("[data-pipeline=broken] [data-cell=error]")).to_have_text(
        "the disk is full: <b>make room</b>"
    )
    tell(board, status("gone"))
    expect(page.locator("[data-pipeline=gone]")).to_have_attribute("data-state", "running")
