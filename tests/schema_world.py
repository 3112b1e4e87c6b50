"""A broker and a registry for the tests of one module."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.broker_process import BrokerProcess
from tests.foreign import create_topic
from tests.registry_process import RegistryProcess


class SchemaWorld(NamedTuple):
    bootstrap: str
    url: str

    def topic(self, partitions: int = 1) -> str:
        return create_topic(self.bootstrap, partitions=partitions)


@contextmanager
def schema_world(directory: Path) -> Iterator[SchemaWorld]:
    with (
        BrokerProcess(directory / "data") as broker,
        RegistryProcess(broker.bootstrap, directory / "registry.log") as registry,
    ):
        yield SchemaWorld(broker.bootstrap, registry.url)
