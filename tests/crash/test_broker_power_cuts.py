"""A thousand power cuts of a whole broker under load: what was acknowledged or seen is there.

A world is a disk that lives through ten cuts: each time the broker comes back over something that
the disk may then hold, everything is looked at, and the load goes on until the next cut. One world
alone: pytest "tests/crash/test_broker_power_cuts.py::test_ten_power_cuts_break_no_promise[17]".
The seed decides the load and the cuts; threads still interleave as they like.
"""

import asyncio
import logging
import random
import threading
import time
from collections.abc import Coroutine, Iterator

import pytest
from tests.crash.forgetting import ForgettingFiles, PowerCut
from tests.crash.power import Disk, Machine, Overheard
from tests.crash.power_clients import EXPIRING, PowerClient
from tests.crash.power_look import RefusedError, look
from tests.crash.promises import Promises

WORLDS = 100
CUTS = 10
_CLIENTS = 3
_OPERATIONS = 25
_LONGEST_LIVES = (30, 150, 500, 1000)
_CLEAN_STOPS = 0.3
_SLOW_SYNCS = 0.1
_SLOW_SYNC_SECONDS = 0.003
_LIFE_SECONDS = 20
_LAST_WORDS_SECONDS = 0.002
_SIGNS_OF_A_CUT = (asyncio.CancelledError, ConnectionError, RefusedError)


@pytest.fixture
def overheard(caplog: pytest.LogCaptureFixture) -> Iterator[Overheard]:
    caplog.set_level(logging.ERROR, logger="kafkaesque")
    logger, handler = logging.getLogger("kafkaesque"), Overheard()
    logger.addHandler(handler)
    logger.propagate = False
    yield handler
    logger.propagate = True
    logger.removeHandler(handler)


@pytest.mark.parametrize("seed", range(WORLDS))
def test_ten_power_cuts_break_no_promise(seed: int, overheard: Overheard) -> None:
    asyncio.run(World(seed).run(CUTS))
    assert overheard.bugs == []


@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_many_more_power_cuts_break_no_promise(overheard: Overheard) -> None:
    for seed in range(1000, 2000):
        asyncio.run(World(seed).run(CUTS))
        assert overheard.bugs == [], f"seed {seed}"


class World:
    """One disk, its clients, and what they were promised."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._rng = random.Random(seed)
        self._promises = Promises({f"{EXPIRING}-{number}" for number in range(_CLIENTS)})
        self._disk = ForgettingFiles()
        self._clients = [
            PowerClient(number, self._promises, random.Random(seed * 10 + number))
            for number in range(_CLIENTS)
        ]

    async def run(self, cuts: int) -> None:
        for number in range(cuts):
            await self._life(number, self._rng.choice(_LONGEST_LIVES))
        await self._life(cuts, None)

    async def _life(self, number: int, longest: int | None) -> None:
        """From the start of the broker to a power cut; None: it is left alone, and looked at."""
        cut_at = None if longest is None else self._rng.randint(1, longest)
        machine = Machine(Disk(self._disk, cut_at, self._rng), self._dawdle)
        try:
            async with asyncio.timeout(_LIFE_SECONDS):
                await machine.start()
                await self._until_dark(machine, self._judge(machine, number))
                if longest is not None:
                    machine.begin_regular_work()
                    await self._until_dark(machine, self._load(machine))
                    if self._rng.random() < _CLEAN_STOPS:
                        await self._until_dark(machine, machine.stop_cleanly())
        except PowerCut:
            pass
        finally:
            await machine.end()
        assert not machine.complaints, f"seed {self._seed}, life {number}: {machine.complaints}"
        assert machine.disk.survivor is not None
        self._disk = machine.disk.survivor

    def _dawdle(self, operation: str, *what: object) -> None:
        """Some syncs take long, so that what must not happen meanwhile has time to."""
        in_a_thread = threading.current_thread() is not threading.main_thread()
        if operation == "sync" and in_a_thread and random.random() < _SLOW_SYNCS:
            time.sleep(_SLOW_SYNC_SECONDS)

    async def _judge(self, machine: Machine, number: int) -> None:
        client = await machine.connect()
        try:
            found = await look(client, [client.group for client in self._clients])
        finally:
            client.close()
        problems = self._promises.broken(found)
        told = [f"seed {self._seed}, life {number}:", *problems, "", *self._promises.stories()]
        assert not problems, "\n".join(told)
        self._promises.settle(found)

    async def _load(self, machine: Machine) -> None:
        await asyncio.gather(*(client.live(machine, _OPERATIONS) for client in self._clients))

    async def _until_dark(self, machine: Machine, work: Coroutine[None, None, None]) -> None:
        """Raises PowerCut if the work did not come to its end."""
        task = asyncio.create_task(work)
        dark = asyncio.create_task(machine.darkness.wait())
        await asyncio.wait({task, dark}, return_when=asyncio.FIRST_COMPLETED)
        # Answers that were under way when the power went still count.
        await asyncio.wait({task}, timeout=_LAST_WORDS_SECONDS)
        dark.cancel()
        task.cancel()
        (failure,) = await asyncio.gather(task, return_exceptions=True)
        if machine.is_dark and isinstance(failure, (*_SIGNS_OF_A_CUT, type(None))):
            raise PowerCut
        if failure is not None:
            raise failure
