"""Which cluster to talk to, and as whom: what every client of ours is made from.

`Connection.config` is librdkafka's configuration for it, `ssl_context` what our own connections
(link.py, wire.py) need for TLS: the same authorities, the same checks. `require_an_answer` finds
out first whether anything listens there at all, because librdkafka itself would retry in silence
until the timeout. This file loads no client library.
Above: admin.py, groups.py, link.py, cli/, console/.
"""

import socket
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from ssl import SSLContext

T = TypeVar("T")

DEFAULT_PORT = 9092
CLIENT_ID = "kafkaesque"
IMPOSSIBLE_HOST = "no host can have that name"


class ClusterError(Exception):
    """A cluster did not do what it was asked; the message names the cause and the cure."""


class UnansweredError(ClusterError):
    """Nobody answered, or not in time: the cluster may come back."""


class RefusedError(ClusterError):
    """What would fail again tomorrow: nothing is won by waiting."""


class UnsupportedError(RefusedError):
    """The broker knows no such API, or none of its versions that we do."""


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Connection:
    """The way to a cluster. `timeout_s` is how long one answer may take."""

    brokers: tuple[Address, ...] = (Address("127.0.0.1", DEFAULT_PORT),)
    user: str | None = None
    password: str | None = None
    sasl_mechanism: str = "SCRAM-SHA-256"
    enable_tls: bool = False
    timeout_s: float = 10.0
    tls_ca: Path | None = None
    """A file of the authorities to trust, in place of the system's."""
    tls_verify: bool = True
    """Whether a broker must have a certificate of a trusted authority, for its name."""

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(map(str, self.brokers))

    def config(self, **settings: Any) -> dict[str, Any]:
        """librdkafka's configuration; `linger_ms=5` adds `linger.ms`."""
        config: dict[str, Any] = {
            "bootstrap.servers": self.bootstrap_servers,
            "client.id": CLIENT_ID,
            "security.protocol": self._security_protocol,
            # Only emergencies: what there is to say we say ourselves.
            "log_level": 0,
        }
        if self.user is not None:
            config["sasl.mechanism"] = self.sasl_mechanism
            config["sasl.username"] = self.user
            config["sasl.password"] = self.password or ""
        if self.enable_tls:
            config["enable.ssl.certificate.verification"] = self.tls_verify
            if self.tls_ca is not None:
                config["ssl.ca.location"] = str(self.tls_ca)
        return config | {name.replace("_", "."): value for name, value in settings.items()}

    @property
    def is_plain(self) -> bool:
        """Without SASL and TLS."""
        return self.user is None and not self.enable_tls

    def ssl_context(self) -> "SSLContext | None":
        """None without TLS. Raises ClusterError if the file of authorities is no good."""
        if not self.enable_tls:
            return None
        import ssl

        try:
            context = ssl.create_default_context(cafile=self.tls_ca)
        except OSError as error:
            raise RefusedError(
                f"{self.tls_ca} cannot be read as certificates ({error.strerror or error}): "
                "name a PEM file with --tls-ca"
            ) from None
        if not self.tls_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    @property
    def _security_protocol(self) -> str:
        sasl = "SASL_" if self.user is not None else ""
        return sasl + ("SSL" if self.enable_tls else "PLAINTEXT")

    def require_an_answer(self) -> None:
        """Raises UnansweredError if nothing listens at any of the addresses."""
        reasons = []
        for broker in self.brokers:
            try:
                connect(broker, self.timeout_s).close()
            except OSError as error:
                reasons.append(error.strerror or str(error))
            else:
                return
        where = ", ".join(map(str, self.brokers))
        raise UnansweredError(
            f"nothing answers at {where} ({reasons[-1]}): "
            "start one with `kafkaesque broker`, or name one with --brokers"
        )


def connect(broker: Address, timeout_s: float) -> socket.socket:
    """To whichever of the host's addresses answers. Raises OSError, and that alone."""
    deadline_s = time.monotonic() + timeout_s
    failure: OSError | None = None
    try:
        found = socket.getaddrinfo(*broker, type=socket.SOCK_STREAM)
    except UnicodeError:  # A label that is empty, or of more than 63 characters.
        raise OSError(IMPOSSIBLE_HOST) from None
    # Packets to an address may be dropped: `socket.create_connection` gives each the whole time.
    for (family, kind, protocol, _, address), share_s in shared(deadline_s, found):
        try:
            return _connect(socket.socket(family, kind, protocol), address, share_s)
        except OSError as error:
            failure = error
    raise failure or OSError("it has no address")


def _connect(plain: socket.socket, address: Any, deadline_s: float) -> socket.socket:
    try:
        # Zero would not wait at all.
        plain.settimeout(max(deadline_s - time.monotonic(), 0.001))
        plain.connect(address)
    except BaseException:
        plain.close()
        raise
    return plain


def shared(deadline_s: float, items: Collection[T]) -> Iterator[tuple[T, float]]:
    """Each with a deadline of its own: what is left is shared by those that are still to come."""
    for count, item in zip(range(len(items), 0, -1), items, strict=True):
        now_s = time.monotonic()
        yield item, now_s + (deadline_s - now_s) / count
