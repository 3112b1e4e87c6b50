"""Running a command in this process."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafkaesque.cli.main import main


@dataclass(frozen=True)
class Result:
    exit_code: int
    out: str
    err: str


@pytest.fixture
def run(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Result]:
    """`run("topic", "list")`: capfd also sees what librdkafka would write past Python."""
    for name in os.environ:
        if name.startswith("KAFKAESQUE_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)

    def run_command(*args: str) -> Result:
        with pytest.raises(SystemExit) as end:
            main(args)
        out, err = capfd.readouterr()
        return Result(int(end.value.code or 0), out, err)

    return run_command
