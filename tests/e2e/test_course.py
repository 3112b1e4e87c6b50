"""The course of seeds/004 as people follow it: its two programs beside `kafkaesque up`.

They run as they stand, with `localhost:19092` in them, where that port is free; else they are told
another.
"""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import foreign
from tests.broker_process import free_port
from tests.up_process import Up

COURSE = Path(__file__).parents[2] / "examples" / "stocks" / "with_confluent"
BARE = ("--no-demo", "--no-console", "--no-registry", "--no-gateway", "--no-fanout")
COURSE_PORT = 19092
TOPIC = "stock_json_topic"
GROUP = "python-consumer"


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.fixture
def arguments(tmp_path: Path) -> Iterator[list[str]]:
    """The platform of a newcomer, and what the programs need to be told: nothing, if possible."""
    up = Up("--data-dir", tmp_path / "data", *BARE)
    port = COURSE_PORT if is_free(COURSE_PORT) else free_port()
    up.args[up.args.index("--course-port") + 1] = str(port)
    with up:
        yield [] if port == COURSE_PORT else [f"localhost:{port}"]


class Program:
    """A program of the course. Its user reads what it prints, and ends it with Ctrl-C."""

    def __init__(self, name: str, arguments: list[str]) -> None:
        command = [sys.executable, str(COURSE / name), *arguments]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def lines(self, count: int) -> list[str]:
        assert self._process.stdout is not None
        return [self._process.stdout.readline() for _ in range(count)]

    def end(self) -> list[str]:
        """What it still prints. It must end well."""
        self._process.send_signal(signal.SIGINT)
        rest, _ = self._process.communicate(timeout=60)
        assert self._process.returncode == 0, rest
        return rest.splitlines(keepends=True)

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *_raised: object) -> None:
        # One that is left over would take part in the group of the next run.
        self._process.kill()
        self._process.communicate()


def publish(arguments: list[str], at_least: int) -> list[str]:
    """Run json_produce.py until so many are published: all that it has published."""
    with Program("json_produce.py", arguments) as program:
        return program.lines(at_least) + program.end()


def printed(published: str, offset: int) -> str:
    """What json_consume.py prints for what json_produce.py says that it has published."""
    tick = json.loads(published.removeprefix("published "))
    assert list(tick) == ["event_time", "ticker", "price"]
    when, ticker, price = tick.values()
    return f"{when}  {ticker:<4}  {price:>6.2f}  (partition 0, offset {offset})\n"


def test_its_programs_publish_and_consume_on_localhost_19092(arguments: list[str]) -> None:
    ticks = publish(arguments, at_least=3)
    with Program("json_consume.py", arguments) as consumer:
        seen = consumer.lines(len(ticks))
        ticks += publish(arguments, at_least=1)
        seen += consumer.lines(len(ticks) - len(seen))
        assert seen == [printed(tick, offset) for offset, tick in enumerate(ticks)]
        assert consumer.end() == []

    bootstrap = arguments[0] if arguments else f"localhost:{COURSE_PORT}"
    end = foreign.watermarks(bootstrap, TOPIC)[1]
    assert foreign.committed(bootstrap, GROUP, TOPIC).offset == end


def test_a_client_whose_localhost_is_ipv6_is_served(tmp_path: Path) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no ::1")
    with Up("--data-dir", tmp_path / "data", *BARE) as up:
        for port in (up.port, up.course_port):
            assert foreign.advertised(f"[::1]:{port}") == f"127.0.0.1:{port}"
            topic = foreign.create_topic(f"[::1]:{port}")
            foreign.produce(f"[::1]:{port}", topic, [b"over IPv6"])
            assert foreign.values(foreign.read(f"[::1]:{port}", topic, 1)) == [b"over IPv6"]
