"""`Kafka`: the broker that the fixtures give a test. A `Kafkaesque` with `faults`.

Above: plugin.py and tests. Below: embedded/kafkaesque.py, faulty_apis.py.
"""

from collections.abc import Mapping
from os import PathLike

from kafkaesque.embedded.kafkaesque import Kafkaesque
from kafkaesque.testing.faults import Faults
from kafkaesque.testing.faulty_apis import faulty_apis


class Kafka(Kafkaesque):
    """A broker for tests, in memory unless a directory is given.

    `faults` befall what clients ask over the wire; what is called on this object always works.
    """

    def __init__(
        self,
        directory: str | PathLike[str] | None = None,
        *,
        partitions: int = 1,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.faults = Faults()
        apis = faulty_apis(self.faults)
        super().__init__(directory, partitions=partitions, settings=settings, apis=apis)

    def close(self) -> None:
        # Stopping waits for answers that are due: those held back are due now.
        self.faults.clear()
        super().close()
