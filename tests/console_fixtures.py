"""What the tests of the console share: a browser, a broker, the console before it, and a page.

    pytest_plugins = ["tests.console_fixtures"]

in a test module gives it these; all but the page live as long as the module. A module that starts
its console with more overrides `console_args`, and one that has a broker of its own `shared`.
They are loaded as a plugin, and not imported, so that pytest shows what an assertion here compared.
Below: console_page.py, console_process.py.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from tests.broker_process import BrokerProcess
from tests.console_page import open_browser, watched_page
from tests.console_process import ConsoleProcess
from tests.in_process import InProcessBroker


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One broker for all tests of a module; each test uses topics and groups of its own."""
    with BrokerProcess(tmp_path_factory.mktemp("shared") / "data") as process:
        yield process


@pytest.fixture(scope="module")
def console_args() -> tuple[str, ...]:
    return ()


@pytest.fixture(scope="module")
def console(
    shared: BrokerProcess | InProcessBroker,
    console_args: tuple[str, ...],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ConsoleProcess]:
    """It may not complain of anything."""
    log_path = tmp_path_factory.mktemp("console") / "console.log"
    with ConsoleProcess(shared.bootstrap, log_path, *console_args) as process:
        yield process
        assert process.log == ""


@pytest.fixture
def page(browser: Browser, console: ConsoleProcess) -> Iterator[Page]:
    with watched_page(browser, console.url) as opened:
        yield opened
