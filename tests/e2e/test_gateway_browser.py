"""The gateway in a real browser: a plain `EventSource` receives and comes back; /docs is a page."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests import foreign
from tests.broker_process import BrokerProcess, free_port
from tests.console_page import open_browser, watched_page
from tests.gateway_process import GatewayProcess

pytestmark = pytest.mark.slow

LISTEN = """topic => {
    window.found = [];
    window.source = new EventSource(`/topics/${topic}/events?from=earliest`);
    window.source.onmessage = message =>
        window.found.push([JSON.parse(message.data).value, message.lastEventId]);
}"""


def test_an_event_source_receives_and_resumes_after_a_restart(tmp_path: Path) -> None:
    port = free_port()
    log = tmp_path / "log"
    with open_browser() as browser, BrokerProcess(tmp_path / "data") as broker:
        topic = foreign.create_topic(broker.bootstrap, partitions=2)
        foreign.produce(broker.bootstrap, topic, ["a"], 0)
        gateway = GatewayProcess(broker.bootstrap, log, port=port)
        # While the gateway is away the browser complains: it is not watched here.
        page = browser.new_page()
        page.goto(f"{gateway.url}/docs")
        page.evaluate(LISTEN, topic)
        page.wait_for_function("window.found.length === 1")
        assert gateway.stop() == 0
        foreign.produce(broker.bootstrap, topic, ["b"], 1)
        with GatewayProcess(broker.bootstrap, log, port=port):
            page.wait_for_function("window.found.length === 2")
            foreign.produce(broker.bootstrap, topic, ["c"], 0)
            page.wait_for_function("window.found.length === 3")
            found = page.evaluate("window.found")
            assert found == [["a", "0:1,1:0"], ["b", "0:1,1:1"], ["c", "0:2,1:1"]]
            assert page.evaluate("window.source.readyState") == 1
            with watched_page(browser, gateway.url) as docs:
                docs.goto("/docs")
                expect(docs.get_by_role("heading", name="Groups", exact=True)).to_be_visible()
                docs.locator("summary").first.click()
                expect(docs.get_by_text("Kafkaesque-Key-Base64", exact=True)).to_be_visible()
