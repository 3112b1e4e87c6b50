"""What options are made of: addresses, listeners, name=value pairs, numbers, states, formats.

Each parser takes the text of one option. What it cannot read is a usage error (exit code 2) that
shows the form it expected.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import typer

from kafkaesque.cli.topic.record_format import FormatError, Piece, parse_format
from kafkaesque.client.connection import DEFAULT_PORT, Address


class Listen(NamedTuple):
    """Where to bind, and what clients are told, if that is something else."""

    bind: Address
    advertised: Address | None


class Pair(NamedTuple):
    name: str
    value: str


def parse_address(text: str, default_port: int | None = None) -> Address:
    """HOST:PORT; an IPv6 host stands in brackets, as in a URL."""
    host, colon, port = text.strip().rpartition(":")
    if default_port is not None and (not colon or port.endswith("]")):
        host, port = text.strip(), str(default_port)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise typer.BadParameter(f"{text!r}: write an IPv6 address in brackets, [::1]:9092")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise typer.BadParameter(f"{text!r} is not HOST:PORT, as in 127.0.0.1:9092")
    return Address(host, int(port))


def parse_listen(text: str) -> Listen:
    """HOST:PORT to bind, or HOST:PORT=HOST:PORT to bind and to advertise."""
    bind, equals, advertised = text.partition("=")
    return Listen(parse_address(bind), parse_address(advertised) if equals else None)


def parse_brokers(text: str) -> list[Address]:
    """HOST:PORT,…; without a port it is Kafka's."""
    try:
        return [parse_address(part, DEFAULT_PORT) for part in text.split(",")]
    except typer.BadParameter as error:
        raise typer.BadParameter(error.message, param_hint="--brokers") from None


def parse_pair(text: str, example: str = "retention.ms=60000") -> Pair:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise typer.BadParameter(f"{text!r} is not name=value, as in {example}")
    return Pair(name.strip(), value.strip())


def parse_header(text: str) -> Pair:
    """NAME=VALUE, or NAME:VALUE as rpk has it; cut at the first of the two."""
    found = re.fullmatch(r"([^=:]+)[=:](.*)", text, re.DOTALL)
    if found is None:
        raise typer.BadParameter(f"{text!r} is not name=value, as in source=web")
    return Pair(found[1], found[2])


def parse_numbers(text: str, option: str) -> list[int]:
    """N,…, as in 0,2; nothing is an empty list."""
    parts = [part.strip() for part in text.split(",")] if text else []
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise typer.BadParameter(f"{text!r} is not a list of numbers, as in 0,2", param_hint=option)
    return [int(part) for part in parts]


def parse_states(text: str, known: Sequence[str]) -> set[str]:
    """STATE,…, in upper or lower case."""
    spelled = {state.lower(): state for state in known}
    wanted = [word.strip().lower() for word in text.split(",")]
    unknown = [word for word in wanted if word not in spelled]
    if unknown:
        raise typer.BadParameter(
            f"{', '.join(map(repr, unknown))} is no state: choose from {', '.join(known)}"
        )
    return {spelled[word] for word in wanted}


def parse_format_option(
    text: str, option: str, check: Callable[[Sequence[Piece]], None] | None = None
) -> tuple[Piece, ...]:
    """A format of record_format.py; `check` raises FormatError for what its user cannot take."""
    try:
        pieces = parse_format(text)
        if check is not None:
            check(pieces)
    except FormatError as error:
        raise typer.BadParameter(f"{text!r}: {error}", param_hint=option) from None
    return pieces
