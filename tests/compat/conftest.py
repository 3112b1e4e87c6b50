"""Fixtures of the compatibility tests, and the table that ends their run.

In `make compat` a skip counts as a failure: a client that is not there proves nothing. Every test
with a `client` and a `cell` parameter becomes one cell of the table that is printed at the end.
"""

from collections.abc import Generator, Iterator

import pytest
from tests.compat.apache_kafka import ApacheKafka
from tests.compat.drivers import ForeignClient
from tests.compat.peer import Peer, running_peer
from tests.compat.table import Table

TABLE = pytest.StashKey[Table]()


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    """One broker for all tests of a module; each test uses topics and groups of its own."""
    with running_peer(tmp_path_factory.mktemp("peer") / "data") as running:
        yield running


@pytest.fixture(scope="session")
def apache_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """Apache Kafka itself, for what of ours is to run against any cluster; topics as above."""
    running = ApacheKafka(tmp_path_factory.mktemp("apache") / "data")
    running.start()
    yield running
    running.stop()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TABLE] = Table()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and item.get_closest_marker("compat"):
        report.outcome = "failed"
        report.longrepr = f"a skip counts as a failure in `make compat`: {report.longrepr}"
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    client, cell = parameters.get("client"), parameters.get("cell")
    if isinstance(client, ForeignClient) and isinstance(cell, str):
        item.config.stash[TABLE].note(client.name, cell, passed=report.passed)
    return report


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    lines = config.stash[TABLE].lines()
    if lines:
        terminalreporter.section("client × what it must do")
    for line in lines:
        terminalreporter.write_line(line)
