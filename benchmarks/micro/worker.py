"""`python -m benchmarks.micro.worker`: all cases once, as JSON: CPU nanoseconds per operation.

The best of several runs: whatever else the machine does can only add. Time is the CPU's of this
process, the kernel's part included. __main__.py starts it, with the sources of one commit or
another in its PYTHONPATH.
"""

import asyncio
import gc
import json
import sys
from itertools import repeat
from time import process_time_ns

from benchmarks.micro import codec_cases, connection_cases, log_cases
from benchmarks.micro.case import Case, Operation

CASES = [*codec_cases.CASES, *log_cases.CASES, *connection_cases.CASES]

_RUNS = 5
_RUN_NS = 10_000_000
_FIRST_COUNT = 16


def cpu_ns(operation: Operation, count: int) -> int:
    gc.collect()
    gc.disable()
    start = process_time_ns()
    for _ in repeat(None, count):
        operation()
    taken = process_time_ns() - start
    gc.enable()
    return taken


async def measure(case: Case) -> float:
    count, taken = _FIRST_COUNT, 0
    async with case.prepare() as operation:
        while (taken := cpu_ns(operation, count)) < _RUN_NS // 2:
            count *= 2
    best = taken
    for _ in range(_RUNS):
        async with case.prepare() as operation:
            cpu_ns(operation, _FIRST_COUNT)
            best = min(best, cpu_ns(operation, count))
    return best / count


async def measure_all() -> dict[str, float]:
    figures = {}
    for case in CASES:
        try:
            figures[case.name] = await measure(case)
        except (AttributeError, ImportError, TypeError) as error:
            # These sources may be older than what the case asks of them.
            print(f"{case.name}: not measured: {error!r}", file=sys.stderr)
    return figures


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure_all())))
