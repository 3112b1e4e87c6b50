"""A disk that lives through power cuts, life after life; what is done in a life is a subclass's.

In each life the broker starts over what the disk may then hold, `judge` looks at everything, and
`load` goes on until the power is cut at some file operation. The last life is left alone.
Above: test_broker_power_cuts.py, test_torn_transactions.py. Below: power.py.
"""

import asyncio
import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine

from tests.crash.forgetting import ForgettingFiles, PowerCut
from tests.crash.power import Disk, Machine
from tests.crash.power_look import RefusedError

_LONGEST_LIVES = (30, 150, 500, 1000)
_CLEAN_STOPS = 0.3
_SLOW_SYNCS = 0.1
_SLOW_SYNC_SECONDS = 0.003
_LIFE_SECONDS = 20
_LAST_WORDS_SECONDS = 0.002
_SIGNS_OF_A_CUT = (asyncio.CancelledError, ConnectionError, RefusedError)


class PowerWorld(ABC):
    """One disk, and the seed that decides about loads and cuts."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self._disk = ForgettingFiles()

    @abstractmethod
    async def judge(self, machine: Machine, life: int) -> None:
        """Hold what is found against what was promised. Raises AssertionError."""

    @abstractmethod
    async def load(self, machine: Machine) -> None:
        """What clients do until the power goes."""

    async def run(self, cuts: int) -> None:
        for number in range(cuts):
            await self._life(number, self.rng.choice(_LONGEST_LIVES))
        await self._life(cuts, None)

    async def _life(self, number: int, longest: int | None) -> None:
        """From the start of the broker to a power cut; None: it is left alone, and looked at."""
        cut_at = None if longest is None else self.rng.randint(1, longest)
        machine = Machine(Disk(self._disk, cut_at, self.rng), self._dawdle)
        try:
            async with asyncio.timeout(_LIFE_SECONDS):
                await machine.start()
                await self._until_dark(machine, self.judge(machine, number))
                if longest is not None:
                    machine.begin_regular_work()
                    await self._until_dark(machine, self.load(machine))
                    if self.rng.random() < _CLEAN_STOPS:
                        await self._until_dark(machine, machine.stop_cleanly())
        except PowerCut:
            pass
        finally:
            await machine.end()
        assert not machine.complaints, f"seed {self.seed}, life {number}: {machine.complaints}"
        assert machine.disk.survivor is not None
        self._disk = machine.disk.survivor

    def _dawdle(self, operation: str, *what: object) -> None:
        """Some syncs take long, so that what must not happen meanwhile has time to."""
        in_a_thread = threading.current_thread() is not threading.main_thread()
        if operation == "sync" and in_a_thread and random.random() < _SLOW_SYNCS:
            time.sleep(_SLOW_SYNC_SECONDS)

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
