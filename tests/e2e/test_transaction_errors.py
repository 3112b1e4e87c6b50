"""Each mistake of a transactional producer gets the protocol's own error: the whole table."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.broker_process import BrokerProcess
from tests.e2e.transaction_errors import (
    FOREIGN_ROWS,
    ROWS,
    SETTINGS,
    ForeignRow,
    Row,
    answer,
    new_topic,
)

pytestmark = pytest.mark.slow


class Place(NamedTuple):
    bootstrap: str
    topic: str


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    flags = [word for setting in SETTINGS.items() for word in ("--set", "=".join(setting))]
    with BrokerProcess(_data(tmp_path_factory), *flags) as broker:
        yield Place(broker.bootstrap, new_topic(broker.bootstrap))
        assert "Traceback" not in broker.log


def _data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("errors") / "data"


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_mistake_gets_its_own_error(place: Place, row: Row) -> None:
    assert answer(*place, row).name == row.error.name


@pytest.mark.parametrize("row", FOREIGN_ROWS, ids=lambda row: row.what)
def test_a_foreign_client_understands_the_error(place: Place, row: ForeignRow) -> None:
    assert row.run(*place) == row.error
