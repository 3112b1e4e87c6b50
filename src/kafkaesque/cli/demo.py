"""`kafkaesque demo …`: something that flows, to look at and to practise on.

Works with any cluster. Below: demo/, imported on use because it loads librdkafka.
"""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from kafkaesque.cli.connecting import ClusterCommand, cluster_commands, connection
from kafkaesque.cli.output import CommandError, tell
from kafkaesque.cli.registry_options import (
    LOCAL,
    RegistryCa,
    RegistryPassword,
    RegistryToken,
    RegistryUrl,
    RegistryUser,
    registry_client,
)
from kafkaesque.cli.status_line import StatusLine
from kafkaesque.cli.stopping import StopRequest
from kafkaesque.client.connection import ClusterError
from kafkaesque.demo.pace import Pace

if TYPE_CHECKING:
    from kafkaesque.client.registry import RegistryClient
    from kafkaesque.demo.sender import Sender
    from kafkaesque.demo.ticks import Encode

TOPIC = "stock_json_topic"
AVRO_TOPIC = "stock_avro_topic"
TICKERS = "AAPL,AMZN,GOOG,META,MSFT,NFLX,NVDA,TSLA"

_PATIENCE_S = 2.0

app = cluster_commands(
    "demo",
    "Send made-up events to look at.",
    "kafkaesque demo ticks --rate 100",
)


@app.command(cls=ClusterCommand)
def ticks(
    context: typer.Context,
    topic: Annotated[
        str | None,
        typer.Option(show_default=f"{TOPIC}, or {AVRO_TOPIC}", help="Topic to send to."),
    ] = None,
    avro: Annotated[
        bool, typer.Option("--avro", help="Send them as Avro, with a schema in the registry.")
    ] = False,
    partitions: Annotated[
        int, typer.Option(min=1, max=100_000, help="Partitions of the topic, if it is made.")
    ] = 3,
    tickers: Annotated[
        str, typer.Option(metavar="NAME,...", help="Stocks to make up prices of.")
    ] = TICKERS,
    rate: Annotated[float, typer.Option(min=0.01, max=1_000_000, help="Ticks a second.")] = 10.0,
    num: Annotated[
        int | None, typer.Option("--num", "-n", min=1, help="Stop after so many; else never.")
    ] = None,
    late: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of ticks whose event_time is late.")
    ] = 0.05,
    late_by: Annotated[
        float, typer.Option(min=0.0, metavar="SECONDS", help="How late they are at most.")
    ] = 10.0,
    out_of_order: Annotated[
        float, typer.Option(min=0.0, max=0.5, help="Share of ticks that their successor overtakes.")
    ] = 0.02,
    seed: Annotated[
        int | None, typer.Option(help="Make the same tickers and prices as the last time.")
    ] = None,
    registry: RegistryUrl = None,
    registry_user: RegistryUser = None,
    registry_password: RegistryPassword = None,
    registry_token: RegistryToken = None,
    registry_ca: RegistryCa = None,
) -> None:
    """Send stock ticks that walk at random, until Ctrl-C.

    \b
    Examples:
      kafkaesque demo ticks
      kafkaesque demo ticks --tickers AMZN,GOOG --rate 1 --late 0 --out-of-order 0
      kafkaesque demo ticks -n 100000 --rate 50000 --seed 7
      kafkaesque demo ticks --avro --registry http://127.0.0.1:8081
    """
    from random import Random

    from kafkaesque.client.admin import Admin
    from kafkaesque.demo.sender import Sender
    from kafkaesque.demo.ticks import Disorder, Tick, make_ticks

    topic = topic or (AVRO_TOPIC if avro else TOPIC)
    schemas = None
    if avro:
        schemas = registry_client(
            registry or LOCAL, registry_user, registry_password, registry_token, registry_ca
        )
    stop = StopRequest().listen()
    disorder = Disorder(late, late_by, out_of_order)
    made = make_ticks(_names(tickers), disorder, Random(seed), _wall_clock)
    cluster = connection(context)
    Admin.connect(cluster).ensure(topic, partitions)
    progress = _Progress()
    encode = Tick.to_json if schemas is None else _avro(schemas, topic, progress, stop)
    if encode is None:
        return
    sender = Sender(cluster, topic, progress.tell, encode)
    where = cluster.bootstrap_servers
    typer.echo(f"kafkaesque demo sends {rate:g} ticks/s to {topic} at {where}; stop with Ctrl-C")
    for _ in sender.run(made, Pace(rate, time.monotonic()), num):
        progress.show(sender)
        if stop.asked:
            break
    _drain(sender, stop)
    progress.end(sender)


def _avro(
    schemas: "RegistryClient", topic: str, progress: "_Progress", stop: StopRequest
) -> "Encode | None":
    """None: told to stop before the registry answered."""
    from kafkaesque.client.registry import RegistryError
    from kafkaesque.demo.avro_ticks import wait_for

    try:
        for encode in wait_for(schemas, topic, progress.tell):
            if encode is not None or stop.asked:
                return encode
    except RegistryError as error:
        raise CommandError(f"the schema of the ticks cannot be registered: {error}") from None
    return None


def _names(text: str) -> list[str]:
    names = list(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
    if not names:
        raise typer.BadParameter(
            f"{text!r} names nothing: write them as in AMZN,GOOG", param_hint="--tickers"
        )
    return names


def _wall_clock() -> int:
    return time.time_ns() // 1000


def _drain(sender: "Sender", stop: StopRequest) -> None:
    """All that were sent are to arrive, but who has asked to stop does not wait long for it."""
    deadline_s = None
    for _ in sender.drain():
        if stop.asked and deadline_s is None:
            deadline_s = time.monotonic() + _PATIENCE_S
        if deadline_s is not None and time.monotonic() > deadline_s:
            return


class _Progress:
    """How many were sent; then a summary on stdout."""

    def __init__(self) -> None:
        self._line = StatusLine()
        self._start_s = self._last_s = time.monotonic()
        self._last_count = 0

    def tell(self, sentence: str) -> None:
        self._line.clear()
        tell(sentence)

    def show(self, sender: "Sender") -> None:
        passed_s = time.monotonic() - self._last_s
        if not self._line.is_on or passed_s < 0.5:
            return
        rate = (sender.delivered - self._last_count) / passed_s
        self._last_s, self._last_count = self._last_s + passed_s, sender.delivered
        line = f"{sender.delivered:,} ticks in {sender.topic}, {rate:,.0f}/s"
        waiting = f", {sender.waiting:,} waiting" if sender.waiting > rate + 1 else ""
        self._line.show(f"{line}{waiting}")

    def end(self, sender: "Sender") -> None:
        self._line.clear()
        passed_s = time.monotonic() - self._start_s
        typer.echo(f"sent {sender.delivered:,} ticks to {sender.topic} in {passed_s:.1f} s")
        if missing := sender.failed + sender.waiting:
            raise ClusterError(
                f"{missing:,} more were not acknowledged ({sender.reason or 'nothing answers'}): "
                "see that the broker runs, with `kafkaesque topic list`"
            )
