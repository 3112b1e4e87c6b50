"""`python -m benchmarks.request_costs`: what the worst requests of each API cost.

For each API and each array that its request has, of 1 KB and of 1 MB: the longest time that a
callback of the loop took, in milliseconds of CPU, the most bytes that were in flight meanwhile, and
the p99 of a good client beside it, a Produce of 100 bytes, as a ratio to its p99 alone.
"""

import asyncio
from time import perf_counter

from benchmarks.micro.connection_cases import _require
from tests.request_costs import KB, SIZES, crowded_frame, crowded_requests, measure, world
from tests.unit.broker.connections import Client
from tests.wire.requests import batch, produce

from kafkaesque.broker.apis import APIS
from kafkaesque.broker.broker import Broker

_BESIDE = 3
_ALONE = 300


async def good_client(broker: Broker, until: asyncio.Event) -> list[float]:
    """Seconds from being due to being answered, again and again."""
    client = Client(broker)
    request = produce("0", 0, batch([bytes(100)]))
    taken = []
    while not until.is_set():
        due = perf_counter() + 0.001
        await asyncio.sleep(0.001)
        _require((await client.call(request, 9)) is not None)
        taken.append(perf_counter() - due)
    client.cut()
    return taken


def p99(seconds: list[float]) -> float:
    return sorted(seconds)[min(len(seconds) - 1, len(seconds) * 99 // 100)]


async def alone(broker: Broker) -> float:
    over = asyncio.Event()
    asyncio.get_running_loop().call_later(_ALONE / 1000, over.set)
    return p99(await good_client(broker, over))


async def beside(broker: Broker, frame: bytes) -> float:
    over = asyncio.Event()
    good = asyncio.create_task(good_client(broker, over))
    for _ in range(_BESIDE):
        await measure(broker, frame)
    await asyncio.sleep(0.005)
    over.set()
    return p99(await good)


async def row(key: int, path: tuple[str, ...], size: int) -> str:
    frame = crowded_frame(key, APIS[key].max_version, path, size)
    broker = await world()
    cost = await measure(broker, frame)
    ratio = await beside(broker, frame) / await alone(broker)
    await broker.close()
    end = "answered" if cost.answered else "closed"
    flight = cost.in_flight // KB
    held = cost.held_seconds * 1000
    return f"{held:>9.1f}{flight:>12,}{cost.left:>7}{ratio:>8.1f}  {end}"


async def main() -> None:
    print(f"{'request':58}{'size':>6}{'held ms':>9}{'in flight KB':>12}{'after':>7}{'p99 x':>8}")
    for key, api in APIS.items():
        for path in crowded_requests(key, api.max_version):
            for name, size in SIZES.items():
                title = f"{api.name} {'.'.join(path)}"
                print(f"{title:58}{name:>6}{await row(key, path, size)}", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
