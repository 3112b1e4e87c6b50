"""The console's pages in a real Chromium: what they show, and what one can do there.

KAFKAESQUE_SHOOT=1 also takes the picture that the README shows.
"""

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from playwright.sync_api import Browser, Locator, Page, expect
from tests import foreign
from tests.broker_process import COMMAND, BrokerProcess
from tests.console_page import RECORDS, start_tail, wait_for_text, watched_page, write_until_shown
from tests.console_process import ConsoleProcess
from tests.older_cluster import older_cluster
from tests.open_transaction import open_transaction

pytest_plugins = ["tests.console_fixtures"]

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "console.png"
TICKS = "stock_json_topic"


@contextmanager
def steady_load(bootstrap: str, topic: str, rate: int) -> Iterator[None]:
    """So many records a second until the block ends."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 0})
    stopped = threading.Event()

    def write() -> None:
        sent, began = 0, time.monotonic()
        while not stopped.wait(0.02):
            while sent < (time.monotonic() - began) * rate:
                producer.produce(topic, f"record {sent}", key=f"k{sent % 7}")
                sent += 1
            producer.poll(0)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
        producer.flush(foreign.TIMEOUT_S)


@contextmanager
def ticks(bootstrap: str, rate: int) -> Iterator[None]:
    command = [str(COMMAND), "demo", "ticks", "--brokers", bootstrap, "--rate", str(rate)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def cell(page: Page, row: str, name: str) -> Locator:
    return page.locator(f"[data-row='{row}'] [data-cell={name}]")


def test_the_ticks_move_and_the_topic_opens(shared: BrokerProcess, page: Page) -> None:
    with ticks(shared.bootstrap, rate=40):
        page.goto("/")
        wait_for_text(page, f"[data-row={TICKS}] [data-cell=rate]", r"^[1-9][\d.]* /s$")
        before = cell(page, TICKS, "events").inner_text()
        page.wait_for_function(
            "([topic, before]) => document.querySelector("
            "`[data-row=${topic}] [data-cell=events]`).innerText !== before",
            arg=[TICKS, before],
        )
        expect(page.locator(".k-link-state")).to_have_text("Healthy")
        page.get_by_role("link", name=TICKS).click()
        page.wait_for_url(f"**/topics/{TICKS}")
        expect(page.locator("[data-figure=Partitions]")).to_have_text("3")
        start_tail(page)
        page.wait_for_function(f"document.querySelectorAll('{RECORDS}').length > 40")
        first = page.locator(RECORDS).first
        expect(first).to_contain_text("event_time")
        if os.environ.get("KAFKAESQUE_SHOOT"):
            shoot(page, shared.bootstrap)


def shoot(page: Page, bootstrap: str) -> None:
    reader = foreign.consumer(bootstrap, "python-consumer")
    reader.subscribe([TICKS])
    assert reader.poll(foreign.TIMEOUT_S) is not None
    reader.commit(asynchronous=False)
    wait_for_text(page, "[data-row=python-consumer]", "Stable")
    wait_for_text(page, "[data-figure=Size]", "[1-9]")
    wait_for_text(page, "nav a[href='/groups']", "1")
    page.screenshot(path=PICTURE, full_page=True)
    reader.close()


@pytest.mark.slow
def test_sizes_and_partitions_are_those_of_the_broker(shared: BrokerProcess, page: Page) -> None:
    topic = foreign.create_topic(shared.bootstrap, partitions=2)
    foreign.produce(shared.bootstrap, topic, ["x" * 1000] * 3, partition=1)
    page.goto(f"/topics/{topic}")
    wait_for_text(page, "[data-row='1'] [data-cell=size]", r"^3\.\d KB$")
    # A look that began before the records were written may have their size and not their offsets.
    expect(cell(page, "1", "end")).to_have_text("3")
    expect(cell(page, "0", "events")).to_have_text("0")
    expect(cell(page, "1", "replicas")).to_have_text("1 / 1")
    page.get_by_text("Settings").click()
    expect(page.locator("[data-row='cleanup.policy'] [data-cell=value]")).to_have_text("delete")


@pytest.mark.slow
def test_the_tail_shows_filters_and_pauses(shared: BrokerProcess, page: Page) -> None:
    topic = foreign.create_topic(shared.bootstrap)
    foreign.produce(shared.bootstrap, topic, ["old apple", "old pear"])
    page.goto(f"/topics/{topic}")
    expect(page.get_by_text("Nothing is read from this topic")).to_be_visible()
    start_tail(page)
    rows = page.locator(RECORDS)
    expect(rows).to_have_count(2)
    foreign.produce(shared.bootstrap, topic, ["New APPLE"])
    expect(rows.first).to_contain_text("New APPLE")
    page.get_by_label("Filter records by text").fill("apple")
    expect(rows).to_have_count(2)
    expect(page.locator(".k-hit")).to_have_text(["APPLE", "apple"])
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".k-tail[data-state=paused]")).to_be_visible()
    foreign.produce(shared.bootstrap, topic, ["apple while paused"])
    page.get_by_label("Filter records by text").fill("")
    expect(rows).to_have_count(3)
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".k-tail[data-state=live]")).to_be_visible()
    write_until_shown(page, shared.bootstrap, topic, "after the pause")
    assert "while paused" not in page.locator(".k-records").inner_text()


@pytest.mark.slow
def test_a_condition_picks_what_it_is_true_of(shared: BrokerProcess, page: Page) -> None:
    topic = foreign.create_topic(shared.bootstrap)
    ticks = ['{"price": 150}', '{"price": 50}', "no JSON", '{"price": 101}']
    foreign.produce(shared.bootstrap, topic, ticks)
    page.goto(f"/topics/{topic}")
    expect(page.get_by_role("link", name="Fan-out")).to_have_count(0)
    expect(page.get_by_role("link", name="Schemas")).to_have_count(0)
    start_tail(page)
    rows = page.locator(f"{RECORDS} [data-cell=value]")
    expect(rows).to_have_count(4)
    page.get_by_label("Filter records by a condition").fill("value.price > 100")
    expect(rows).to_have_text(['{"price": 101}', '{"price": 150}'])
    foreign.produce(shared.bootstrap, topic, ['{"price": 99}', '{"price": 102}'])
    expect(rows).to_have_text(['{"price": 102}', '{"price": 101}', '{"price": 150}'])
    expect(page.locator("[data-count=seen]")).to_have_text("6 read")
    page.get_by_label("Filter records by text").fill("15")
    expect(rows).to_have_text(['{"price": 150}'])


@pytest.mark.slow
def test_a_record_is_shown_whole_and_never_as_html(shared: BrokerProcess, page: Page) -> None:
    topic = foreign.create_topic(shared.bootstrap)
    producer = Producer({"bootstrap.servers": shared.bootstrap, "log_level": 0})
    producer.produce(topic, '{"a":{"b":[1,2]}}', key="<img src=/nothing>", headers={"h": "v"})
    producer.produce(topic, bytes([0, 255]) + b"bin", key=None)
    producer.flush(foreign.TIMEOUT_S)
    page.goto(f"/topics/{topic}")
    start_tail(page)
    page.locator("[data-record='0:0']").click()
    expect(page.locator("[data-part=value]")).to_have_text(
        '{\n  "a": {\n    "b": [\n      1,\n      2\n    ]\n  }\n}'
    )
    expect(page.locator("[data-part=key]")).to_have_text("<img src=/nothing>")
    expect(page.get_by_text("Header h")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".k-record")).to_have_count(0)
    page.locator("[data-record='0:1']").press("Enter")
    expect(page.locator("[data-part=value]")).to_contain_text("00 ff 62 69 6e")
    expect(page.get_by_text("start the console with --registry URL")).to_be_visible()
    page.get_by_role("button", name="Close").click()


@pytest.mark.slow
def test_a_fast_topic_is_drawn_at_most_ten_times_a_second(
    shared: BrokerProcess, page: Page
) -> None:
    topic = foreign.create_topic(shared.bootstrap, partitions=3)
    page.goto(f"/topics/{topic}")
    start_tail(page)
    write_until_shown(page, shared.bootstrap, topic, "first")
    with steady_load(shared.bootstrap, topic, rate=2000):
        wait_for_text(page, "[data-count=skipped]", r"[1-9][\d,]* skipped")
        drawn, took_s = page.evaluate(
            """async () => {
                const began = performance.now();
                let drawn = 0;
                const observer = new MutationObserver(() => (drawn += 1));
                const what = {attributes: true, childList: true, subtree: true};
                observer.observe(document.querySelector(".k-tail"), what);
                const took = () => (performance.now() - began) / 1000;
                while (took() < 3 || (drawn < 2 && took() < 60)) {
                    await new Promise((done) => setTimeout(done, 100));
                }
                observer.disconnect();
                return [drawn, took()];
            }"""
        )
        # What a busy browser has put off for a second or two is drawn besides.
        assert 1 < drawn <= 10 * (took_s + 2)
    # All of it is read and counted, though more than can be shown.
    written = sum(foreign.watermarks(shared.bootstrap, topic, number)[1] for number in range(3))
    expect(page.locator("[data-count=seen]")).to_have_text(f"{written:,} read")
    assert page.locator(RECORDS).count() <= 500


def test_groups_show_their_lag_live(shared: BrokerProcess, page: Page) -> None:
    topic = foreign.create_topic(shared.bootstrap)
    group = foreign.name("readers/of prices ~ 100%")
    foreign.produce(shared.bootstrap, topic, ["x"] * 10)
    foreign.commit(shared.bootstrap, group, TopicPartition(topic, 0, 4))
    page.goto("/groups")
    wait_for_text(page, f"[data-row='{group}'] [data-cell=lag]", "^6$")
    page.get_by_role("link", name=group).click()
    expect(page.locator("h1")).to_have_text(group)
    expect(page.locator(f"[data-row='{topic}:0'] [data-cell=committed]")).to_have_text("4")
    foreign.produce(shared.bootstrap, topic, ["x"] * 5)
    expect(page.locator("[data-figure=Lag]")).to_have_text("11")
    page.reload()
    expect(page.locator("h1")).to_have_text(group)
    page.get_by_role("link", name=topic).click()
    expect(page.locator(f"[data-row='{group}'] [data-cell=lag]")).to_have_text("11")
    page.go_back()
    expect(page.locator("h1")).to_have_text(group)


@pytest.mark.slow
def test_open_transactions_show_their_age_until_they_end(shared: BrokerProcess, page: Page) -> None:
    topic = foreign.create_topic(shared.bootstrap, partitions=6)
    name, second = foreign.name("copier"), foreign.name("copier")
    page.goto("/transactions")
    expect(page.get_by_text("No transaction is open now.")).to_be_visible()
    with open_transaction(shared.bootstrap, name, topic, range(6), timeout_ms=90_000) as producer:
        wait_for_text(page, f"[data-row={name}] [data-cell=age]", r"^([2-9]|\d\d)s$")
        expect(cell(page, name, "state")).to_have_text("Ongoing")
        expect(cell(page, name, "partitions")).to_have_text(
            f"{', '.join(f'{topic}-{number}' for number in range(4))} and 2 more"
        )
        expect(cell(page, name, "timeout")).to_have_text("1m30s")
        with open_transaction(shared.bootstrap, second, topic):
            expect(page.locator("tbody tr")).to_have_count(2)
            expect(page.locator("tbody tr").first).to_contain_text(name)
            expect(page.locator("[data-figure=Open]")).to_have_text("2")
            wait_for_text(page, "nav a[href='/transactions']", "2")
        producer.commit_transaction(foreign.TIMEOUT_S)
        expect(page.get_by_text("No transaction is open now.")).to_be_visible()
        expect(page.locator("[data-figure=Oldest]")).to_have_text("–")


@pytest.mark.slow
def test_a_cluster_that_tells_of_no_transactions_is_said_to_be_one(
    browser: Browser, tmp_path: Path
) -> None:
    with (
        older_cluster() as bootstrap,
        ConsoleProcess(bootstrap, tmp_path / "console.log") as console,
        watched_page(browser, console.url) as page,
    ):
        page.goto("/transactions")
        expect(page.get_by_text("This cluster does not tell of its transactions")).to_be_visible()
        expect(page.get_by_text("knows no ListTransactions")).to_be_visible()
        expect(page.locator("nav a[href='/transactions']")).to_contain_text("–")
        expect(page.locator(".k-link-state")).to_have_text("Healthy")


@pytest.mark.slow
def test_topics_are_sorted_filtered_and_internal_ones_hidden(
    shared: BrokerProcess, page: Page
) -> None:
    small, large = foreign.name("sorted"), foreign.name("sorted")
    for topic, count in ((small, 1), (large, 9)):
        foreign.create_topic(shared.bootstrap, topic)
        foreign.produce(shared.bootstrap, topic, ["x"] * count)
    foreign.commit(shared.bootstrap, foreign.name("group"), TopicPartition(small, 0, 1))
    page.goto("/topics")
    page.wait_for_selector(f"[data-row={large}]")
    page.keyboard.press("/")
    page.keyboard.type("SORTED-")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    page.get_by_role("button", name="Events").press("Enter")
    expect(rows.first).to_contain_text(large)
    page.get_by_role("button", name="Events").click()
    expect(rows.first).to_contain_text(small)
    page.get_by_label("Filter topics by name").fill("__")
    expect(rows).to_have_count(0)
    page.get_by_label("Internal topics").check()
    expect(page.locator("[data-row=__consumer_offsets]")).to_be_visible()


@pytest.mark.slow
def test_what_is_not_there_says_so_and_appears_when_it_is(
    shared: BrokerProcess, page: Page
) -> None:
    topic = foreign.name("later")
    page.goto(f"/topics/{topic}")
    expect(page.get_by_text(f"There is no topic {topic} now.")).to_be_visible()
    foreign.create_topic(shared.bootstrap, topic)
    expect(page.locator("[data-figure=Partitions]")).to_have_text("1")


@pytest.mark.slow
def test_an_unknown_address_is_not_found_and_shows_the_way(
    browser: Browser, console: ConsoleProcess
) -> None:
    page = browser.new_page()
    response = page.goto(f"{console.url}/nowhere")
    assert response is not None
    assert response.status == 404
    expect(page.get_by_text("There is no such page.")).to_be_visible()
    page.get_by_role("link", name="Groups").click()
    expect(page.locator("h1")).to_have_text("Groups")
    page.close()


@pytest.mark.slow
def test_dark_stays_dark_and_a_phone_needs_no_sideways_scrolling(
    browser: Browser, console: ConsoleProcess, shared: BrokerProcess
) -> None:
    topic = foreign.create_topic(shared.bootstrap)
    with watched_page(browser, console.url, width=390) as phone:
        phone.goto(f"/topics/{topic}")
        expect(phone.locator("[data-figure=Partitions]")).to_have_text("1")
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390
        light = phone.evaluate("getComputedStyle(document.body).backgroundColor")
        phone.get_by_label("Light or dark").click()
        phone.reload()
        expect(phone.locator("html")).to_have_attribute("data-theme", "dark")
        phone.wait_for_function(
            "light => getComputedStyle(document.body).backgroundColor !== light", arg=light
        )
