"""Where a broker can be reached, and what it tells clients: several listeners, and none on disk."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests import foreign
from tests.broker_process import COMMAND, free_port

pytestmark = pytest.mark.slow


@contextmanager
def running(*args: str) -> Iterator[str]:
    """A broker with these options; the line that says where it listens."""
    with subprocess.Popen([COMMAND, "broker", *args], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline()
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == 0


def test_each_listener_tells_clients_its_own_address() -> None:
    first, second = free_port(), free_port()
    listen = f"127.0.0.1:{second}=localhost:{second}"
    with running("--memory", "--port", str(first), "--listen", listen) as line:
        assert f"127.0.0.1:{first}" in line
        assert f"127.0.0.1:{second}" in line
        assert foreign.advertised(f"127.0.0.1:{first}") == f"127.0.0.1:{first}"
        assert foreign.advertised(f"127.0.0.1:{second}") == f"localhost:{second}"


def test_advertise_names_what_clients_are_told() -> None:
    port = free_port()
    with running("--memory", "--port", str(port), "--advertise", f"localhost:{port}"):
        assert foreign.advertised(f"127.0.0.1:{port}") == f"localhost:{port}"


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2"])
def test_a_broker_on_all_addresses_tells_the_one_that_was_reached(address: str) -> None:
    port = free_port()
    with running("--memory", "--host", "0.0.0.0", "--port", str(port)):
        assert foreign.advertised(f"{address}:{port}") == f"{address}:{port}"


def test_a_broker_in_memory_serves_like_one_on_disk() -> None:
    port = free_port()
    with running("--memory", "--port", str(port)) as line:
        assert "in memory" in line
        bootstrap = f"127.0.0.1:{port}"
        topic = foreign.create_topic(bootstrap)
        values = [f"value {i}".encode() for i in range(300)]
        for start in range(0, 300, 100):
            foreign.produce(bootstrap, topic, values[start : start + 100])
        assert [m.value() for m in foreign.read(bootstrap, topic, 300)] == values
