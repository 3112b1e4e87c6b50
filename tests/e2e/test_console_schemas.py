"""The console's schemas in a real Chromium: the list, a subject, and records that are decoded."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from playwright.sync_api import Browser, Locator, Page, expect
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.console_page import RECORDS, start_tail, watched_page
from tests.console_process import ConsoleProcess
from tests.registry_process import RegistryProcess

from kafkaesque.client.registry import RegistryClient

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.console_fixtures"]

TICK = {
    "type": "record",
    "name": "Tick",
    "fields": [{"name": "ticker", "type": "string"}, {"name": "price", "type": "double"}],
}


@pytest.fixture(scope="module")
def registry(shared: BrokerProcess) -> Iterator[RegistryProcess]:
    log_path = shared.data_dir.with_name("registry.log")
    with RegistryProcess(shared.bootstrap, log_path) as process:
        yield process


@pytest.fixture(scope="module")
def theirs(registry: RegistryProcess) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry.url}) as client:
        yield client


@pytest.fixture(scope="module")
def ours(registry: RegistryProcess) -> Iterator[RegistryClient]:
    with RegistryClient(registry.url) as client:
        yield client


@pytest.fixture(scope="module")
def console_args(registry: RegistryProcess) -> tuple[str, ...]:
    return ("--registry", registry.url)


def tick(*more: object) -> str:
    return json.dumps(TICK | {"fields": [*TICK["fields"], *more]})


def volume(**more: object) -> dict[str, object]:
    return {"name": "volume", "type": "long", **more}


def subject_of_two(theirs: SchemaRegistryClient) -> str:
    subject = foreign.name("ticks") + "-value"
    for text in (tick(), tick(volume(default=0))):
        theirs.register_schema(subject, Schema(text, "AVRO"))
    return subject


def form(page: Page, name: str) -> Locator:
    return page.get_by_role("form", name=name)


def test_subjects_are_listed_and_one_is_registered_from_the_page(
    theirs: SchemaRegistryClient, page: Page
) -> None:
    subject, new = subject_of_two(theirs), foreign.name("orders") + "-value"
    page.goto("/")
    page.get_by_role("link", name="Schemas", exact=True).click()
    row = page.locator(f"[data-row='{subject}']")
    expect(row.locator("[data-cell=type]")).to_have_text("Avro")
    expect(row.locator("[data-cell=versions]")).to_have_text("2")
    expect(row.locator("[data-cell=compatibility]")).to_have_text("BACKWARD")
    page.get_by_label("Filter subjects by name").fill("nothing-so")
    expect(page.get_by_text("No subject matches.")).to_be_visible()

    page.get_by_text("Register a schema").click()
    fields = form(page, "New subject")
    expect(fields.get_by_role("button", name="Register")).to_be_disabled()
    fields.get_by_label("Subject").fill(new)
    fields.get_by_label("Text of the schema").fill('{"type": "recor"}')
    fields.get_by_role("button", name="Register").click()
    expect(fields.get_by_role("alert")).to_contain_text("Invalid schema")
    fields.get_by_label("Text of the schema").fill(tick())
    fields.get_by_role("button", name="Register").click()
    page.wait_for_url(f"**/schemas/{new}")
    expect(page.locator("h1")).to_have_text(new)
    assert json.loads(str(theirs.get_latest_version(new).schema.schema_str)) == TICK


def test_a_subject_shows_its_versions_and_what_has_changed(
    theirs: SchemaRegistryClient, page: Page
) -> None:
    subject = subject_of_two(theirs)
    page.goto(f"/schemas/{subject}")
    expect(page.locator("[data-figure=Versions]")).to_have_text("2")
    text = page.locator("[data-part=schema]")
    expect(text).to_have_text(json.dumps(json.loads(tick(volume(default=0))), indent=2))
    page.get_by_label("Version", exact=True).select_option("1")
    expect(text).to_have_text(json.dumps(TICK, indent=2))
    expect(page.locator("[data-change]")).to_have_text(["+ volume long = 0"])
    expect(page.locator("[data-verdict=backward]")).to_contain_text("can read what")
    page.get_by_label("From version").select_option("2")
    expect(page.get_by_text("These are the same.")).to_be_visible()
    page.get_by_label("to version", exact=True).select_option("1")
    expect(page.locator("[data-change=removed]")).to_contain_text("volume")


def test_a_next_version_is_checked_with_reasons_and_registered(
    theirs: SchemaRegistryClient, page: Page
) -> None:
    subject = subject_of_two(theirs)
    page.goto(f"/schemas/{subject}")
    fields = form(page, "New version")
    box = fields.get_by_label("Text of the schema")
    expect(box).to_have_value(json.dumps(json.loads(tick(volume(default=0))), indent=2))
    box.fill(tick({"name": "venue", "type": "string"}))
    fields.get_by_role("button", name="Check").click()
    expect(fields.get_by_role("alert")).to_contain_text('field "venue" of Tick is new')
    fields.get_by_role("button", name="Register").click()
    expect(fields.get_by_role("alert")).to_contain_text("incompatible")
    box.fill(tick({"name": "venue", "type": "string", "default": "?"}))
    fields.get_by_role("button", name="Check").click()
    expect(fields.get_by_role("status")).to_contain_text("may be the next version")
    fields.get_by_role("button", name="Register").click()
    expect(fields.get_by_role("status")).to_contain_text("Registered: it is version 3")
    expect(page.locator("[data-figure=Versions]")).to_have_text("3")
    expect(page.locator("[data-change=added]")).to_contain_text('venue string = "?"')
    assert theirs.get_versions(subject) == [1, 2, 3]


def test_the_level_is_changed_and_the_subject_deleted_after_a_yes(
    ours: RegistryClient, theirs: SchemaRegistryClient, page: Page
) -> None:
    subject = subject_of_two(theirs)
    page.goto(f"/schemas/{subject}")
    level = page.get_by_label("Compatibility")
    expect(level).to_have_value("global")
    level.select_option("FULL")
    foreign.until(lambda: ours.config(subject)["compatibilityLevel"] == "FULL")
    level.select_option("global")
    foreign.until(lambda: ours.config(subject)["compatibilityLevel"] == "BACKWARD")
    ours.set_mode(subject, "READONLY")
    level.select_option("NONE")
    expect(page.get_by_role("alert").filter(has_text="read-only")).to_be_visible()
    expect(level).to_have_value("global")
    page.get_by_role("button", name="Delete the subject").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="read-only")).to_be_visible()
    ours.set_mode(subject, "READWRITE")
    page.get_by_role("button", name="Delete the subject").click()
    page.get_by_role("button", name="Keep it").click()
    assert theirs.get_versions(subject) == [1, 2]
    page.get_by_role("button", name="Delete the subject").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.wait_for_url("**/schemas")
    assert subject not in theirs.get_subjects()
    page.goto(f"/schemas/{subject}")
    expect(page.get_by_text(f"There is no subject {subject} now.")).to_be_visible()


def write_ticks(
    bootstrap: str, theirs: SchemaRegistryClient, topic: str, prices: list[float]
) -> int:
    """With Confluent's serializer: the schema's id."""
    serializer = AvroSerializer(theirs, tick())
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    context = SerializationContext(topic, MessageField.VALUE)
    for price in prices:
        value = serializer({"ticker": "AMZN", "price": price}, context)
        producer.produce(topic, value, key="AMZN")
    producer.flush(foreign.TIMEOUT_S)
    return int(theirs.get_latest_version(f"{topic}-value").schema_id or 0)


def test_records_are_shown_and_filtered_decoded_and_their_bytes_can_be_seen(
    shared: BrokerProcess, theirs: SchemaRegistryClient, page: Page
) -> None:
    topic = foreign.create_topic(shared.bootstrap)
    number = write_ticks(shared.bootstrap, theirs, topic, [50.0, 150.0, 101.5])
    foreign.produce(shared.bootstrap, topic, ["plain"])
    page.goto(f"/topics/{topic}")
    subjects = page.locator(f"[data-row='{topic}-value']")
    expect(subjects.locator("[data-cell=type]")).to_have_text("Avro")
    start_tail(page)
    values = page.locator(f"{RECORDS} [data-cell=value]")
    expect(values).to_have_count(4)
    expect(values.first).to_have_text("plain")
    expect(values.last).to_have_text('{"ticker": "AMZN", "price": 50.0}')
    expect(values.last).to_have_attribute("title", f"Avro · schema {number}")
    page.get_by_label("Filter records by a condition").fill("value.price > 100")
    expect(values).to_have_count(2)
    write_ticks(shared.bootstrap, theirs, topic, [99.0, 200.25])
    expect(values).to_have_count(3)
    page.get_by_label("Filter records by text").fill("200.25")
    expect(values).to_have_text(['{"ticker": "AMZN", "price": 200.25}'])
    values.first.click()
    expect(page.get_by_text(f"Value · Avro · schema {number}")).to_be_visible()
    expect(page.locator("[data-part=value]")).to_contain_text('"price": 200.25')
    page.get_by_text("bytes", exact=False).last.click()
    expect(page.locator("[data-part=raw-value]")).to_contain_text("00000000  00 00 00")
    page.get_by_role("button", name="Close").click()
    subjects.get_by_role("link").click()
    page.wait_for_url(f"**/schemas/{topic}-value")


def test_a_registry_that_is_away_is_told_of_and_records_are_their_bytes(
    browser: Browser, shared: BrokerProcess, theirs: SchemaRegistryClient, tmp_path: Path
) -> None:
    topic = foreign.create_topic(shared.bootstrap)
    write_ticks(shared.bootstrap, theirs, topic, [1.0])
    away = ("--registry", "http://127.0.0.1:1")
    with (
        ConsoleProcess(shared.bootstrap, tmp_path / "console.log", *away) as console,
        watched_page(browser, console.url) as page,
    ):
        page.goto(f"/topics/{topic}")
        start_tail(page)
        expect(page.locator(f"{RECORDS} [data-cell=value]")).to_contain_text("0x 00 00")
        expect(page.locator(".k-note")).to_contain_text("no schema registry answers")
        page.get_by_role("link", name="Schemas", exact=True).click()
        expect(page.get_by_role("alert").filter(has_text="no schema registry")).to_be_visible()
        assert console.log == ""
