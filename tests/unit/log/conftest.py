"""A log on each kind of store: on a disk and in memory it must behave the same."""

from collections.abc import Callable

import pytest
from tests.unit.log.logs import new_disk, open_log

from kafkaesque.log.log import Log, LogConfig
from kafkaesque.log.memory import MemorySegments

NewLog = Callable[[LogConfig], Log]


@pytest.fixture(params=["disk", "memory"])
def new_log(request: pytest.FixtureRequest) -> NewLog:
    def create(config: LogConfig) -> Log:
        if request.param == "memory":
            return Log.open(MemorySegments(), config)
        return open_log(new_disk(), config)

    return create
