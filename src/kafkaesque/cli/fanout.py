"""`kafkaesque fanout`: read the options into a FanoutConfig, and run it.

An option for each field of the config, with the config's own default. The gateway's other modules
are imported inside the command, so that `--help` does not pay for them. A StartError goes up to
main.py, which prints it. Below: gateway/fanout/workers.py.
"""

from pathlib import Path
from typing import Annotated

import typer

from kafkaesque.cli.broker import LogLevel
from kafkaesque.cli.connecting import connection
from kafkaesque.cli.registry_options import (
    RegistryCa,
    RegistryPassword,
    RegistryToken,
    RegistryUrl,
    RegistryUser,
    registry_address,
    require_registry_library,
)
from kafkaesque.client.connection import Address, Connection
from kafkaesque.gateway.fanout.config import FanoutConfig

_DEFAULT = FanoutConfig(Connection())


def fanout(
    context: typer.Context,
    host: Annotated[
        str,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_HOST",
            help="Address to serve on.",
        ),
    ] = _DEFAULT.web.host,
    port: Annotated[
        int,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_PORT",
            min=0,
            max=65535,
            help="Port of WebSocket, SSE and pages; 0 for a free one.",
        ),
    ] = _DEFAULT.web.port,
    tcp_port: Annotated[
        int,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_TCP_PORT",
            min=0,
            max=65535,
            help="Port of the protocol over plain TCP; 0 for a free one.",
        ),
    ] = _DEFAULT.tcp.port,
    workers: Annotated[
        int,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_WORKERS",
            min=1,
            max=256,
            help="Processes to serve with: about one per core.",
        ),
    ] = _DEFAULT.workers,
    tls_cert: Annotated[
        Path | None,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_TLS_CERT",
            metavar="FILE",
            show_default="no TLS",
            help="Certificate chain to show to clients, PEM. SIGHUP reads it again.",
        ),
    ] = None,
    tls_key: Annotated[
        Path | None,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_TLS_KEY",
            metavar="FILE",
            show_default="in --tls-cert",
            help="Its private key, PEM.",
        ),
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_TOKENS",
            metavar="FILE",
            show_default="everybody",
            help="Who may read what, TOML. SIGHUP reads it again.",
        ),
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_ORIGIN",
            metavar="ORIGIN",
            show_default="pages of this server",
            help="Web pages that may connect, as in https://*.example.org; * for all. Repeatable.",
        ),
    ] = None,
    max_connections: Annotated[
        int,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_MAX_CONNECTIONS",
            min=1,
            help="Clients at a time, all workers together.",
        ),
    ] = _DEFAULT.max_connections,
    max_connections_per_address: Annotated[
        int,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_MAX_CONNECTIONS_PER_ADDRESS",
            min=0,
            help="Of them from one address, in each worker; 0 for no limit.",
        ),
    ] = _DEFAULT.max_connections_per_address,
    max_new_per_second: Annotated[
        int,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_MAX_NEW_PER_SECOND",
            min=0,
            help="New clients a second; 0 for no limit.",
        ),
    ] = _DEFAULT.max_new_per_second,
    max_requests_per_second: Annotated[
        float,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_MAX_REQUESTS_PER_SECOND",
            min=0,
            help="Messages that one client may send; 0 for no limit.",
        ),
    ] = _DEFAULT.max_requests_per_second,
    max_subscriptions: Annotated[
        int,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_MAX_SUBSCRIPTIONS",
            min=1,
            help="Subscriptions that one client may have.",
        ),
    ] = _DEFAULT.max_subscriptions,
    ping_interval: Annotated[
        float,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_PING_INTERVAL",
            min=0.1,
            metavar="SECONDS",
            help="How often a silent client is pinged; it is closed after twice that.",
        ),
    ] = _DEFAULT.ping_interval_s,
    handshake_timeout: Annotated[
        float,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_HANDSHAKE_TIMEOUT",
            min=0.1,
            metavar="SECONDS",
            help="How long a client may take to say what it wants.",
        ),
    ] = _DEFAULT.handshake_s,
    buffer: Annotated[
        int,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_BUFFER",
            min=1,
            help="Messages kept for a slow subscription, at most.",
        ),
    ] = _DEFAULT.buffer,
    ring_bytes: Annotated[
        int,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_RING_BYTES",
            min=65536,
            metavar="BYTES",
            help="Memory of a worker for messages that slow clients have not taken.",
        ),
    ] = _DEFAULT.ring_bytes,
    send_buffer_bytes: Annotated[
        int,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_SEND_BUFFER_BYTES",
            min=4096,
            metavar="BYTES",
            help="Bytes on their way to one client before it counts as slow.",
        ),
    ] = _DEFAULT.send_buffer_bytes,
    catch_up_readers: Annotated[
        int,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_CATCH_UP_READERS",
            min=1,
            help="Readers of older records at a time, in each worker.",
        ),
    ] = _DEFAULT.catch_up_readers,
    read_committed: Annotated[
        bool,
        typer.Option(
            "--read-committed/--read-uncommitted",
            envvar="KAFKAESQUE_FANOUT_READ_COMMITTED",
            help="Whether records of open and aborted transactions are left out.",
        ),
    ] = _DEFAULT.read_committed,
    max_wait: Annotated[
        int,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_MAX_WAIT",
            min=1,
            metavar="MS",
            help="How long a broker may wait for new records before it answers.",
        ),
    ] = _DEFAULT.max_wait_ms,
    linger: Annotated[
        float,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_LINGER",
            min=0,
            metavar="MS",
            help="While records keep coming, how long to gather them for one write.",
        ),
    ] = _DEFAULT.linger_ms,
    metadata_interval: Annotated[
        float,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_METADATA_INTERVAL",
            min=0.1,
            metavar="SECONDS",
            help="How often to look for new topics and partitions.",
        ),
    ] = _DEFAULT.metadata_interval_s,
    drain: Annotated[
        float,
        typer.Option(
            envvar="KAFKAESQUE_FANOUT_DRAIN",
            min=0,
            metavar="SECONDS",
            help="How long clients have to take what was sent, at the end.",
        ),
    ] = _DEFAULT.drain_s,
    registry: RegistryUrl = None,
    registry_user: RegistryUser = None,
    registry_password: RegistryPassword = None,
    registry_token: RegistryToken = None,
    registry_ca: RegistryCa = None,
    log_level: Annotated[
        LogLevel,
        typer.Option(envvar="KAFKAESQUE_LOG_LEVEL", help="How much the log on stderr says."),
    ] = LogLevel.INFO,
) -> None:
    """Deliver to each of many consumers the part of a stream it wants, until Ctrl-C or SIGTERM.

    \b
    Clients come by
      ws://HOST:8083/ws   the two-frame protocol: asks for TOPIC/KEY, sends key and value
      ws://HOST:8083/v1   many subscriptions, filters, resuming (kafkaesque.v1)
      http://…:8083/sse   Server-Sent Events, for EventSource and curl
      HOST:8084           kafkaesque.v1 over TCP
    and pages read /kafkaesque.js, /metrics, /health and /stats.

    \b
    Examples:
      kafkaesque fanout
      kafkaesque fanout --brokers broker.example.org:9092 --user python --enable-tls
      kafkaesque fanout --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem --tokens tokens.toml
      kafkaesque fanout --registry http://127.0.0.1:8081
      kafkaesque fanout --workers 4 --max-connections 100000 --origin https://app.example.org
      curl -N 'http://127.0.0.1:8083/sse?topic=ticks&key=AMZN'
    """
    if port and port == tcp_port:
        raise typer.BadParameter(
            f"--port and --tcp-port are both {port}: they need one each", param_hint="--tcp-port"
        )
    address = registry_address(
        registry, registry_user, registry_password, registry_token, registry_ca
    )
    require_registry_library(address)
    config = FanoutConfig(
        connection(context),
        registry=address,
        web=Address(host, port),
        tcp=Address(host, tcp_port),
        workers=workers,
        tls_cert=tls_cert,
        tls_key=tls_key,
        tokens=tokens,
        origins=tuple(origin or ()),
        max_connections=max_connections,
        max_connections_per_address=max_connections_per_address,
        max_new_per_second=max_new_per_second,
        max_requests_per_second=max_requests_per_second,
        max_subscriptions=max_subscriptions,
        ping_interval_s=ping_interval,
        handshake_s=handshake_timeout,
        buffer=buffer,
        ring_bytes=ring_bytes,
        send_buffer_bytes=send_buffer_bytes,
        catch_up_readers=catch_up_readers,
        read_committed=read_committed,
        max_wait_ms=max_wait,
        linger_ms=linger,
        metadata_interval_s=metadata_interval,
        drain_s=drain,
    )
    from kafkaesque.gateway.fanout.workers import run

    run(config, _say_ready, log_level=log_level.value)


def _say_ready(config: FanoutConfig) -> None:
    scheme = "http" if config.tls_cert is None else "https"
    workers = f", {config.workers} workers" if config.workers > 1 else ""
    typer.echo(
        f"kafkaesque fanout on {scheme}://{config.web} and tcp {config.tcp} "
        f"(brokers {config.connection.bootstrap_servers}{workers}); stop with Ctrl-C"
    )
