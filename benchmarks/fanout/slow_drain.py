"""drain.c in Python, on uvloop, for machines without a C compiler: same arguments, same answers.

It costs the client's side several times as much. Above: drainer.py.
"""

import asyncio
import json
import struct
import sys
import time
from array import array
from collections import Counter, deque
from pathlib import Path
from typing import NamedTuple, cast

import uvloop
from benchmarks.fanout.clients import Step
from benchmarks.fanout.load import MARK

RECORD = len(MARK) + 32
IN_FLIGHT = 128
LAST_LOOK_S = 0.05


class Told(NamedTuple):
    number: int
    steps: deque[Step]


class Tally:
    """What all connections got; `finished` of them have the last round."""

    def __init__(self, first: int, last: int) -> None:
        self.first = first
        self.last = last
        self.counts: Counter[str] = Counter()
        self.samples = array("I")
        self.finished = 0

    def record(self, client: "Client", text: bytes, now_ns: int) -> None:
        sent_ns, number, round_number = int(text[:16], 16), int(text[16:24], 16), int(text[24:], 16)
        if number != client.number:
            self.counts["strays"] += 1
        elif self.first <= round_number <= self.last:
            if round_number < client.next:
                self.counts["duplicates"] += 1
                return
            self.counts["missing"] += round_number - client.next
            client.next = round_number + 1
            self.counts["messages"] += 1
            self.samples.extend((round_number, max(0, now_ns - sent_ns) // 1000))
            self.finished += round_number == self.last


class Client(asyncio.Protocol):
    def __init__(self, told: Told, tally: Tally) -> None:
        self.number = told.number
        self.next = tally.first
        self.through = asyncio.get_running_loop().create_future()
        self._steps = told.steps
        self._tally = tally
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses of asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        self._send()

    def _send(self) -> None:
        """As far as the script does not wait for an answer."""
        while self._steps:
            if self._steps[0].send:
                self._transport.write(self._steps[0].send)
            if self._steps[0].until:
                return
            self._steps.popleft()
        self.through.set_result(None)

    def data_received(self, data: bytes) -> None:
        now_ns = time.monotonic_ns()
        data = self._rest + data
        while self._steps:
            _, found, rest = data.partition(self._steps[0].until)
            if not found:
                self._rest = data
                return
            data = rest
            self._steps.popleft()
            self._send()
        at = data.find(MARK)
        while at >= 0 and len(data) - at >= RECORD:
            self._tally.record(self, data[at + len(MARK) : at + RECORD], now_ns)
            at = data.find(MARK, at + RECORD)
        # A mark may be cut in two anywhere.
        self._rest = data[at:] if at >= 0 else data[1 - len(MARK) :]

    def connection_lost(self, error: Exception | None) -> None:
        self._tally.counts["closed"] += 1
        if not self.through.done():
            self.through.set_exception(ConnectionError("closed in its greeting"))


def read_script(data: bytes) -> list[Told]:
    at = 0

    def word() -> int:
        nonlocal at
        at += 4
        value: int = struct.unpack_from("=I", data, at - 4)[0]
        return value

    def text() -> bytes:
        nonlocal at
        size = word()
        at += size
        return data[at - size : at]

    told = []
    for _ in range(word()):
        number, count = word(), word()
        told.append(Told(number, deque(Step(text(), text()) for _ in range(count))))
    return told


async def main(script: str, port: str, first: str, last: str, samples: str) -> None:
    loop, tally, clients = asyncio.get_running_loop(), Tally(int(first), int(last)), []
    hung_up = loop.run_in_executor(None, sys.stdin.read)
    places = asyncio.Semaphore(IN_FLIGHT)

    async def connect(told: Told) -> None:
        async with places:
            _, client = await loop.create_connection(
                lambda: Client(told, tally), "127.0.0.1", int(port)
            )
            await client.through
            clients.append(client)

    async with asyncio.TaskGroup() as group:
        for told in read_script(Path(script).read_bytes()):
            group.create_task(connect(told))
    print("ready", flush=True)
    while tally.finished < len(clients) and not hung_up.done():
        await asyncio.sleep(LAST_LOOK_S)
    await asyncio.sleep(LAST_LOOK_S)
    names = ("messages", "duplicates", "missing", "strays", "closed")
    tally.counts["missing"] += sum(tally.last + 1 - client.next for client in clients)
    Path(samples).write_bytes(tally.samples.tobytes())
    answer = {"connections": len(clients), **{name: tally.counts[name] for name in names}}
    print(json.dumps({**answer, "cpu_s": time.process_time()}), flush=True)


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
