"""The fixtures as users meet them: pytest in a process of its own, with a test file of theirs."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.inner_pytest import run_pytest

pytestmark = pytest.mark.slow

INI = "[pytest]\naddopts = --strict-markers\n"


def run(directory: Path, tests: str, *arguments: str, ini: str = "") -> str:
    return run_pytest(directory, {"pytest.ini": INI + ini, "test_it.py": tests}, *arguments)


def test_each_test_has_a_broker_of_its_own_and_the_session_one_for_all(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        """
import pytest

@pytest.mark.parametrize("offset", [0, 1])
def test_it(kafka, kafka_session, offset):
    assert kafka.put("t", "v") == 0
    assert kafka_session.put("t", "v") == offset
    assert kafka.bootstrap_servers != kafka_session.bootstrap_servers
""",
    )
    assert "2 passed" in said


def test_settings_come_from_the_ini_file_and_from_the_marker(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        """
import pytest
from confluent_kafka.admin import AdminClient

pytestmark = pytest.mark.kafka(settings={"num.partitions": 5, "message.max.bytes": 2000})

def partitions(kafka):
    client = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    return len(client.list_topics("new", timeout=60).topics["new"].partitions)

def test_of_the_module(kafka):
    assert partitions(kafka) == 5

@pytest.mark.kafka(settings={"num.partitions": 7})
def test_of_the_function(kafka):
    assert partitions(kafka) == 7

def test_of_the_ini_file(kafka_session):
    assert partitions(kafka_session) == 3

@pytest.mark.kafka(settings={"auto.create.topics.enable": False})
def test_no(kafka):
    assert partitions(kafka) == 0
""",
        ini="kafka_settings =\n    num.partitions = 3\n    message.max.bytes=1000\n",
    )
    assert "4 passed" in said


def test_a_broker_may_keep_its_data_in_files(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        """
import pytest

@pytest.mark.kafka(directory=True)
def test_it(kafka, tmp_path):
    kafka.put("t", "v")
    assert (tmp_path / "kafka" / "t-0").is_dir()
""",
    )
    assert "1 passed" in said


def test_a_wrong_marker_says_what_is_wrong(tmp_path: Path) -> None:
    markers = ("kafka(setings={})", "kafka('x')", "kafka(settings={'num.partitons': 1})")
    tests = [
        f"@pytest.mark.{marker}\ndef test_{number}(kafka): pass\n"
        for number, marker in enumerate(markers)
    ]
    said = run(tmp_path, "\n".join(["import pytest", *tests]))
    assert "3 errors" in said
    for complaint in (
        "takes directory and settings by name, not setings",
        "takes directory and settings by name, not 'x'",
        "num.partitons: no such setting",
    ):
        assert complaint in said


def test_a_wrong_line_in_the_ini_file_says_what_is_wrong(tmp_path: Path) -> None:
    said = run(tmp_path, "def test_it(kafka): pass\n", ini="kafka_settings = num.partitions\n")
    assert "'num.partitions' is not a setting; write name=value" in said


def test_the_marker_and_the_fixtures_are_described(tmp_path: Path) -> None:
    assert "@pytest.mark.kafka(settings=" in run(tmp_path, "", "--markers")
    described = run(tmp_path, "", "--fixtures")
    assert "A fresh Kafka broker in memory" in described
    assert "kafka_session [session scope]" in described


def test_the_plugin_costs_nothing_until_a_fixture_is_used(tmp_path: Path) -> None:
    program = """
import sys, pytest
before = set(sys.modules)
import kafkaesque.testing.plugin
loaded = {name for name in set(sys.modules) - before}
assert loaded == {"kafkaesque", "kafkaesque.testing", "kafkaesque.testing.plugin"}, loaded
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
