"""Consumers of this process in the broker's own groups: join, share out, read on, leave.

They are members like any other: Kafka clients may be in the same group, tools show them, offsets
are committed under the group's name. They speak to the coordinator directly, and when one comes or
goes the others are told at once instead of by their next heartbeat.

`next` hands an event out and commits what its consumer was given before: by coming back, it says
that it is done with that. So after a crash each consumer's last event comes again, and nothing is
lost. Where nothing is committed, a group begins at the earliest event.
Above: group.py. Below: member.py, each of them. All of it runs on the broker's loop.
"""

import asyncio
from collections.abc import Hashable

from kafkaesque.embedded.member import HEARTBEAT_SECONDS, HOST, Member, assigned, not_in
from kafkaesque.embedded.node import Node
from kafkaesque.event import Event
from kafkaesque.groups.events import Leave, Leaving
from kafkaesque.types import TopicPartition


class Members:
    """The consumers of one group that live here."""

    def __init__(self, node: Node, group: str, topics: frozenset[str] | None) -> None:
        self._node = node
        self._group = group
        self.topics = topics
        self._members: dict[Hashable, Member] = {}
        self._changing = asyncio.Lock()

    async def join(self, consumer: Hashable) -> list[TopicPartition]:
        async with self._changing:
            if consumer not in self._members:
                newcomer = Member(self._node, self._group, str(consumer), self.topics)
                await newcomer.knock()
                # Not before: a member that asks again while nobody has come is told to stay.
                self._tell_others()
                await newcomer.settled()
                self._members[consumer] = newcomer
            await self._settle()
            return sorted(self._members[consumer].partitions)

    async def leave(self, consumer: Hashable) -> None:
        async with self._changing:
            leaver = self._named(consumer)
            del self._members[consumer]
            await leaver.leave()
            self._tell_others()
            await self._settle()

    async def next(self, consumer: Hashable, timeout_s: float) -> Event | None:
        """The consumer's next event; None if none comes in time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while True:
            async with self._changing:
                member = self._named(consumer)
                self._look_for_partitions()
                event = await member.next()
            remaining = deadline - loop.time()
            if event is not None or remaining <= 0:
                return event
            await member.wait_for_more(min(remaining, HEARTBEAT_SECONDS))

    async def assignment(self) -> dict[Hashable, list[TopicPartition]]:
        """Consumer → partitions; members of other processes go by their member ids."""
        async with self._changing:
            await self._settle()
            here = {m.member_id: consumer for consumer, m in self._members.items()}
            found: dict[Hashable, list[TopicPartition]] = {
                consumer: sorted(member.partitions) for consumer, member in self._members.items()
            }
            group = self._node.broker.coordinator.table.group(self._group)
            for member in group.describe().members if group else ():
                if member.member_id not in here:
                    found[member.member_id] = assigned(member.assignment)
            return found

    async def close(self) -> None:
        """All of them leave."""
        leaving = list(self._members.values())
        self._members.clear()
        for member in leaving:
            await member.leave()

    def _tell_others(self) -> None:
        for member in self._members.values():
            member.rejoin()

    def _look_for_partitions(self) -> None:
        if any(member.sees_new_partitions() for member in self._members.values()):
            self._tell_others()

    async def _settle(self) -> None:
        self._look_for_partitions()
        await asyncio.gather(*(member.settled() for member in self._members.values()))

    def _named(self, consumer: Hashable) -> Member:
        if consumer not in self._members:
            raise not_in(self._group, consumer)
        return self._members[consumer]


async def bury_members(node: Node) -> None:
    """Those of a process that crashed cannot come back: nobody need wait until they are missed."""
    coordinator = node.broker.coordinator
    for name, group in tuple(coordinator.table.groups.items()):
        dead = [m.member_id for m in group.describe().members if m.client_host == HOST]
        if dead:
            reply = coordinator.future()
            coordinator.ask(name, Leave(reply, tuple(map(Leaving, dead))))
            await reply
