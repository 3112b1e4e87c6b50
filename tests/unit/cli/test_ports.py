"""Which ports can be had, and how one that cannot is named."""

import socket

import pytest
from tests.broker_process import free_port

from kafkaesque.cli.output import CommandError
from kafkaesque.cli.up.ports import IPV4, loopback, require_free
from kafkaesque.client.connection import Address


def test_a_free_port_is_had_at_127_0_0_1_first() -> None:
    port = free_port()
    first, *rest = loopback(port, "--port")
    assert first == Address(IPV4, port)
    assert rest in ([], [Address("::1", port)])


def test_a_port_that_somebody_listens_on_is_named_with_its_flag() -> None:
    with socket.create_server((IPV4, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=rf"127\.0\.0\.1:{port} .+ with --console-port$"):
            require_free(Address(IPV4, port), "--console-port")


def test_a_port_that_is_taken_by_ipv6_alone_counts_as_taken() -> None:
    try:
        taken = socket.create_server(("::1", free_port()), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no ::1")
    with taken:
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=rf"\[::1\]:{port} .+ with --port$"):
            loopback(port, "--port")


def test_a_port_whose_connections_are_over_is_free() -> None:
    with socket.create_server((IPV4, free_port())) as server:
        port = server.getsockname()[1]
        client = socket.create_connection((IPV4, port))
        accepted, _ = server.accept()
        accepted.close()
        client.close()
    require_free(Address(IPV4, port), "--port")
