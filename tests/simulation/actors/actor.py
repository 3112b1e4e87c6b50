"""What all actors share: a connection, a patience, and the books of the model."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from tests.simulation.model.records import Key
from tests.simulation.network import Client
from tests.simulation.plan import Step

from kafkaesque.errors import ErrorCode

if TYPE_CHECKING:
    from tests.simulation.world import World

PATIENCE_SECONDS = 40.0
"""Longer than any request may take on the slowest disk of a plan."""


class Actor:
    def __init__(self, name: str, world: "World") -> None:
        self.name = name
        self.world = world
        self._client: Client | None = None
        self._connections = 0

    async def live(self, steps: list[Step]) -> None:
        """Do the steps, until none is left or the life of the broker ends."""
        self._client = None
        loop = asyncio.get_running_loop()
        while steps:
            if (wait := steps[0].at - loop.time()) > 0:
                await asyncio.sleep(wait)
            step = steps.pop(0)
            action: Callable[..., Awaitable[None]] = getattr(self, step.action)
            try:
                await action(*step.args)
            except ConnectionError:
                await asyncio.sleep(0.1)

    def note(self, what: str) -> None:
        self.world.history.note(self.name, what)

    def connect(self) -> Client:
        self._connections += 1
        return self.world.network.connect(f"{self.name} {self._connections}", self.name)

    async def ask(self, request: object, version: int, patience: float = PATIENCE_SECONDS) -> Any:
        if self._client is None or self._client.is_lost:
            self._client = self.connect()
        return await self.ask_over(self._client, request, version, patience)

    async def ask_over(
        self, client: Client, request: object, version: int, patience: float = PATIENCE_SECONDS
    ) -> Any:
        """The answer, within a bounded time, or a connection that the broker had to close."""
        what = type(request).__name__.removesuffix("Request")
        late = f"{self.name}: {what} is not answered after {patience} s"
        loop = asyncio.get_running_loop()
        watchdog = loop.call_later(patience, self.world.fail, late)
        try:
            return await client.send(request, version)
        except ConnectionError:
            if not (self.world.is_stopping or client.may_be_closed):
                self.world.fail(f"{self.name}: {what} is answered by closing the connection")
            raise
        finally:
            watchdog.cancel()

    def code(self, number: int) -> ErrorCode:
        """What is refused is refused by the protocol's own error."""
        code = ErrorCode(number)
        if code is ErrorCode.UNKNOWN_SERVER_ERROR:
            self.world.fail(f"{self.name} is told UNKNOWN_SERVER_ERROR")
        return code

    def partition(self, topic: str, index: int) -> Key | None:
        """A partition of a topic that is there, as far as anybody knows."""
        state = self.world.topics.certain().get(topic)
        if state is None or state.id is None:
            return None
        return state.id, index % state.partitions

    def topic_name(self, key: Key) -> str:
        names = {state.id: name for name, state in self.world.topics.certain().items()}
        return names.get(key[0], str(key[0])[:8])
