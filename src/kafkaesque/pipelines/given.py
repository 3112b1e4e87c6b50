"""Options as Spark gives them, read one by one: what every source and sink of ours checks alike.

Spark does not tell upper from lower case in their names. What is not known is refused: an option
that is not followed would be a silent mistake. Pure. Above: source/, sink/.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches

from kafkaesque.client.connection import Connection
from kafkaesque.client.profiles import connection_of
from kafkaesque.pipelines.source.security import SASL, TLS, OptionsError, secured

CLUSTER = (
    "kafka.bootstrap.servers",
    "kafka.request.timeout.ms",
    "kafka.security.protocol",
    *SASL,
    *TLS,
)
"""What says which cluster, and as whom."""


def known(given: Mapping[str, str], names: Iterable[str], owner: str) -> dict[str, str]:
    """By their names as they are spelled. `owner` is who has them, as in "the source"."""
    spelled = {name.lower(): name for name in names}
    for name in given:
        if name.lower() not in spelled:
            near = get_close_matches(name.lower(), spelled, n=1)
            hint = f"did you mean {spelled[near[0]]}?" if near else "leave it out"
            raise OptionsError(f"{owner} has no option {name}: {hint}")
    return {spelled[name.lower()]: value.strip() for name, value in given.items()}


def cluster(options: Mapping[str, str]) -> Connection:
    brokers = options.get("kafka.bootstrap.servers")
    if not brokers:
        raise OptionsError("no cluster is named: give kafka.bootstrap.servers, HOST:PORT,…")
    try:
        connection = connection_of(brokers)
    except ValueError as error:
        raise OptionsError(f"kafka.bootstrap.servers: {error}") from None
    timeout_ms = number(options, "kafka.request.timeout.ms", 30_000)
    return secured(replace(connection, timeout_s=timeout_ms / 1000), options)


def number(options: Mapping[str, str], name: str, default: int, least: int = 1) -> int:
    text = options.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal()) or int(text) < least:
        raise OptionsError(f"{name} is {text!r}: give a whole number from {least} on")
    return int(text)


def flag(options: Mapping[str, str], name: str, default: bool) -> bool:
    text = options.get(name, str(default)).lower()
    if text not in ("true", "false"):
        raise OptionsError(f"{name} is {text!r}: give true or false")
    return text == "true"
