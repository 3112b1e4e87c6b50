"""What a handler knows of the request beside the request itself."""

from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from kafkaesque.broker.config import NODE_ID, Listener
from kafkaesque.broker.long_requests import Room
from kafkaesque.protocol.header import RequestHeader

if TYPE_CHECKING:
    from kafkaesque.broker.broker import Broker

T = TypeVar("T")

_LITTLE_BYTES = 64 * 1024
_MUCH_BYTES = 1024 * 1024


@dataclass(slots=True)
class Context:
    """One request's surroundings."""

    broker: "Broker"
    listener: Listener
    header: RequestHeader
    client_host: str
    connection: int = 0
    """Grows with every connection that is accepted."""
    ends_with_connection: bool = False
    """It changes nothing: when its client has gone, nobody needs the answer. A handler that is
    about to change something takes it back.
    """
    size: int = 0
    """Of the request, in bytes."""
    waits: bool = False
    """Set by a handler: it only waits for others, and holds next to nothing."""
    room: Room | None = None
    """What a long request may hold."""
    alone: bool = False
    """Set by a handler: what follows on the connection begins only when this is answered."""
    held_bytes: int = 0
    """What it has read, or answers, beside its room, until its answer is encoded."""
    looked_at_bytes: int = 0
    """Of the batches that it brought, those whose records were looked at while the loop waited."""

    def only_waits(self) -> None:
        """From here on, until it is answered, for as long as others take."""
        self.waits = True
        if self.room is not None:
            self.room.resize(0)
            self.room.rest()

    def polls(self, end: Callable[[], None]) -> None:
        """From here on it waits for what may never come. `end` has it answered."""
        if self.room is not None:
            self.room.rest(end)

    def goes_on(self) -> None:
        """What it polled for is there, or it is to end."""
        if self.room is not None:
            self.room.go_on()

    async def with_room(
        self, items: Iterable[T], size_of: Callable[[T], int], built: list[Any]
    ) -> AsyncIterator[T]:
        """What an answer is made of, paced. Before the answer comes to more than a little, there is
        room for all of it (answer_size.py).

        To wait for room may take seconds, in which the items become others. So what has been built
        is thrown away before, and begun anew after that. One that goes between two slices is for
        the caller to leave out. For an answer that stays small the items are gone through once.
        """
        size = 0
        async for item in self.broker.slices.paced(list(items)):
            size += size_of(item)
            if size <= _LITTLE_BYTES:
                yield item
        if size > _LITTLE_BYTES:
            built.clear()
            await self.take_room(size)
            async for item in self.broker.slices.paced(list(items)):
                yield item

    async def take_room_for(self, items: Iterable[T], size_of: Callable[[T], int]) -> None:
        """The same, where what is answered is what was asked for."""
        size = 0
        async for item in self.broker.slices.paced(items):
            size += size_of(item)
        await self.take_room(size)

    async def take_room(self, size: int) -> None:
        """Before an answer is built: wait until so much may be held, until it is encoded. What is
        not much waits for nobody, but is counted, unless many others hold as much.
        """
        if size <= _LITTLE_BYTES:
            return
        if size <= _MUCH_BYTES and self.broker.budget.has_quarter_for(size):
            self.hold(size)
        elif self.room is None:
            self.room = await self.broker.long_requests.enter(size)
        else:
            await self.room.enlarge(size)

    def hold(self, size: int) -> None:
        self.held_bytes += size
        self.broker.budget.used += size

    def give_back(self) -> None:
        """All that it holds."""
        held, self.held_bytes = self.held_bytes, 0
        self.broker.budget.give_back(held)
        if self.room is not None:
            self.room.leave()

    @property
    def version(self) -> int:
        return self.header.api_version

    @property
    def advertised(self) -> tuple[int, str, int]:
        """(node id, host, port) that this client is told to come back to."""
        host = self.listener.advertised_host or self.listener.host
        return NODE_ID, host, self.listener.advertised_port or self.listener.port
