"""`kafkaesque fanout` as a process: what it says before it serves."""

import subprocess

import pytest
from tests.broker_process import COMMAND
from tests.foreign import TIMEOUT_S

NOT_OURS = "192.0.2.1"
"""An address that no machine has: the command ends when it tries to listen."""


def complaint(limit: int, *args: str) -> str:
    command = " ".join([str(COMMAND), "fanout", "--host", NOT_OURS, *args])
    done = subprocess.run(
        ["sh", "-c", f"ulimit -n {limit}; exec {command}"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 1
    assert f"kafkaesque: cannot listen on {NOT_OURS}" in done.stderr
    return done.stderr


@pytest.mark.parametrize("workers", [1, 2])
def test_too_few_open_files_are_warned_of(workers: int) -> None:
    said = complaint(256, "--workers", str(workers), "--max-connections", str(300 * workers))
    assert "may open 256 files" in said
    assert "wants 300 connections" in said


def test_enough_open_files_are_no_matter() -> None:
    assert "files" not in complaint(256, "--max-connections", "256")
