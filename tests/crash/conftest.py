"""What the power-cut tests listen to."""

import logging
from collections.abc import Iterator

import pytest
from tests.crash.power import Overheard


@pytest.fixture
def overheard(caplog: pytest.LogCaptureFixture) -> Iterator[Overheard]:
    caplog.set_level(logging.ERROR, logger="kafkaesque")
    logger, handler = logging.getLogger("kafkaesque"), Overheard()
    logger.addHandler(handler)
    logger.propagate = False
    yield handler
    logger.propagate = True
    logger.removeHandler(handler)
