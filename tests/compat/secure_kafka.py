"""Apache Kafka with a second listener: SASL (SCRAM-SHA-256 and -512, one user) over TLS."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.broker_process import free_port
from tests.certificates import make_certificate
from tests.compat.apache_kafka import ApacheKafka

from kafkaesque.client.connection import Address, Connection

USER = "eve"
PASSWORD = "open-sesame"
MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")


@dataclass(frozen=True)
class SecureKafka:
    plain: str
    """The bootstrap address of the listener without any of it."""
    connection: Connection
    options: tuple[str, ...]
    """The connection as a command has it."""


@contextmanager
def secure_kafka(directory: Path) -> Iterator[SecureKafka]:
    certificate = make_certificate(directory)
    # A PEM keystore is the key and its certificate in one file.
    store = directory / "keystore.pem"
    store.write_text(certificate.key.read_text() + certificate.certificate.read_text())
    port = free_port()
    login = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    names = [mechanism.lower() for mechanism in MECHANISMS]
    settings = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(store),
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        **{f"listener.name.sasl_ssl.{name}.sasl.jaas.config": login for name in names},
    }
    users = [f"{each}=[name={USER},password={PASSWORD}]" for each in MECHANISMS]
    running = ApacheKafka(
        directory / "data",
        settings,
        more_listeners={"SASL_SSL": f"127.0.0.1:{port}"},
        format_flags=[flag for user in users for flag in ("--add-scram", user)],
    )
    connection = Connection(
        brokers=(Address("127.0.0.1", port),),
        user=USER,
        password=PASSWORD,
        enable_tls=True,
        tls_ca=certificate.certificate,
        timeout_s=20,
    )
    options = ("--user", USER, "--password", PASSWORD, "--enable-tls")
    running.start()
    try:
        yield SecureKafka(
            running.bootstrap, connection, (*options, "--tls-ca", str(certificate.certificate))
        )
    finally:
        running.stop()
