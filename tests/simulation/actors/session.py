"""Fetch sessions (KIP-227): consumers that read in one of their own, and others who know its
number.
"""

from dataclasses import dataclass, replace

from tests.simulation.actors.actor import Actor
from tests.simulation.actors.consumer import Consumer, fetch_request
from tests.simulation.model.records import Key
from tests.simulation.plan import Step

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.fetch import FetchRequest, PartitionData

_VERSION = 16
_FINAL_EPOCH = -1


@dataclass(frozen=True, slots=True)
class FetchSession:
    """What its owner knows: number 0 is none, and asks for one."""

    id: int = 0
    epoch: int = 0


class SessionConsumer(Consumer):
    async def live(self, steps: list[Step]) -> None:
        self._go_on_with(FetchSession())  # The broker's memory is gone.
        await super().live(steps)

    async def fetch_in_session(self, topic: str, index: int) -> None:
        """Add a partition to the session, or say how far it is read, and take what has come."""
        place = self.partition(topic, index)
        if place is None:
            return
        session = self.world.fetch_sessions[self.name]
        positions = {place: self._positions.setdefault((place, 0), 0)}
        request = replace(
            fetch_request(positions, isolation=0, wait_ms=0),
            session_id=session.id,
            session_epoch=session.epoch,
        )
        answer = await self.ask(request, _VERSION)
        code = self.code(answer.error_code)
        if code is not ErrorCode.NONE:
            self.world.fail(f"{self.name} has lost its fetch session {session}: {code.name}")
            return
        next_epoch = session.epoch + 1 if answer.session_id else 0
        self._go_on_with(FetchSession(answer.session_id, next_epoch))
        for response in answer.responses:
            for found in response.partitions:
                await self._take((response.topic_id, found.partition_index), found)

    async def _take(self, place: Key, found: PartitionData) -> None:
        code, topic = self.code(found.error_code), self.topic_name(place)
        if code is ErrorCode.NONE:
            self._read(topic, place, 0, found)
        elif code is ErrorCode.OFFSET_OUT_OF_RANGE:
            await self._seek(topic, place, 0)
        else:
            # Leave it out of the next session.
            session = self.world.fetch_sessions[self.name]
            self._go_on_with(FetchSession(session.id))

    def _go_on_with(self, session: FetchSession) -> None:
        self.world.fetch_sessions[self.name] = session


class Intruder(Actor):
    """Another client, which has guessed the number."""

    async def use_session(self, owner: str) -> None:
        session = self.world.fetch_sessions.get(owner, FetchSession())
        if session.epoch > 0 and await self._ask_with(session) is ErrorCode.NONE:
            self.world.fail(f"{self.name} is let into the fetch session of {owner}")

    async def end_session(self, owner: str) -> None:
        session = self.world.fetch_sessions.get(owner, FetchSession())
        if session.id:
            await self._ask_with(replace(session, epoch=_FINAL_EPOCH))

    async def _ask_with(self, session: FetchSession) -> ErrorCode:
        request = FetchRequest(session_id=session.id, session_epoch=session.epoch)
        code = self.code((await self.ask(request, _VERSION)).error_code)
        self.note(f"fetch with {session}: {code.name}")
        return code
