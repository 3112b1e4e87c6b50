"""The console on Apache Kafka itself: the same page, the same tail, with nothing of ours behind."""

from collections.abc import Iterator

import pytest
from confluent_kafka import TopicPartition
from playwright.sync_api import Page, expect
from tests import foreign
from tests.compat.apache_kafka import ApacheKafka
from tests.console_page import open_browser, wait_for_text, watched_page
from tests.console_process import ConsoleProcess
from tests.open_transaction import open_transaction

pytestmark = pytest.mark.compat


@pytest.fixture(scope="module")
def page(apache_kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    log_path = tmp_path_factory.mktemp("console") / "console.log"
    with (
        open_browser() as browser,
        ConsoleProcess(apache_kafka.bootstrap, log_path) as console,
        watched_page(browser, console.url) as opened,
    ):
        yield opened
        assert console.log == ""


def test_topics_have_counts_sizes_and_rates(apache_kafka: ApacheKafka, page: Page) -> None:
    topic = foreign.create_topic(apache_kafka.bootstrap, partitions=3)
    foreign.produce(apache_kafka.bootstrap, topic, ["x" * 500] * 4)
    page.goto("/topics")
    expect(page.locator(".k-link-state")).to_have_text("Healthy")
    row = page.locator(f"[data-row={topic}]")
    expect(row.locator("[data-cell=partitions]")).to_have_text("3")
    expect(row.locator("[data-cell=events]")).to_have_text("4")
    expect(row.locator("[data-cell=size]")).to_contain_text("KB")
    expect(row.locator("[data-cell=rate]")).to_contain_text("/s")


def test_a_topic_opens_and_its_tail_runs(apache_kafka: ApacheKafka, page: Page) -> None:
    topic = foreign.create_topic(apache_kafka.bootstrap)
    foreign.produce(apache_kafka.bootstrap, topic, ["one", "two"])
    page.goto(f"/topics/{topic}")
    page.locator(".k-tail").get_by_role("button", name="Start").click()
    rows = page.locator(".k-records tbody tr")
    expect(rows).to_have_count(2)
    foreign.produce(apache_kafka.bootstrap, topic, ["three"])
    expect(rows.first).to_contain_text("three")
    page.get_by_text("Settings").click()
    expect(page.locator("[data-row='cleanup.policy'] [data-cell=value]")).to_have_text("delete")


def test_groups_show_members_and_lag(apache_kafka: ApacheKafka, page: Page) -> None:
    topic = foreign.create_topic(apache_kafka.bootstrap)
    foreign.produce(apache_kafka.bootstrap, topic, ["x"] * 6)
    group = foreign.name("group")
    reader = foreign.consumer(apache_kafka.bootstrap, group)
    try:
        reader.subscribe([topic])
        message = reader.poll(foreign.TIMEOUT_S)
        assert message is not None
        reader.commit(offsets=[TopicPartition(topic, 0, 2)], asynchronous=False)
        page.goto("/groups")
        row = page.locator(f"[data-row={group}]")
        expect(row.locator("[data-cell=lag]")).to_have_text("4")
        expect(row.locator("[data-cell=state]")).to_have_text("Stable")
        page.get_by_role("link", name=group).click()
        expect(page.locator("[data-figure=Members]")).to_have_text("1")
    finally:
        reader.close()


def test_open_transactions_show_their_age(apache_kafka: ApacheKafka, page: Page) -> None:
    topic = foreign.create_topic(apache_kafka.bootstrap)
    name = foreign.name("copier")
    with open_transaction(apache_kafka.bootstrap, name, topic) as producer:
        page.goto("/transactions")
        row = page.locator(f"[data-row={name}]")
        expect(row.locator("[data-cell=partitions]")).to_have_text(f"{topic}-0")
        wait_for_text(page, f"[data-row={name}] [data-cell=age]", r"^\d+s$")
        producer.commit_transaction(foreign.TIMEOUT_S)
        expect(row).to_have_count(0)
