"""The platform's processes: the broker first, then the others; the others first, then the broker.

Nothing works without the broker, so its end is the end of all. Each of the others is started again
when it ends, after a pause that grows while it keeps failing.
Above: command.py. Below: processes.py.
"""

import asyncio
import signal
import time
from collections.abc import Callable, Sequence

from kafkaesque.cli.output import CommandError
from kafkaesque.cli.up.processes import Process, Program, Tell, running

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 30.0


async def supervise(
    broker: Program, others: Sequence[Program], welcome: Callable[[], None], tell: Tell
) -> None:
    """Run until Ctrl-C or SIGTERM. CommandError if the broker ends before."""
    stop = _stop_signal()
    async with running(broker, tell) as process:
        serving = asyncio.create_task(_serve(process, others, welcome, tell))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not serving.done():
            tell("stopping")
            serving.cancel()
        await asyncio.wait({serving})
    if not serving.cancelled():
        raise CommandError(
            f"the broker has ended ({_how(serving.result())}): its last lines say why"
        )


def _stop_signal() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


async def _serve(
    broker: Process, others: Sequence[Program], welcome: Callable[[], None], tell: Tell
) -> int:
    """Until the broker ends: its exit code."""
    async with asyncio.TaskGroup() as group:
        keepers = []
        if await broker.ready():
            settled = {program: asyncio.Event() for program in others}
            keepers = [group.create_task(_keep(*item, tell)) for item in settled.items()]
            for event in settled.values():
                await event.wait()
            welcome()
        code = await broker.ended()
        for keeper in keepers:
            keeper.cancel()
    return code


async def _keep(program: Program, settled: asyncio.Event, tell: Tell) -> None:
    """Keep it running. `settled` once it is known whether the first start went well."""
    pause_s = _FIRST_PAUSE_S
    while True:
        started_s = time.monotonic()
        async with running(program, tell) as process:
            await process.ready()
            settled.set()
            code = await process.ended()
        if time.monotonic() - started_s > _LONGEST_PAUSE_S:
            pause_s = _FIRST_PAUSE_S
        tell(f"{program.name} has ended ({_how(code)}); it is started again in {pause_s:g} s")
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
