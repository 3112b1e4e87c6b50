"""Another broker in the same process, in memory, as if on a loop in a thread of its own.

A thread may run at any moment, also between the two halves of a read: when the bytes lie in the
buffer, and the protocol has not been told of them. There the neighbour's own reads happen.
"""

import asyncio
from typing import TYPE_CHECKING

from tests.simulation.actors.actor import Actor
from tests.simulation.disk import GreenletDisk
from tests.simulation.network import Network

from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.broker.server import Server
from kafkaesque.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

if TYPE_CHECKING:
    from tests.simulation.world import World


class Neighbour(Actor):
    def __init__(self, world: "World") -> None:
        super().__init__("neighbour", world)
        self._network = Network("neighbour")

    async def live_beside(self) -> None:
        """Ask that broker the same thing again and again, until the life ends."""
        loop = self.world.loop
        config = BrokerConfig((Listener("127.0.0.1", 9093),), None)
        server = Server(config, self.world.clock, new_disk=self._new_disk)
        with loop.listening_on(self._network):
            await server.start()
        self._network.is_held = True
        self.world.network.meanwhile = self._network.read_held
        client = self._network.connect("neighbour", self.name)
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name="nobody-has-this")], allow_auto_topic_creation=False
        )
        while not self.world.is_stopping:
            await self.ask_over(client, request, 12)
            await asyncio.sleep(0.02)

    def _new_disk(self, loop: asyncio.AbstractEventLoop) -> GreenletDisk:
        return GreenletDisk(loop, lambda: self.world.files.is_off)
