"""A command of ours in a process of its own: started, heard, and stopped.

Its lines are told one by one with its name in front. The line that says it is ready is for us
alone. Ctrl-C at the terminal does not reach it, because it is in a session of its own: who started
it decides in which order things end. Above: supervisor.py. Below: child.py.
"""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

Tell: TypeAlias = Callable[[str], None]

_STOP_SECONDS = 20.0
_LONGEST_LINE = 1 << 20
_NAME_WIDTH = 7


@dataclass(frozen=True, slots=True)
class Program:
    """What to run; a line of its output with `ready` in it says that it serves."""

    name: str
    args: tuple[str, ...]
    ready: str


class Process:
    def __init__(self, program: Program, process: asyncio.subprocess.Process, tell: Tell) -> None:
        self._program = program
        self._process = process
        self._tell = tell
        self._is_ready = asyncio.Event()
        self._lines = asyncio.create_task(self._hear())

    @classmethod
    async def start(cls, program: Program, tell: Tell) -> "Process":
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "kafkaesque.cli.up.child", *program.args),
            stdin=PIPE,
            stdout=PIPE,
            stderr=STDOUT,
            env=_environment(),
            limit=_LONGEST_LINE,
            start_new_session=True,
        )
        return cls(program, process, tell)

    async def ready(self) -> bool:
        """Wait until it serves: False if it has ended instead."""
        await self._is_ready.wait()
        return not self._lines.done()

    async def ended(self) -> int:
        """Wait for its end, and for the last of its lines: the exit code."""
        await asyncio.shield(self._lines)
        return await self._process.wait()

    async def stop(self) -> None:
        if self._process.returncode is None:
            self._process.terminate()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await self.ended()
        except TimeoutError:
            self._tell(f"{self._program.name} does not stop, and is killed")
            self._process.kill()
            await self.ended()

    async def _hear(self) -> None:
        assert self._process.stdout is not None
        async for data in self._process.stdout:
            line = data.decode(errors="replace").rstrip()
            if not self._is_ready.is_set() and self._program.ready in line:
                self._is_ready.set()
            else:
                self._tell(f"{self._program.name:{_NAME_WIDTH}} | {line}")
        self._is_ready.set()


@asynccontextmanager
async def running(program: Program, tell: Tell) -> AsyncIterator[Process]:
    """A process that is stopped when the block is left, in whichever way."""
    process = await Process.start(program, tell)
    try:
        yield process
    finally:
        await process.stop()


def _environment() -> dict[str, str]:
    """Ours, without the options in it: what a child is to do is on its command line."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("KAFKAESQUE_")}
    return {**kept, "PYTHONUNBUFFERED": "1"}
