"""Power cuts in the middle of transactions: each is whole or not there, and what was said holds.

One world alone: pytest "tests/crash/test_torn_transactions.py" -k "torn[7]".
"""

import asyncio
import random

import pytest
from tests.crash.power import Machine, Overheard
from tests.crash.power_world import PowerWorld
from tests.crash.transaction_power import TransactionalClient
from tests.tiers import few

WORLDS = 30
CUTS = 10
_CLIENTS = 3
_TRANSACTIONS = 12


@pytest.mark.parametrize("seed", few(range(WORLDS), 4))
def test_no_transaction_is_torn(seed: int, overheard: Overheard) -> None:
    asyncio.run(World(seed).run(CUTS))
    assert overheard.bugs == []


@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_no_transaction_is_torn_in_many_more_worlds(overheard: Overheard) -> None:
    for seed in range(1000, 1300):
        asyncio.run(World(seed).run(CUTS))
        assert overheard.bugs == [], f"seed {seed}"


class World(PowerWorld):
    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._clients = [
            TransactionalClient(number, random.Random(seed * 10 + number))
            for number in range(_CLIENTS)
        ]

    async def judge(self, machine: Machine, life: int) -> None:
        problems = []
        for client in self._clients:
            connection = await machine.connect()
            try:
                problems += await client.problems(connection)
            finally:
                connection.close()
        if not machine.is_dark:
            assert not problems, "\n".join([f"seed {self.seed}, life {life}:", *problems])

    async def load(self, machine: Machine) -> None:
        await asyncio.gather(*(client.live(machine, _TRANSACTIONS) for client in self._clients))
