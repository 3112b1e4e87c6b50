"""examples/fanout as its README runs it: a page in a browser, and a thousand subscriptions."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.broker_process import BrokerProcess
from tests.console_page import open_browser, wait_for_text, watched_page
from tests.fanout_process import FanoutProcess
from tests.foreign import TIMEOUT_S

pytestmark = pytest.mark.slow

FEED = Path(__file__).parents[2] / "examples" / "fanout" / "feed.py"


@contextmanager
def feed(bootstrap: str) -> Iterator[str]:
    """The address of its page."""
    command = [sys.executable, str(FEED), "--brokers", bootstrap, "--port", "0", "--rate", "0.5"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line.startswith("1000 prices")
            yield line.partition("look at ")[2].partition(";")[0]
        finally:
            process.terminate()
            process.wait(TIMEOUT_S)


def test_a_thousand_cells_are_live(broker: BrokerProcess, tmp_path: Path) -> None:
    log_path = tmp_path / "fanout.log"
    with (
        feed(broker.bootstrap) as url,
        FanoutProcess(broker.bootstrap, log_path, "--origin", url) as fanout,
        open_browser() as browser,
        watched_page(browser, url) as page,
    ):
        page.goto(f"/?gateway={fanout.url}")
        wait_for_text(page, "#subscriptions", "^1000$")
        cells = page.locator(".cell")
        expect(cells).to_have_count(1000)
        expect(page.locator(".cell.up, .cell.down").nth(800)).to_be_visible()
        assert page.inner_text("#missed") == "0"
        cells.nth(7).click()
        wait_for_text(page, "#subscriptions", "^999$")
        cells.nth(7).click()
        wait_for_text(page, "#subscriptions", "^1000$")


def test_a_page_that_is_not_let_in_says_how(broker: BrokerProcess, tmp_path: Path) -> None:
    with (
        feed(broker.bootstrap) as url,
        FanoutProcess(broker.bootstrap, tmp_path / "fanout.log") as fanout,
        open_browser() as browser,
    ):
        page = browser.new_page()
        page.goto(f"{url}/?gateway={fanout.url}")
        expect(page.locator("#state")).to_contain_text(f"kafkaesque fanout --origin {url}")
        page.close()
