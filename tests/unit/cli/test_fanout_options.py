"""`kafkaesque fanout`: its options are the fields of FanoutConfig, and wrong ones are refused."""

import socket
from collections.abc import Callable
from contextlib import closing
from dataclasses import fields
from pathlib import Path

import pytest
from tests.unit.cli.conftest import Result

from kafkaesque.client.connection import Address, Connection
from kafkaesque.client.registry_address import RegistryAddress
from kafkaesque.gateway.fanout import workers
from kafkaesque.gateway.fanout.config import FanoutConfig

Run = Callable[..., Result]

EVERY_OPTION = (
    "--brokers b.example:9093 --host 0.0.0.0 --port 1 --tcp-port 2 --workers 3 --tls-cert c.pem "
    "--tls-key k.pem --tokens t.toml --registry http://r.example --registry-user u "
    "--registry-password p --registry-ca ca.pem --origin https://a.example "
    "--origin https://b.example "
    "--max-connections 4 --max-connections-per-address 5 --max-new-per-second 6 "
    "--max-requests-per-second 7.5 --max-subscriptions 8 --ping-interval 9 "
    "--handshake-timeout 10.5 --buffer 11 --ring-bytes 120000 --send-buffer-bytes 13000 "
    "--catch-up-readers 14 "
    "--read-uncommitted --max-wait 15 --linger 1.5 --metadata-interval 16 --drain 17"
)
AS_CONFIG = FanoutConfig(
    connection=Connection(brokers=(Address("b.example", 9093),)),
    web=Address("0.0.0.0", 1),
    tcp=Address("0.0.0.0", 2),
    workers=3,
    tls_cert=Path("c.pem"),
    tls_key=Path("k.pem"),
    registry=RegistryAddress("http://r.example", "u", "p", None, Path("ca.pem")),
    tokens=Path("t.toml"),
    origins=("https://a.example", "https://b.example"),
    max_connections=4,
    max_connections_per_address=5,
    max_new_per_second=6,
    max_requests_per_second=7.5,
    max_subscriptions=8,
    ping_interval_s=9,
    handshake_s=10.5,
    buffer=11,
    ring_bytes=120000,
    send_buffer_bytes=13000,
    catch_up_readers=14,
    read_committed=False,
    max_wait_ms=15,
    linger_ms=1.5,
    metadata_interval_s=16,
    drain_s=17,
)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[FanoutConfig]:
    """What would have been run."""
    configs: list[FanoutConfig] = []

    def remember(
        config: FanoutConfig, ready: Callable[[FanoutConfig], None], log_level: str
    ) -> None:
        configs.append(config)
        ready(config)

    monkeypatch.setattr(workers, "run", remember)
    return configs


def test_each_field_has_an_option(run: Run, started: list[FanoutConfig]) -> None:
    default = FanoutConfig(Connection())
    assert not [
        f.name for f in fields(default) if getattr(AS_CONFIG, f.name) == getattr(default, f.name)
    ]
    assert run("fanout", *EVERY_OPTION.split()).exit_code == 0
    assert started == [AS_CONFIG]


def test_the_defaults_are_the_configs_own(run: Run, started: list[FanoutConfig]) -> None:
    done = run("fanout")
    assert started == [FanoutConfig(Connection())]
    assert done.out == (
        "kafkaesque fanout on http://127.0.0.1:8083 and tcp 127.0.0.1:8084 "
        "(brokers 127.0.0.1:9092); stop with Ctrl-C\n"
    )


def test_the_environment_is_heard(
    run: Run, started: list[FanoutConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKAESQUE_FANOUT_PORT", "0")
    monkeypatch.setenv("KAFKAESQUE_FANOUT_ORIGIN", "https://a.example https://b.example")
    run("fanout")
    assert started[0].web.port == 0
    assert started[0].origins == ("https://a.example", "https://b.example")


def test_one_port_cannot_serve_both(run: Run) -> None:
    done = run("fanout", "--port", "8083", "--tcp-port", "8083")
    assert done.exit_code == 2
    assert "both 8083" in done.err


@pytest.mark.parametrize(("flag", "other"), [("--port", "--tcp-port"), ("--tcp-port", "--port")])
def test_a_port_that_is_taken_names_itself_and_the_option(run: Run, flag: str, other: str) -> None:
    with closing(socket.create_server(("127.0.0.1", 0), reuse_port=True)) as taken:
        port = taken.getsockname()[1]
        done = run("fanout", flag, str(port), other, "0")
    assert done.exit_code == 1
    assert f"127.0.0.1:{port} is in use" in done.err
    assert f"with {flag} " in done.err


@pytest.mark.parametrize("flag", ["--tokens", "--tls-cert"])
def test_a_file_that_is_not_there_is_refused_before_anything_runs(run: Run, flag: str) -> None:
    done = run("fanout", "--port", "0", "--tcp-port", "0", flag, "absent")
    assert done.exit_code == 1
    assert "absent" in done.err
    assert "No such file" in done.err


def test_a_host_that_is_not_ours_is_named(run: Run) -> None:
    done = run("fanout", "--host", "192.0.2.1", "--port", "0")
    assert done.exit_code == 1
    assert "192.0.2.1:0" in done.err
    assert "--host" in done.err
