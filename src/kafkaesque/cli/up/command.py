"""`kafkaesque up`: the whole platform, each part in a process of its own.

    broker   on two ports: Kafka's, and the one that the course's programs use
    console  the page, if the web extra is installed
    ticks    `kafkaesque demo ticks`

Everything listens on this machine alone, on IPv4 and, where there is one, on IPv6: `localhost` may
mean either. What can be known to fail is refused before anything is started. Below: supervisor.py.
"""

import importlib.util
import os
import shutil
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kafkaesque.cli.broker import DEFAULT_DATA_DIR, is_on_command_line
from kafkaesque.cli.console import DEFAULT_PORT as CONSOLE_PORT
from kafkaesque.cli.demo import TOPIC
from kafkaesque.cli.up.ports import IPV4, loopback, require_free
from kafkaesque.cli.up.reset import delete_all
from kafkaesque.client.connection import DEFAULT_PORT, Address

if TYPE_CHECKING:
    from kafkaesque.cli.up.processes import Program

COURSE_PORT = 19092


@dataclass(frozen=True, slots=True)
class Platform:
    """What to run, and where. None: not this part."""

    port: int
    course_port: int
    console_port: int | None
    rate: float | None
    data_dir: Path | None

    @property
    def bootstrap(self) -> str:
        return f"{IPV4}:{self.port}"


def up(
    context: typer.Context,
    data_dir: Annotated[
        Path,
        typer.Option(
            envvar="KAFKAESQUE_DATA_DIR", help="Directory of the logs; made if it is not there."
        ),
    ] = DEFAULT_DATA_DIR,
    memory: Annotated[
        bool, typer.Option("--memory", help="Keep everything in memory, and nothing on disk.")
    ] = False,
    reset: Annotated[
        bool, typer.Option("--reset", help="Begin anew: delete all topics and records first.")
    ] = False,
    no_demo: Annotated[bool, typer.Option("--no-demo", help="Send no ticks.")] = False,
    no_console: Annotated[bool, typer.Option("--no-console", help="Show no page.")] = False,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the broker.")] = DEFAULT_PORT,
    course_port: Annotated[
        int, typer.Option(min=1, max=65535, help="Second port of the broker.")
    ] = COURSE_PORT,
    console_port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port of the page.")
    ] = CONSOLE_PORT,
    rate: Annotated[float, typer.Option(min=0.01, max=1_000_000, help="Ticks a second.")] = 10.0,
) -> None:
    """Run the platform until Ctrl-C: a broker, the console, and ticks that flow.

    \b
    Examples:
      kafkaesque up
      kafkaesque up --reset --rate 1000
      kafkaesque up --memory --no-demo --console-port 8085
    """
    if memory and (reset or is_on_command_line(context, "data_dir")):
        raise typer.BadParameter("--memory keeps no files: give it without --data-dir and --reset")
    if len({port, course_port, console_port}) < 3:
        raise typer.BadParameter("--port, --course-port and --console-port must differ")
    with_console = not no_console and _can_show_the_console()
    platform = Platform(
        port=port,
        course_port=course_port,
        console_port=console_port if with_console else None,
        rate=None if no_demo else rate,
        data_dir=None if memory else data_dir,
    )
    listen = _require_free_ports(platform)
    if reset:
        delete_all(data_dir)
    _run(platform, listen)


def _run(platform: Platform, listen: list[Address]) -> None:
    import asyncio

    from kafkaesque.cli.up.supervisor import supervise

    # As other tools end when nobody reads what they print; the processes then end with this one.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    broker, *others = _programs(platform, listen)
    asyncio.run(supervise(broker, others, lambda: _welcome(platform), typer.echo))


def _programs(platform: Platform, listen: list[Address]) -> "list[Program]":
    """The broker, and then the others."""
    from kafkaesque.cli.up.processes import Program

    data = ("--data-dir", str(platform.data_dir)) if platform.data_dir else ("--memory",)
    more = [part for address in listen for part in ("--listen", _listen(address))]
    address = ("--host", IPV4, "--port", str(platform.port))
    programs = [Program("broker", ("broker", *address, *more, *data), "listening on")]
    to_it = ("--brokers", platform.bootstrap)
    if platform.console_port is not None:
        place = ("--host", IPV4, "--port", str(platform.console_port))
        programs.append(Program("console", ("console", *to_it, *place), "kafkaesque console on"))
    if platform.rate is not None:
        rate = ("--rate", str(platform.rate))
        programs.append(Program("ticks", ("demo", "ticks", *to_it, *rate), "kafkaesque demo sends"))
    return programs


def _listen(address: Address) -> str:
    """Whichever way a client came, it is told the same: one that changes makes it connect anew."""
    return str(address) if address.host == IPV4 else f"{address}={IPV4}:{address.port}"


def _can_show_the_console() -> bool:
    if importlib.util.find_spec("nicegui") is not None:
        return True
    typer.echo("without the console: it needs `pip install 'kafkaesque-broker[web]'`")
    return False


def _require_free_ports(platform: Platform) -> list[Address]:
    """Where the broker is to listen besides its first address, all of which can be had."""
    if platform.console_port is not None:
        require_free(Address(IPV4, platform.console_port), "--console-port")
    addresses = [
        *loopback(platform.port, "--port"),
        *loopback(platform.course_port, "--course-port"),
    ]
    return [address for address in addresses if address != Address(IPV4, platform.port)]


def _welcome(platform: Platform) -> None:
    kept = f"data in {platform.data_dir}" if platform.data_dir else "in memory"
    lines = [
        "",
        "Kafkaesque is up.",
        f"  broker   {platform.bootstrap} and localhost:{platform.course_port}, {kept}",
    ]
    if platform.console_port is not None:
        lines.append(f"  console  http://{IPV4}:{platform.console_port}")
    if platform.rate is not None:
        lines.append(f"  ticks    {platform.rate:g} a second to {TOPIC}")
    command, to_it = _command(), _unless_default(platform)
    what = "consume " + TOPIC if platform.rate is not None else "create orders -p 3"
    lines += ["", f"Try: {command} topic {what}{to_it}", "Stop with Ctrl-C.", ""]
    typer.echo("\n".join(lines))


def _command() -> str:
    """As it can be typed in another terminal here."""
    return "kafkaesque" if shutil.which("kafkaesque") else os.path.relpath(sys.argv[0])


def _unless_default(platform: Platform) -> str:
    return "" if platform.port == DEFAULT_PORT else f" --brokers {platform.bootstrap}"
