"""The shape of the house: sizes, headings, one list of APIs, and what a broker process may load."""

import ast
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kafkaesque.broker.apis import APIS
from kafkaesque.protocol.messages import MESSAGES

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
EVERYTHING = [
    *SOURCES,
    *sorted((ROOT / "tests").rglob("*.py")),
    *(ROOT / "benchmarks").glob("*.py"),
]
ABORTING = {
    "alter_consumer_group_offsets",
    "delete_consumer_group_offsets",
    "delete_consumer_groups",
    "describe_consumer_groups",
    "list_consumer_group_offsets",
}
ROUTES = (
    "broker/server.py",
    "broker/connection.py",
    "broker/apis/produce.py",
    "broker/apis/fetch.py",
    "broker/partition.py",
    "log/log.py",
    "log/segment.py",
)


def test_no_file_is_longer_than_700_lines() -> None:
    long = {str(path): n for path in EVERYTHING if (n := len(path.read_text().splitlines())) > 700}
    assert long == {}


def test_every_source_file_says_what_it_is() -> None:
    silent = [path.name for path in SOURCES if not ast.get_docstring(ast.parse(path.read_text()))]
    assert silent == []


def test_every_confluent_client_of_the_tests_is_silent() -> None:
    """One that waits for the garbage collector outlives its broker, and complains of that to
    stderr: in the midst of another test, which may be one of what a command writes there.
    """
    loud = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Dict):
                keys = {key.value if isinstance(key, ast.Constant) else key for key in node.keys}
                # None is a `**`: what it spreads has to say it.
                if "bootstrap.servers" in keys and keys.isdisjoint({"log_level", None}):
                    loud.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert loud == []


def test_no_process_that_outlives_its_broker_asks_coordinators_through_librdkafka() -> None:
    """It would be aborted for a question that has timed out: client/coordinators.py."""
    endings = re.compile(r"\.(kill|stop)\(\)")
    tests = [
        path
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if path != Path(__file__) and endings.search(path.read_text())
    ]
    aborting = {
        str(path.relative_to(ROOT))
        for path in (*SOURCES, *tests)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute | ast.Constant)
        and (node.attr if isinstance(node, ast.Attribute) else node.value) in ABORTING
    }
    assert aborting == set()


@pytest.mark.parametrize("name", ROUTES)
def test_both_routes_are_described_by_the_files_they_name(name: str) -> None:
    assert (ROOT / "src" / "kafkaesque" / name).exists()
    assert f"src/kafkaesque/{name}" in (ROOT / "ARCHITECTURE.md").read_text()


def test_every_api_in_the_table_is_declared_in_every_version_it_claims() -> None:
    assert set(APIS) == set(MESSAGES)
    for key, api in APIS.items():
        assert (api.min_version, api.max_version) == MESSAGES[key].versions, api.name
        assert api.name == MESSAGES[key].name


def test_a_broker_process_loads_no_client_and_no_web_framework() -> None:
    program = "import json, sys, kafkaesque.broker.server; print(json.dumps(list(sys.modules)))"
    output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True).stdout
    loaded = set(json.loads(output))
    assert "kafkaesque.broker.broker" in loaded
    assert loaded.isdisjoint({"confluent_kafka", "fastapi", "pydantic", "rich", "kio", "pytest"})


def test_make_test_leaves_out_what_is_slow_and_nothing_else_that_ci_runs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    everything = shlex.split(project["tool"]["pytest"]["ini_options"]["addopts"])[-1]
    makefile = (ROOT / "Makefile").read_text()
    assert (
        f"$(BIN)/pytest $(IN_TWO) --hypothesis-profile=quick -m 'not slow and {everything}'\n"
        in makefile
    )
    assert "$(BIN)/pytest $(IN_TWO)\n" in makefile
    assert (ROOT / ".ci" / "run").read_text().endswith("make check\nmake test-all\n")
