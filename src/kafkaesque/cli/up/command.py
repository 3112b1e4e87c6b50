"""`kafkaesque up`: the whole platform, each part in a process of its own.

    broker   on two ports: Kafka's, and the one that the course's programs use
    console  the page
    registry schemas
    gateway  events over HTTP; these three if the web extra is installed
    fanout   WebSocket and SSE on one port, TCP on another; pages of this machine may connect
    ticks    `kafkaesque demo ticks`, as JSON and, where there is a registry, as Avro
    stocks   a pipeline on Spark that makes candles of them, if the spark extra is installed

Everything listens on this machine alone, the broker on IPv4 and, where there is one, on IPv6:
`localhost` may mean either. What can be known to fail is refused before anything is started.
Below: platform.py, ports.py, supervisor.py.
"""

import importlib.util
import os
import shutil
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kafkaesque.cli.broker import DEFAULT_DATA_DIR, is_on_command_line
from kafkaesque.cli.console import DEFAULT_PORT as CONSOLE_PORT
from kafkaesque.cli.demo import AVRO_TOPIC, TOPIC
from kafkaesque.cli.gateway import DEFAULT_PORT as GATEWAY_PORT
from kafkaesque.cli.registry import DEFAULT_PORT as REGISTRY_PORT
from kafkaesque.cli.up.ports import IPV4, loopback, require_free
from kafkaesque.cli.up.reset import delete_all
from kafkaesque.client.connection import DEFAULT_PORT, Address

if TYPE_CHECKING:
    from kafkaesque.cli.up.platform import Platform

COURSE_PORT = 19092
FANOUT_PORT = 8083
FANOUT_TCP_PORT = 8084
PIPELINES = "pipelines"
"""In the data directory."""


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
    no_registry: Annotated[bool, typer.Option("--no-registry", help="Keep no schemas.")] = False,
    no_gateway: Annotated[
        bool, typer.Option("--no-gateway", help="Serve no events over HTTP.")
    ] = False,
    no_fanout: Annotated[bool, typer.Option("--no-fanout", help="Run no fan-out.")] = False,
    no_spark: Annotated[bool, typer.Option("--no-spark", help="Run no pipeline on Spark.")] = False,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the broker.")] = DEFAULT_PORT,
    course_port: Annotated[
        int, typer.Option(min=1, max=65535, help="Second port of the broker.")
    ] = COURSE_PORT,
    console_port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port of the page.")
    ] = CONSOLE_PORT,
    registry_port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port of the schema registry.")
    ] = REGISTRY_PORT,
    gateway_port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port of events over HTTP.")
    ] = GATEWAY_PORT,
    fanout_port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port of the fan-out: WebSocket, SSE.")
    ] = FANOUT_PORT,
    fanout_tcp_port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port of the fan-out over plain TCP.")
    ] = FANOUT_TCP_PORT,
    rate: Annotated[float, typer.Option(min=0.01, max=1_000_000, help="Ticks a second.")] = 10.0,
) -> None:
    """Run the platform until Ctrl-C: broker, registry, gateways, a page, ticks, and Spark.

    \b
    Examples:
      kafkaesque up
      kafkaesque up --reset --rate 1000
      kafkaesque up --memory --no-demo --console-port 8085
    """
    if memory and (reset or is_on_command_line(context, "data_dir")):
        raise typer.BadParameter("--memory keeps no files: give it without --data-dir and --reset")
    from kafkaesque.cli.up.platform import Platform, clash

    platform = Platform(
        port=port,
        course_port=course_port,
        console_port=None if no_console else console_port,
        registry_port=None if no_registry else registry_port,
        gateway_port=None if no_gateway else gateway_port,
        fanout_port=None if no_fanout else fanout_port,
        fanout_tcp_port=None if no_fanout else fanout_tcp_port,
        rate=None if no_demo else rate,
        data_dir=None if memory else data_dir,
        pipelines_dir=None if no_spark or no_demo else data_dir / PIPELINES,
    )
    if problem := clash(platform.ports):
        raise typer.BadParameter(problem)
    platform = _installed(platform)
    listen = _require_free_ports(platform)
    if reset:
        delete_all(data_dir)
    if memory and platform.pipelines_dir is not None:
        with tempfile.TemporaryDirectory(prefix="kafkaesque-up-") as directory:
            _run(replace(platform, pipelines_dir=Path(directory)), listen)
    else:
        _run(platform, listen)


def _run(platform: "Platform", listen: list[Address]) -> None:
    import asyncio

    from kafkaesque.cli.up.platform import broker, others
    from kafkaesque.cli.up.supervisor import supervise

    # As other tools end when nobody reads what they print; the processes then end with this one.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    asyncio.run(
        supervise(
            broker(platform, listen),
            list(others(platform)),
            lambda: _welcome(platform),
            typer.echo,
        )
    )


def _installed(platform: "Platform") -> "Platform":
    """Without the parts that need what is not installed."""
    missing = []
    if platform.console_port is not None and not _is_installed("nicegui"):
        missing.append("the console")
        platform = replace(platform, console_port=None)
    if platform.registry_port is not None and not _is_installed("starlette"):
        missing.append("the registry")
        platform = replace(platform, registry_port=None)
    if platform.gateway_port is not None and not _is_installed("fastapi"):
        missing.append("the gateway")
        platform = replace(platform, gateway_port=None)
    if platform.pipelines_dir is not None and not _is_installed("pyspark"):
        typer.echo("without Spark: it needs `pip install 'kafkaesque-broker[spark]'`")
        platform = replace(platform, pipelines_dir=None)
    if missing:
        needs = "it needs" if len(missing) == 1 else "they need"
        what = " and ".join(filter(None, (", ".join(missing[:-1]), missing[-1])))
        typer.echo(f"without {what}: {needs} `pip install 'kafkaesque-broker[web]'`")
    return platform


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _require_free_ports(platform: "Platform") -> list[Address]:
    """Where the broker is to listen besides its first address, all of which can be had."""
    addresses = []
    for flag, port in platform.ports.items():
        if flag in ("--port", "--course-port"):
            addresses += loopback(port, flag)
        else:
            require_free(Address(IPV4, port), flag)
    return [address for address in addresses if address != Address(IPV4, platform.port)]


def _welcome(platform: "Platform") -> None:
    kept = f"data in {platform.data_dir}" if platform.data_dir else "in memory"
    lines = [
        "",
        "Kafkaesque is up.",
        f"  broker   {platform.bootstrap} and localhost:{platform.course_port}, {kept}",
    ]
    if platform.console_port is not None:
        lines.append(f"  console  http://{IPV4}:{platform.console_port}")
    if platform.registry_port is not None:
        lines.append(f"  registry {platform.registry_url}")
    if platform.gateway_port is not None:
        lines.append(f"  gateway  http://{IPV4}:{platform.gateway_port}")
    if platform.fanout_port is not None:
        tcp = f"tcp {IPV4}:{platform.fanout_tcp_port}"
        lines.append(f"  fanout   {platform.fanout_url} (WebSocket, SSE) and {tcp}")
    if platform.rate is not None:
        also = f" and {AVRO_TOPIC}" if platform.registry_port is not None else ""
        lines.append(f"  ticks    {platform.rate:g} a second to {TOPIC}{also}")
        if platform.pipelines_dir is not None:
            where = f"http://{IPV4}:{platform.console_port}/candles"
            shown = f": {where}" if platform.console_port is not None else ""
            lines.append(f"  stocks   candles of the ticks, by Spark, in a while{shown}")
    command, to_it = _command(), _unless_default(platform)
    what = "consume " + TOPIC if platform.rate is not None else "create orders -p 3"
    lines += ["", f"Try: {command} topic {what}{to_it}", "Stop with Ctrl-C.", ""]
    typer.echo("\n".join(lines))


def _command() -> str:
    """As it can be typed in another terminal here."""
    return "kafkaesque" if shutil.which("kafkaesque") else os.path.relpath(sys.argv[0])


def _unless_default(platform: "Platform") -> str:
    return "" if platform.port == DEFAULT_PORT else f" --brokers {platform.bootstrap}"
