"""The first screen of README.md, as a newcomer would type it: every block of code in it is run."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from tests import foreign
from tests.broker_process import COMMAND, BrokerProcess
from tests.fanout_process import FanoutProcess
from tests.inner_pytest import run_pytest
from tests.registry_process import RegistryProcess

from kafkaesque import Producer
from kafkaesque.cli.demo import TOPIC

README = Path(__file__).parents[2] / "README.md"
TEXT = README.read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[str]:
    return [line[2:] for line in block.splitlines() if line.startswith("$ ")]


def test_it_says_plainly_what_it_is_and_is_not() -> None:
    first_screen = TEXT[: TEXT.index("## ")]
    for words in ("One node, no replication", "make up", "topic produce", "topic consume"):
        assert words in first_screen


def test_the_commands_do_what_they_show(broker: BrokerProcess) -> None:
    shown = next(block for block in blocks("console") if "topic produce" in block)
    said = subprocess.run(
        ["sh", "-ec", "\n".join(command for command in commands(shown)[1:])],
        env={"PATH": f"{COMMAND.parent}:/usr/bin:/bin", "KAFKAESQUE_BROKERS": broker.bootstrap},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert said.returncode == 0, said.stderr
    expected = [line for line in shown.splitlines() if not line.startswith("$")]
    assert masked(said.stdout).endswith(masked("\n".join(expected) + "\n"))


def test_a_program_produces_and_consumes(broker: BrokerProcess) -> None:
    program, _ = [block for block in blocks("python") if "Consumer(" in block]
    program = program.replace("localhost:19092", broker.bootstrap)
    command = [sys.executable, "-c", program]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout == "AMZN {'price': 101}\n"


def test_a_model_is_a_schema(broker: BrokerProcess, tmp_path: Path) -> None:
    _, program = [block for block in blocks("python") if "Consumer(" in block]
    program = program.replace("localhost:19092", broker.bootstrap)
    with RegistryProcess(broker.bootstrap, tmp_path / "log") as registry:
        said = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "KAFKAESQUE_REGISTRY": registry.url},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert (said.stdout, said.stderr) == ("74.95\n", "")


def test_parts_of_a_stream_are_delivered_as_shown(broker: BrokerProcess, tmp_path: Path) -> None:
    (shown,) = [block for block in blocks("console") if "/sse?" in block]
    curl, _avro, listen = (command.partition("  ")[0] for command in commands(shown))
    foreign.create_topic(broker.bootstrap, TOPIC)
    with FanoutProcess(broker.bootstrap, tmp_path / "fanout.log") as fanout:
        place = fanout.url.removeprefix("http://")
        asked = shlex.split(curl.replace("127.0.0.1:8083", place))
        heard = [str(COMMAND), *shlex.split(listen)[1:], "--uri", f"ws://{place}/ws", "-n", "1"]
        with (
            subprocess.Popen(asked, stdout=subprocess.PIPE, text=True) as reader,
            subprocess.Popen(heard, stdout=subprocess.PIPE, text=True) as listener,
        ):
            assert reader.stdout is not None
            assert listener.stdout is not None
            while "subscribed" not in reader.stdout.readline():
                pass
            while "listening" not in listener.stdout.readline():
                pass
            foreign.until(lambda: "subscriptions 2" in metrics(fanout))
            with Producer(broker.bootstrap) as producer:
                producer.send_many(TOPIC, [{"price": 7}, {"price": 101}], key="AMZN")
            assert "b'AMZN'" in listener.stdout.readline()
            while not (line := reader.stdout.readline()).startswith('data: {"topic"'):
                pass
            assert "101" in line
            reader.terminate()


def metrics(fanout: FanoutProcess) -> str:
    with urlopen(f"{fanout.url}/metrics", timeout=foreign.TIMEOUT_S) as page:
        text: str = page.read().decode()
        return text


def test_the_fixture_works_as_shown(tmp_path: Path) -> None:
    (test,) = [block for block in blocks("python") if "def test_" in block]
    assert "1 passed" in run_pytest(tmp_path, {"test_readme_shows.py": test})


def test_the_classes_do_what_they_show() -> None:
    done = doctest.testfile(str(README), module_relative=False)
    assert (done.attempted, done.failed) == (5, 0)


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)#:]+)\)", TEXT))
def test_what_it_points_to_is_there(path: str) -> None:
    assert (README.parent / path).exists()


def masked(text: str) -> str:
    """Without times, which differ every time."""
    return re.sub(r"\d{4}-\d\d-\d\d.\d\d:\d\d:\d\d\.\d+", "TIME", text)
