"""A broker in a thread of this process, for tests that bring its clock or its files.

To clients it is a broker like any other. See broker_process.py for one that can be killed.
"""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.broker.server import wall_clock
from kafkaesque.embedded.thread import BrokerThread
from kafkaesque.log.files import Files
from kafkaesque.types import Clock


class InProcessBroker(BrokerThread):
    """Starts on a free port; use it in a `with`."""

    def __init__(
        self,
        data_dir: Path | None,
        settings: Mapping[str, str] | None = None,
        *,
        clock: Clock = wall_clock,
        files: Files | None = None,
    ) -> None:
        config = BrokerConfig.of([Listener("127.0.0.1", 0)], data_dir, settings or {})
        super().__init__(config, clock=clock, files=files)

    @property
    def bootstrap(self) -> str:
        return self.bootstrap_servers

    def __enter__(self) -> "InProcessBroker":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
