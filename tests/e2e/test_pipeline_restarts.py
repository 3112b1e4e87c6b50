"""A pipeline whose query fails, is started again, is stopped and started from outside."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow.parquet
import pytest
from tests import foreign
from tests.broker_process import COMMAND, BrokerProcess
from tests.pipeline_status import status_of

from kafkaesque.client.pipelines import PipelineStatus

pytestmark = pytest.mark.slow

# The function runs in Spark's workers, and fails as long as a file is there.
FILE = """
from pathlib import Path

from pyspark.sql import functions as sql

from kafkaesque.pipelines import SparkSink, TopicSource, pipeline

events = TopicSource("events")
numbers = SparkSink("parquet", path={out!r})


@sql.udf("long", useArrow=True)
def number(value):
    if Path({trouble!r}).exists():
        raise RuntimeError("the weather is bad")
    return int(value)


@pipeline(to="numbers")
def counted(events):
    return events.select(number("value").alias("number"))
"""


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[str]:
    with BrokerProcess(tmp_path / "data") as process:
        yield process.bootstrap


def written(out: Path) -> list[int]:
    """What Spark has committed: its log names the files."""
    numbers: list[int] = []
    for log in (out / "_spark_metadata").glob("[0-9]*"):
        for line in log.read_text().splitlines()[1:]:
            path = urlsplit(json.loads(line)["path"]).path
            numbers += pyarrow.parquet.read_table(path)["number"].to_pylist()
    return sorted(numbers)


def pipeline(brokers: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(COMMAND), "pipeline", *words, "--brokers", brokers]
    return subprocess.run(command, capture_output=True, text=True)


def has_failed(status: PipelineStatus) -> bool:
    return status.restarts > 0 and status.error == "the weather is bad"


@pytest.mark.timeout(600)
def test_what_fails_is_started_again_and_what_is_stopped_waits(
    tmp_path: Path, brokers: str
) -> None:
    out, trouble, file = tmp_path / "out", tmp_path / "trouble", tmp_path / "counted.py"
    file.write_text(FILE.format(out=str(out), trouble=str(trouble)))
    foreign.create_topic(brokers, "events")
    foreign.produce(brokers, "events", [b"%d" % each for each in range(10)])
    run = [
        COMMAND,
        "pipeline",
        "run",
        file,
        "--brokers",
        brokers,
        "--stay",
        "--interval",
        "1 second",
    ]
    with subprocess.Popen(
        [str(word) for word in run], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            foreign.until(lambda: written(out) == list(range(10)), 100)
            trouble.touch()
            foreign.produce(brokers, "events", [b"%d" % each for each in range(10, 15)])
            foreign.until(lambda: has_failed(status_of(brokers, "counted")), 100)
            trouble.unlink()
            foreign.until(lambda: written(out) == list(range(15)), 100)
            foreign.until(lambda: status_of(brokers, "counted").state == "running")

            assert pipeline(brokers, "stop", "counted").returncode == 0
            assert status_of(brokers, "counted").state == "stopped"
            foreign.produce(brokers, "events", [b"15"])
            assert pipeline(brokers, "start", "counted").returncode == 0
            foreign.until(lambda: written(out) == list(range(16)), 100)
            process.send_signal(signal.SIGTERM)
            said = process.communicate(timeout=100)[1]
        finally:
            process.kill()
    assert process.returncode == 0, said
    assert "counted failed (the weather is bad); it starts again in" in said
    assert status_of(brokers, "counted").state == "finished"
    refused = pipeline(brokers, "stop", "counted")
    assert refused.returncode == 1
    assert "does not run" in refused.stderr
