"""An App in a thread of the test process, and what its partitions say."""

from contextlib import ExitStack

from tests import foreign

from kafkaesque.client.app import App, PartitionStatus


class RunningApp:
    """Use it in a `with`; what `app.run` raises is raised at the end."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._stack = ExitStack()

    def status(self, topic: str, partition: int = 0) -> PartitionStatus:
        """Waits until the app has the partition."""
        found: list[PartitionStatus] = []

        def is_there() -> bool:
            found[:] = [
                it for it in self.app.status if (it.topic, it.partition) == (topic, partition)
            ]
            return bool(found)

        foreign.until(is_there)
        return found[0]

    def __enter__(self) -> "RunningApp":
        self._stack.enter_context(self.app.running())
        return self

    def __exit__(self, *_raised: object) -> None:
        self._stack.close()
