"""Our own codec over TLS and SASL: `Fetcher`, and what the commands ask beside librdkafka.

The broker has neither; a proxy before it does. Apache Kafka with both is in tests/compat/.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.broker_process import BrokerProcess
from tests.certificates import Certificate, make_certificate
from tests.commands import Commands
from tests.guarded_proxy import GuardedProxy
from tests.wire.client import RawClient
from tests.wire.requests import batch, create_topic, produce, produce_answer

from kafkaesque.client.connection import Address, ClusterError, Connection, RefusedError
from kafkaesque.client.fetch import Fetcher
from kafkaesque.client.log_dirs import partition_sizes
from kafkaesque.protocol.messages.create_topics import CreateTopicsResponse
from kafkaesque.types import TopicPartition

PLACE = TopicPartition("orders", 0)
PASSWORD = "sesame"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="module")
def proxy(
    certificate: Certificate, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GuardedProxy]:
    """TLS and a login; `orders` has a megabyte and a bit."""
    with (
        GuardedProxy(certificate, PASSWORD) as guarded,
        BrokerProcess(
            tmp_path_factory.mktemp("secure") / "data", "--advertise", guarded.address
        ) as broker,
    ):
        guarded.forward_to(broker.port)
        write(broker.bootstrap)
        yield guarded


def write(bootstrap: str) -> None:
    """Past the proxy, with a client that follows no advertised address."""
    with RawClient(bootstrap) as raw:
        raw.call(create_topic("orders", 1), CreateTopicsResponse, 7)
        for number in range(3):
            raw.send(produce("orders", 0, batch([bytes([number]) * 400_000])), 9)
            assert produce_answer(raw.receive()).error_code == 0


@pytest.fixture
def connection(proxy: GuardedProxy, certificate: Certificate) -> Connection:
    return Connection(
        brokers=(Address("127.0.0.1", proxy.port),),
        user="eve",
        password=PASSWORD,
        enable_tls=True,
        tls_ca=certificate.certificate,
        timeout_s=60,
    )


async def read(connection: Connection, count: int) -> list[int]:
    sizes: list[int] = []
    async with asyncio.timeout(60), Fetcher(connection) as fetcher:
        fetcher.seek(PLACE, 0)
        while len(sizes) < count:
            for fetched in await fetcher.fetch():
                sizes += [len(record.value or b"") for record in fetched.records()]
    return sizes


@pytest.mark.slow
def test_records_are_read_over_tls_after_a_login(connection: Connection) -> None:
    assert asyncio.run(read(connection, 3)) == [400_000] * 3


def test_a_certificate_need_not_be_trusted_if_the_user_says_so(connection: Connection) -> None:
    trusting = replace(connection, tls_ca=None, tls_verify=False)
    assert asyncio.run(read(trusting, 3)) == [400_000] * 3


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"password": "open"}, r"does not let 'eve' in \(wrong password\): check --user"),
        ({"sasl_mechanism": "PLAIN"}, r"it offers SCRAM-SHA-256\): choose another"),
        ({"tls_ca": None}, "is not trusted .*: name its authority with --tls-ca"),
        ({"tls_ca": Path("missing.pem")}, "cannot be read as certificates"),
    ],
)
def test_what_waiting_does_not_cure_is_raised(
    connection: Connection, change: dict[str, Any], reason: str
) -> None:
    with pytest.raises(RefusedError, match=reason):
        asyncio.run(read(replace(connection, **change), 1))


def test_a_certificate_for_another_host_is_refused(
    proxy: GuardedProxy, connection: Connection, tmp_path: Path
) -> None:
    other = make_certificate(tmp_path, "DNS:broker.example.org")
    with GuardedProxy(other) as elsewhere:
        elsewhere.forward_to(proxy.port)
        lost = replace(
            connection, brokers=(Address("127.0.0.1", elsewhere.port),), tls_ca=other.certificate
        )
        with pytest.raises(RefusedError, match=r"is not trusted .*IP address mismatch"):
            asyncio.run(read(lost, 1))


@pytest.mark.slow
def test_a_plain_client_is_told_about_tls(connection: Connection) -> None:
    plain = replace(connection, enable_tls=False, timeout_s=1)

    async def ask() -> None:
        async with Fetcher(plain) as fetcher:
            await fetcher.partitions()

    with pytest.raises(ClusterError):
        asyncio.run(ask())


def test_sizes_are_told(proxy: GuardedProxy, connection: Connection) -> None:
    sizes = partition_sizes(connection.brokers, connection)
    assert sizes[PLACE] > 1_200_000
    with pytest.raises(ClusterError, match="name the authority of its certificate with --tls-ca"):
        partition_sizes(connection.brokers, replace(connection, tls_ca=None))


@pytest.mark.slow
def test_commands_take_the_options(
    proxy: GuardedProxy, connection: Connection, capfd: pytest.CaptureFixture[str]
) -> None:
    """librdkafka and our own codec in one command: both must come through."""
    commands = Commands(proxy.address, capfd)
    options = ["--user", "eve", "--password", PASSWORD, "--enable-tls"]
    trusted = [*options, "--tls-ca", connection.tls_ca]
    assert commands.succeed("txn", "list", *trusted).rows[0][0] == "TRANSACTIONAL-ID"
    assert commands.succeed("txn", "list", *options, "--tls-insecure").rows
    (described,) = commands.succeed(
        "topic", "describe", "orders", *trusted, "--format", "json"
    ).json
    assert described["partitions"][0]["size"] > 1_200_000
