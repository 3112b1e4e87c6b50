"""examples/stocks: the course's programs for JSON and Avro; what one library writes, both read."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.registry_process import RegistryProcess

pytestmark = pytest.mark.slow

STOCKS = Path(__file__).parents[2] / "examples" / "stocks"
LIBRARIES = ("with_confluent", "with_kafkaesque")
TICKERS = {"AAPL", "AMZN", "GOOG", "MSFT"}


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """What the programs are told: brokers and registry."""
    place = tmp_path_factory.mktemp("stocks")
    with (
        BrokerProcess(place / "data") as broker,
        RegistryProcess(broker.bootstrap, place / "registry.log") as registry,
    ):
        yield [broker.bootstrap, registry.url]


def lines_of(program: str, arguments: list[str], count: int) -> list[str]:
    """The first lines that it prints; its user then ends it with Ctrl-C."""
    process = subprocess.Popen(
        [sys.executable, str(STOCKS / program), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(count)]
        process.send_signal(2)
        rest, _ = process.communicate(timeout=60)
        assert process.returncode == 0, rest
    finally:
        process.kill()
        process.communicate()
    return lines


@pytest.mark.parametrize("form", ["json", "avro"])
def test_what_either_library_publishes_both_consume(addresses: list[str], form: str) -> None:
    published = [
        line
        for library in LIBRARIES
        for line in lines_of(f"{library}/{form}_produce.py", addresses, 1)
    ]
    assert [line for line in published if not line.startswith("published ")] == []
    seen = [sorted(lines_of(f"{library}/{form}_consume.py", addresses, 2)) for library in LIBRARIES]
    assert seen[0] == seen[1]
    for line in seen[0]:
        _moment, ticker, price, *_place = line.split()
        assert ticker in TICKERS
        assert 1 <= float(price) <= 100


def test_the_avro_topic_has_schemas_that_read_each_other(addresses: list[str]) -> None:
    subject = f"{addresses[1]}/subjects/stock_avro_topic-value/versions"
    with urllib.request.urlopen(f"{subject}/latest") as answer:
        latest = json.loads(json.loads(answer.read())["schema"])
    assert [field["name"] for field in latest["fields"]] == ["event_time", "ticker", "price"]
