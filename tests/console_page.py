"""The browser that a user looks at the console with, and what one does there again and again.

`open_browser` is a real Chromium; where none can be had the test is skipped, loudly.
`watched_page` is a tab in which nothing may go wrong: an error in the browser's console, an
exception or a failed request fails the test.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from scripts.browser import NoBrowserError, chromium
from tests import foreign

RECORDS = ".k-records tbody tr"
TIMEOUT_MS = 60_000
expect.set_options(timeout=TIMEOUT_MS)


@contextmanager
def open_browser() -> Iterator[Browser]:
    try:
        path = chromium()
    except NoBrowserError as error:
        pytest.skip(f"THE CONSOLE IS NOT TESTED: {error}")
    with sync_playwright() as playwright:
        # A container's root has no use of Chromium's sandbox, and often no right to it.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def watched_page(browser: Browser, url: str, width: int = 1280) -> Iterator[Page]:
    wrongs: list[str] = []
    page = browser.new_page(viewport={"width": width, "height": 800}, base_url=url)
    page.set_default_timeout(TIMEOUT_MS)
    page.on(
        "console",
        lambda said: wrongs.append(said.text) if said.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: wrongs.append(str(error)))
    page.on("requestfailed", lambda request: wrongs.append(f"{request.url} {request.failure}"))
    page.on(
        "response",
        lambda got: wrongs.append(f"{got.status} {got.url}") if got.status >= 400 else None,
    )
    yield page
    page.close()
    assert wrongs == []


def start_tail(page: Page) -> None:
    page.locator(".k-tail").get_by_role("button", name="Start").click()
    expect(page.locator(".k-tail[data-state=live]")).to_be_visible()


def wait_for_text(page: Page, selector: str, pattern: str) -> None:
    page.wait_for_function(
        "([selector, pattern]) => new RegExp(pattern).test("
        "document.querySelector(selector)?.innerText ?? '')",
        arg=[selector, pattern],
    )


def write_until_shown(page: Page, bootstrap: str, topic: str, value: str) -> None:
    """A tail from now on says only afterwards when now was."""

    def shown() -> bool:
        foreign.produce(bootstrap, topic, [value])
        page.wait_for_timeout(200)
        return page.locator(RECORDS).filter(has_text=value).count() > 0

    foreign.until(shown)
