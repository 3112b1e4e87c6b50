"""Power cuts of a broker whose clients are in the midst of transactions: each is whole or not at
all afterwards, and what was told or seen stays.

A world is a disk that lives through several cuts, with clients that come back in each life under
their old transactional ids, and readers that read everything again and then go on. The history of
all lives is judged in the end. One world alone: pytest
"tests/crash/test_transaction_power_cuts.py::test_power_cuts_tear_no_transaction[2]".
"""

import asyncio
import random
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from typing import TypeVar

import pytest
from tests.crash.committed_reader import CommittedReader
from tests.crash.forgetting import ForgettingFiles, PowerCut
from tests.crash.history import Look, Phase, Read
from tests.crash.list_append import list_append_anomalies
from tests.crash.power import Disk, Machine
from tests.crash.queue_checker import queue_anomalies
from tests.crash.raw_clients import RawInstance
from tests.crash.transaction_clients import Arena
from tests.tiers import few
from tests.wire.client import AsyncClient
from tests.wire.requests import create_topic
from tests.wire.transactional import NEW, OLD, RawProducer, patiently

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.create_topics import CreateTopicsResponse
from kafkaesque.transactions.transaction import Transaction

R = TypeVar("R")

CUTS = 6
KEYS = 3
CLIENTS = 3
_LIFE_SECONDS = 30
_LONGEST_LIVES = (50, 300, 1000, 3000)
_TRANSACTIONS = 30
_COMMITS = 0.75
_SLOW_SYNCS = 0.2
_SLOW_SYNC_SECONDS = 0.003


@pytest.mark.parametrize("seed", few(range(12), 3))
def test_power_cuts_tear_no_transaction(seed: int) -> None:
    asyncio.run(World(seed).run(CUTS))


@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_many_more_power_cuts_tear_no_transaction() -> None:
    _run_worlds(range(1000, 1500))


@pytest.mark.slow
def test_a_coordinator_that_does_not_wait_for_the_disk_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = Transaction.store
    monkeypatch.setattr(Transaction, "store", lambda self, durable: store(self, durable=False))
    with pytest.raises(AssertionError, match=r"Kind\.(TORN|LOST|ABORTED)"):
        _run_worlds(range(200))


def _run_worlds(seeds: Iterable[int]) -> None:
    for seed in seeds:
        asyncio.run(World(seed).run(CUTS))


class Bridge:
    """A connection of the loop, called from another thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, connection: AsyncClient) -> None:
        self._loop = loop
        self._connection = connection

    def call(self, request: object, response: type[R], version: int) -> R:
        asked = self._connection.call(request, response, version)
        return asyncio.run_coroutine_threadsafe(asked, self._loop).result(_LIFE_SECONDS)


Job = Callable[[Bridge, threading.Event], None]
"""Something that a client does over a connection of its own, until it is told to stop."""


class World:
    """One disk, and the history of all that happens on it."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._rng = random.Random(seed)
        self._disk = ForgettingFiles()
        self._arena = Arena("", "topic", KEYS)

    async def run(self, cuts: int) -> None:
        await self._live(None, [self._create])
        for number in range(cuts):
            clients = [self._producer(client, number) for client in range(CLIENTS)]
            await self._live(self._rng.choice(_LONGEST_LIVES), clients, self._reader(number))
        await self._live(None, [self._look])
        history = self._arena.recorder.events
        anomalies = queue_anomalies(history) + list_append_anomalies(history)
        assert not anomalies, f"seed {self._seed}: {anomalies[:5]}"

    async def _live(
        self, longest: int | None, jobs: Sequence[Job], onlooker: Job | None = None
    ) -> None:
        """From a start to a power cut, or, without `longest`, to the end of all jobs."""
        cut_at = None if longest is None else self._rng.randint(1, longest)
        machine = Machine(Disk(self._disk, cut_at, self._rng), _dawdle)
        life = Life(machine)
        try:
            async with asyncio.timeout(_LIFE_SECONDS):
                await machine.start()
                machine.begin_regular_work()
                await life.run(jobs, onlooker)
        except PowerCut:
            pass
        finally:
            await machine.end()
            await life.end()
        problems = [*machine.complaints, *life.failures]
        assert not problems, f"seed {self._seed}: {problems}"
        assert machine.disk.survivor is not None
        self._disk = machine.disk.survivor

    def _create(self, bridge: Bridge, stop: threading.Event) -> None:
        answer = bridge.call(create_topic(self._arena.topic, KEYS), CreateTopicsResponse, 7)
        assert answer.topics[0].error_code == ErrorCode.NONE

    def _producer(self, client: int, life: int) -> Job:
        rng = random.Random((self._seed * 1000 + life) * CLIENTS + client)
        versions = (OLD, NEW)[(client + life) % 2]

        def transact(bridge: Bridge, stop: threading.Event) -> None:
            producer = RawProducer(bridge, _name(client), versions)
            instance = RawInstance(self._arena, f"{_name(client)} in life {life}", producer)
            instance.open()
            for _ in range(_TRANSACTIONS):
                number = self._arena.number()
                accepted = instance.append(number, self._arena.values(number, rng))
                instance.end(number, commit=accepted and rng.random() < _COMMITS)

        return transact

    def _reader(self, life: int) -> Job:
        def read(bridge: Bridge, stop: threading.Event) -> None:
            readers = {key: CommittedReader(bridge, self._arena.topic, key) for key in range(KEYS)}
            while not stop.is_set():
                for key, reader in readers.items():
                    seen = Read(key, reader.read())
                    self._arena.recorder.note(f"reader in life {life}", Phase.OK, seen)

        return read

    def _look(self, bridge: Bridge, stop: threading.Event) -> None:
        """The last: what is open is ended first, so that everything is stable."""
        for client in range(CLIENTS):
            assert patiently(RawProducer(bridge, _name(client)).init) is ErrorCode.NONE
        logs = {}
        for key in range(KEYS):
            reader = CommittedReader(bridge, self._arena.topic, key)
            logs[key] = reader.read_to_the_end()
            assert reader.position == reader.high_watermark, f"key {key} is not stable"
        self._arena.recorder.note("the last look", Phase.OK, Look(logs))


class Life:
    """The threads of the clients of one machine."""

    def __init__(self, machine: Machine) -> None:
        self.failures: list[str] = []
        self._machine = machine
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._connections: list[AsyncClient] = []

    async def run(self, jobs: Sequence[Job], onlooker: Job | None) -> None:
        """Until all jobs are done, or the power is cut."""
        busy = [await self._begin(job) for job in jobs]
        if onlooker is not None:
            await self._begin(onlooker)
        while not self._machine.is_dark and any(thread.is_alive() for thread in busy):
            await asyncio.sleep(0.001)

    async def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            await asyncio.to_thread(thread.join)
        for connection in self._connections:
            connection.close()

    async def _begin(self, job: Job) -> threading.Thread:
        connection = await self._machine.connect()
        self._connections.append(connection)
        bridge = Bridge(asyncio.get_running_loop(), connection)
        thread = threading.Thread(target=self._do, args=(job, bridge))
        self._threads.append(thread)
        thread.start()
        return thread

    def _do(self, job: Job, bridge: Bridge) -> None:
        try:
            job(bridge, self._stop)
        except (OSError, CancelledError) as end:
            if not self._machine.is_dark:
                self.failures.append(f"{end!r} while the power was on")
        except Exception as failure:
            self.failures.append("".join(traceback.format_exception(failure)))


def _dawdle(operation: str, *what: object) -> None:
    """Some syncs take long, so that what must not happen meanwhile has time to."""
    in_a_thread = threading.current_thread() is not threading.main_thread()
    if operation == "sync" and in_a_thread and random.random() < _SLOW_SYNCS:
        time.sleep(_SLOW_SYNC_SECONDS)


def _name(client: int) -> str:
    return f"client-{client}"
