"""Reading has a share of each turn of the loop, and then waits for the next."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter, sleep
from typing import cast

import pytest
import uvloop

from kafkaesque.broker.turn import Turn


def test_a_turn_is_spent_when_its_share_is_used_up_by_all_together() -> None:
    shared = Turn()
    assert [shared.is_spent(100 + ms / 1000, 100 + (ms + 1) / 1000) for ms in range(8)] == [
        *([False] * 5),
        *([True] * 3),
    ]


def test_the_next_turn_begins_anew_however_long_the_last_one_was() -> None:
    shared = Turn()
    assert shared.is_spent(100, 160)
    shared.next(160.001)
    assert not shared.is_spent(160.001, 160.004)
    assert shared.is_spent(160.004, 160.008)


def test_after_a_pause_it_is_another_turn() -> None:
    shared = Turn()
    assert not shared.is_spent(100, 100.004)
    assert not shared.is_spent(100.007, 100.011)


def test_within_one_read_it_may_be_asked_for_again_and_again() -> None:
    """As long as it takes: a read may hold thousands of requests."""
    shared = Turn()
    shared.is_spent(90, 90.001)
    assert [shared.is_spent(100, 100 + ms / 1000) for ms in (1, 4, 8, 12)] == [
        *([False] * 2),
        *([True] * 2),
    ]


LARGE = 256 * 1024


def test_large_reads_have_a_smaller_share_of_their_own() -> None:
    async def scenario() -> None:
        shared = Turn()
        assert not shared.is_spent(100, 100.0006, LARGE, is_whole=True)
        assert not shared.is_spent(100.0006, 100.002)
        assert shared.is_spent(100.002, 100.0026, LARGE, is_whole=True)
        assert not shared.is_spent(100.0026, 100.003)
        assert shared.is_spent(100.003, 100.0055)

    asyncio.run(scenario())


def test_a_frame_of_which_a_part_has_come_is_read_on() -> None:
    """Until all shares are spent."""

    async def scenario() -> None:
        shared = Turn()
        assert not shared.is_spent(100, 100.002, LARGE, is_whole=False)
        assert shared.is_spent(100.002, 100.0021, LARGE, is_whole=True)
        assert shared.is_spent(100.0021, 100.0055, LARGE, is_whole=False)

    asyncio.run(scenario())


def test_large_reads_that_take_long_each_are_of_one_turn() -> None:
    """The time from one to the next is that of the read, not a pause."""

    async def scenario() -> None:
        shared = Turn()
        for ms in (0, 3):
            assert not shared.is_spent(100 + ms / 1000, 100.0001 + ms / 1000, LARGE, is_whole=False)
        assert shared.is_spent(100.006, 100.0061, LARGE, is_whole=False)
        await asyncio.sleep(0)
        assert not shared.is_spent(100.0062, 100.0069, LARGE, is_whole=True)

    asyncio.run(scenario())


def test_what_began_in_an_earlier_turn_takes_nothing_of_this_one() -> None:
    async def scenario() -> None:
        shared = Turn()
        shared.is_spent(100, 100.0001, LARGE, is_whole=True)
        await asyncio.sleep(0)
        shared.next(100.007)
        assert not shared.is_spent(99, 100.008)

    asyncio.run(scenario())


class Flooded(asyncio.BufferedProtocol):
    """Reads as connection.py does, and is slow about it."""

    def __init__(self, shared: Turn, size: int) -> None:
        self.turn = shared
        self.waits = 0
        self._buffer = memoryview(bytearray(size))
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        began = perf_counter()
        sleep(0.003)
        if self.turn.is_spent(began, perf_counter(), nbytes):
            self.waits += 1
            self._transport.pause_reading()
            asyncio.get_running_loop().call_soon(self._read_on)

    def _read_on(self) -> None:
        self.turn.next(perf_counter())
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        self._transport.abort()


@pytest.mark.parametrize("loop_factory", [asyncio.SelectorEventLoop, uvloop.new_event_loop])
@pytest.mark.parametrize("size", [1 << 10, 1 << 16])
def test_a_flood_is_read_a_share_at_a_time_on_a_real_loop(
    loop_factory: Callable[[], asyncio.AbstractEventLoop], size: int
) -> None:
    async def scenario() -> None:
        shared, loop = Turn(), asyncio.get_running_loop()
        flooded: list[Flooded] = []

        def flood(theirs: socket.socket) -> None:
            with theirs, suppress(OSError):
                while True:
                    theirs.sendall(bytes(1 << 16))

        floods = []
        for _ in range(2):
            ours, theirs = socket.socketpair()
            theirs.settimeout(60)
            protocol = Flooded(shared, size)
            await loop.create_connection(lambda p=protocol: p, sock=ours)  # type: ignore[misc]
            flooded.append(protocol)
            floods.append(asyncio.create_task(asyncio.to_thread(flood, theirs)))
        try:
            async with asyncio.timeout(60):
                while sum(each.waits for each in flooded) < 10:
                    await asyncio.sleep(0)
        finally:
            for each in flooded:
                each.close()
            await asyncio.gather(*floods)

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(scenario())
