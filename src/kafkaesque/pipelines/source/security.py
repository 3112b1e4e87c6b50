"""As whom, and over which kind of connection: `kafka.security.protocol` and what goes with it.

    SASL_PLAINTEXT, SASL_SSL   kafka.sasl.mechanism, and kafka.sasl.jaas.config as in Java, or
                               kafka.sasl.username and kafka.sasl.password as in librdkafka
    SSL, SASL_SSL              kafka.ssl.truststore.location (with kafka.ssl.truststore.type=PEM) as
                               in Java, or kafka.ssl.ca.location as in librdkafka

Above: options.py. Below: client/connection.py.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kafkaesque.client.connection import Connection

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SASL = (
    "kafka.sasl.mechanism",
    "kafka.sasl.jaas.config",
    "kafka.sasl.username",
    "kafka.sasl.password",
)
TLS = (
    "kafka.ssl.truststore.location",
    "kafka.ssl.truststore.type",
    "kafka.ssl.ca.location",
    "kafka.enable.ssl.certificate.verification",
)

_QUOTED = r"""\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))"""


class OptionsError(ValueError):
    """Options that cannot be followed; the message names the cause and the cure."""


def secured(connection: Connection, options: Mapping[str, str]) -> Connection:
    protocol = options.get("kafka.security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise OptionsError(
            f"kafka.security.protocol is {protocol!r}: use one of {', '.join(PROTOCOLS)}"
        )
    with_sasl, with_tls = protocol.startswith("SASL_"), protocol.endswith("SSL")
    _refuse_idle(options, SASL, with_sasl, protocol, "SASL_PLAINTEXT or SASL_SSL")
    _refuse_idle(options, TLS, with_tls, protocol, "SSL or SASL_SSL")
    if with_sasl:
        connection = _with_user(connection, options)
    return _with_tls(connection, options) if with_tls else connection


def options_for(connection: Connection) -> dict[str, str]:
    """The options that make this connection."""
    sasl, tls = connection.user is not None, connection.enable_tls
    protocol = ("SASL_" if sasl else "") + ("SSL" if tls else "PLAINTEXT")
    options = {
        "kafka.bootstrap.servers": connection.bootstrap_servers,
        "kafka.security.protocol": protocol,
    }
    if connection.user is not None:
        options["kafka.sasl.mechanism"] = connection.sasl_mechanism
        options["kafka.sasl.username"] = connection.user
        options["kafka.sasl.password"] = connection.password or ""
    if tls:
        options["kafka.enable.ssl.certificate.verification"] = str(connection.tls_verify).lower()
        if connection.tls_ca is not None:
            options["kafka.ssl.ca.location"] = str(connection.tls_ca)
    return options


def _refuse_idle(
    options: Mapping[str, str], names: tuple[str, ...], is_used: bool, protocol: str, cure: str
) -> None:
    for name in names:
        if name in options and not is_used:
            raise OptionsError(
                f"{name} is given, but kafka.security.protocol is {protocol}: make it {cure}"
            )


def _with_user(connection: Connection, options: Mapping[str, str]) -> Connection:
    mechanism = options.get("kafka.sasl.mechanism", connection.sasl_mechanism).upper()
    if mechanism not in MECHANISMS:
        raise OptionsError(
            f"kafka.sasl.mechanism is {mechanism!r}: use one of {', '.join(MECHANISMS)}"
        )
    user, password = _credentials(options)
    return replace(connection, user=user, password=password, sasl_mechanism=mechanism)


def _credentials(options: Mapping[str, str]) -> tuple[str, str]:
    jaas = options.get("kafka.sasl.jaas.config")
    named = [options.get("kafka.sasl.username"), options.get("kafka.sasl.password")]
    if jaas is not None:
        if any(each is not None for each in named):
            raise OptionsError(
                "kafka.sasl.jaas.config and kafka.sasl.username or password are both given: "
                "leave one out"
            )
        named = [_in_jaas(jaas, "username"), _in_jaas(jaas, "password")]
    user, password = named
    if user is None or password is None:
        raise OptionsError(
            "SASL needs a user and a password: give kafka.sasl.username and kafka.sasl.password, "
            'or a kafka.sasl.jaas.config with username="…" password="…"'
        )
    return user, password


def _in_jaas(jaas: str, name: str) -> str | None:
    found = re.search(rf"\b{name}{_QUOTED}", jaas)
    if found is None:
        return None
    quoted = next(each for each in found.groups() if each is not None)
    return re.sub(r"\\(.)", r"\1", quoted)


def _with_tls(connection: Connection, options: Mapping[str, str]) -> Connection:
    store = options.get("kafka.ssl.truststore.location")
    kind = options.get("kafka.ssl.truststore.type", "PEM" if store is None else "JKS")
    if kind.upper() != "PEM":
        raise OptionsError(
            f"a trust store of type {kind} is read by Java alone: export its certificates as PEM, "
            "and give kafka.ssl.truststore.type=PEM"
        )
    authorities = options.get("kafka.ssl.ca.location")
    if store is not None and authorities is not None:
        raise OptionsError(
            "kafka.ssl.truststore.location and kafka.ssl.ca.location are both given: leave one out"
        )
    path = store if store is not None else authorities
    verify = options.get("kafka.enable.ssl.certificate.verification", "true").lower()
    if verify not in ("true", "false"):
        raise OptionsError(
            f"kafka.enable.ssl.certificate.verification is {verify!r}: use true or false"
        )
    return replace(
        connection,
        enable_tls=True,
        tls_ca=None if path is None else Path(path),
        tls_verify=verify == "true",
    )
