"""A thousand power cuts of a whole broker under load: what was acknowledged or seen is there.

A world is a disk that lives through ten cuts: each time the broker comes back over something that
the disk may then hold, everything is looked at, and the load goes on until the next cut. One world
alone: pytest "tests/crash/test_broker_power_cuts.py::test_ten_power_cuts_break_no_promise[17]".
The seed decides the load and the cuts; threads still interleave as they like.
"""

import asyncio
import random

import pytest
from tests.crash.power import Machine, Overheard
from tests.crash.power_clients import EXPIRING, PowerClient
from tests.crash.power_look import look
from tests.crash.power_world import PowerWorld
from tests.crash.promises import Promises
from tests.tiers import few

WORLDS = 100
CUTS = 10
_CLIENTS = 3
_OPERATIONS = 25


@pytest.mark.parametrize("seed", few(range(WORLDS), 8))
def test_ten_power_cuts_break_no_promise(seed: int, overheard: Overheard) -> None:
    asyncio.run(World(seed).run(CUTS))
    assert overheard.bugs == []


@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_many_more_power_cuts_break_no_promise(overheard: Overheard) -> None:
    for seed in range(1000, 2000):
        asyncio.run(World(seed).run(CUTS))
        assert overheard.bugs == [], f"seed {seed}"


class World(PowerWorld):
    """One disk, its clients, and what they were promised."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._promises = Promises({f"{EXPIRING}-{number}" for number in range(_CLIENTS)})
        self._clients = [
            PowerClient(number, self._promises, random.Random(seed * 10 + number))
            for number in range(_CLIENTS)
        ]

    async def judge(self, machine: Machine, life: int) -> None:
        client = await machine.connect()
        try:
            found = await look(client, [client.group for client in self._clients])
        finally:
            client.close()
        problems = self._promises.broken(found)
        told = [f"seed {self.seed}, life {life}:", *problems, "", *self._promises.stories()]
        assert not problems, "\n".join(told)
        self._promises.settle(found)

    async def load(self, machine: Machine) -> None:
        await asyncio.gather(*(client.live(machine, _OPERATIONS) for client in self._clients))
