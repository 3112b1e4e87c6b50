"""The pytest plugin: `kafka`, a fresh broker for each test, and `kafka_session`, one for all.

Broker settings come from the ini option `kafka_settings` and, for `kafka`, from the marker
`@pytest.mark.kafka(settings={…}, directory=True)`, which wins.

pytest loads this in every run of an environment that has us in it, so nothing of the broker is
imported before a fixture is used. Below: kafka.py.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kafkaesque.testing.kafka import Kafka

_SETTINGS = "kafka_settings"
_MARKER = "kafka"
_MARKER_OPTIONS = {"settings", "directory"}


def pytest_addoption(parser: pytest.Parser) -> None:
    help_text = "settings of the brokers that the Kafka fixtures start, name=value on each line"
    parser.addini(_SETTINGS, help_text, type="linelist", default=[])


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(settings={{}}, directory=False): broker settings of the fixture `kafka`, and "
        "whether it keeps its data in files under tmp_path.",
    )


@pytest.fixture
def kafka(request: pytest.FixtureRequest) -> Iterator["Kafka"]:
    """A fresh Kafka broker in memory: `kafka.bootstrap_servers`, `kafka.put`, `kafka.faults`, …"""
    from kafkaesque.testing.kafka import Kafka

    settings, directory = _ini_settings(request.config), None
    for marker in reversed(list(request.node.iter_markers(_MARKER))):
        options = _marker_options(marker)
        settings |= _texts(options.get("settings", {}))
        if options.get("directory"):
            directory = _directory(request)
    with Kafka(directory, settings=settings) as broker:
        yield broker


@pytest.fixture(scope="session")
def kafka_session(request: pytest.FixtureRequest) -> Iterator["Kafka"]:
    """A Kafka broker in memory that all tests of the run share: give topics names of their own."""
    from kafkaesque.testing.kafka import Kafka

    with Kafka(settings=_ini_settings(request.config)) as broker:
        yield broker


def _ini_settings(config: pytest.Config) -> dict[str, str]:
    lines: list[str] = config.getini(_SETTINGS)
    settings = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if not equals:
            raise pytest.UsageError(f"{_SETTINGS}: {line!r} is not a setting; write name=value")
        settings[name.strip()] = value.strip()
    return settings


def _marker_options(marker: pytest.Mark) -> Mapping[str, Any]:
    unknown = sorted(set(marker.kwargs) - _MARKER_OPTIONS)
    if marker.args or unknown:
        what = ", ".join([*map(repr, marker.args), *unknown])
        known = " and ".join(sorted(_MARKER_OPTIONS))
        raise pytest.UsageError(f"@pytest.mark.{_MARKER} takes {known} by name, not {what}")
    return marker.kwargs


def _texts(settings: Mapping[str, object]) -> dict[str, str]:
    """Settings as Kafka writes them: numbers may be given as such, and so may true and false."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in settings.items()
    }


def _directory(request: pytest.FixtureRequest) -> Path:
    tmp_path: Path = request.getfixturevalue("tmp_path")
    return tmp_path / "kafka"
