"""The first screen of README.md, as a newcomer would type it: every block of code in it is run."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.broker_process import COMMAND, BrokerProcess
from tests.inner_pytest import run_pytest

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


def test_a_kafka_client_produces_and_consumes(broker: BrokerProcess) -> None:
    (program,) = [block for block in blocks("python") if "Consumer(" in block]
    program = program.replace("localhost:19092", broker.bootstrap)
    command = [sys.executable, "-c", program]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout == "b'Hey, did you get this?'\n"


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
