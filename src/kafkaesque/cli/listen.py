"""`kafkaesque listen`: print the messages of one key as they come, through a fan-out's /ws.

    server   text      what topic/key do you want?
    client   binary    incoming/dave          `*` in place of the key: all keys
    server   binary    the key of a match
             binary    its value              and so on

With --decode json, keys and values that have a schema come as JSON (`/ws?decode=json`).

The lines it prints are part of its promise: a (key, value) as Python writes bytes. A server that
goes away ends it, with exit code 1; what comes back by itself is client/subscriber.py.
Below: the `websockets` library, imported on use.
"""

from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path
from ssl import SSLContext, create_default_context
from typing import TYPE_CHECKING, Annotated

import typer

from kafkaesque.cli.output import CommandError
from kafkaesque.cli.stopping import StopRequest

if TYPE_CHECKING:
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import ClientConnection

DEFAULT_URI = "ws://127.0.0.1:8083/ws"
ALL_KEYS = "*"

_POLL_S = 0.2
_REFUSED = 1008
_START_IT = "start one with `kafkaesque fanout`, or name one with --uri"


class Decode(StrEnum):
    NONE = "none"
    JSON = "json"


def listen(
    topic: Annotated[str, typer.Option(help="Topic to listen to.")],
    key: Annotated[str, typer.Option(help="Key of the messages, or * for all.")] = ALL_KEYS,
    uri: Annotated[
        str, typer.Option(envvar="KAFKAESQUE_FANOUT_URI", help="Where the fan-out is.")
    ] = DEFAULT_URI,
    num: Annotated[
        int, typer.Option("--num", "-n", min=0, help="End after so many messages; 0: never.")
    ] = 0,
    token: Annotated[
        str | None, typer.Option(envvar="KAFKAESQUE_TOKEN", help="Token that lets you read.")
    ] = None,
    decode: Annotated[
        Decode,
        typer.Option(help="What to make of keys and values that have a schema: json, or nothing."),
    ] = Decode.NONE,
    tls_ca: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Authorities to trust with wss://, PEM; else the system's."
        ),
    ] = None,
) -> None:
    """Print the messages of a key as they come through a fan-out, until Ctrl-C.

    \b
    Examples:
      kafkaesque listen --topic incoming --key dave
      kafkaesque listen --topic stock_avro_topic --key '*' --decode json
      kafkaesque listen --uri wss://fanout.example.org/ws --topic incoming --key '*' -n 10
    """
    if decode is Decode.JSON:
        uri += ("&" if "?" in uri else "?") + f"decode={decode}"
    connection = _connect(uri, token, tls_ca)
    typer.echo(f"connected to {uri}")
    stop = StopRequest().listen()
    try:
        with connection:
            for match in islice(_matches(connection, topic, key, stop), num or None):
                typer.echo(str(match))
    finally:
        stop.end()


def _connect(uri: str, token: str | None, tls_ca: Path | None) -> "ClientConnection":
    from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI
    from websockets.sync.client import connect

    trust = _trust(tls_ca) if uri.startswith("wss:") else None
    headers = None if token is None else {"Authorization": f"Bearer {token}"}
    try:
        return connect(uri, ssl=trust, additional_headers=headers, compression=None, max_size=None)
    except InvalidURI:
        raise CommandError(f"{uri} is no ws:// or wss:// address: write {DEFAULT_URI}") from None
    except InvalidStatus as error:
        body = bytes(error.response.body or b"").decode(errors="replace").strip()
        reason = body or error.response.reason_phrase
        raise CommandError(f"{uri} answers {error.response.status_code}: {reason}") from None
    except (InvalidHandshake, OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CommandError(f"nothing answers at {uri} ({reason}): {_START_IT}") from None


def _trust(tls_ca: Path | None) -> SSLContext:
    try:
        return create_default_context(cafile=tls_ca)
    except OSError as error:
        reason = error.strerror or error
        raise CommandError(
            f"{tls_ca} cannot be read as certificates ({reason}): name a PEM file with --tls-ca"
        ) from None


def _matches(
    connection: "ClientConnection", topic: str, key: str, stop: StopRequest
) -> Iterator[tuple[bytes, bytes]]:
    from websockets.exceptions import ConnectionClosed

    frames = _frames(connection, stop)
    try:
        if next(frames, None) is None:
            return
        connection.send(f"{topic}/{key}".encode())
        typer.echo(f"listening for messages from {topic}/{key}")
        # One iterator twice: each tuple takes two frames.
        yield from zip(frames, frames, strict=False)
    except ConnectionClosed as closed:
        raise _ended(closed) from None


def _frames(connection: "ClientConnection", stop: StopRequest) -> Iterator[bytes]:
    while not stop.asked:
        try:
            frame = connection.recv(timeout=_POLL_S)
        except TimeoutError:
            continue
        yield frame.encode() if isinstance(frame, str) else frame


def _ended(closed: "ConnectionClosed") -> CommandError:
    if closed.rcvd is None:
        return CommandError(f"the fan-out is gone without a word: {_START_IT}")
    reason = closed.rcvd.reason or f"code {closed.rcvd.code}"
    if closed.rcvd.code == _REFUSED:
        return CommandError(f"the fan-out refuses: {reason}")
    return CommandError(f"the fan-out has closed ({reason}): listen again once it is back")
