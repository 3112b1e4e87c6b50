"""Running a command in this process."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from kafkaesque.cli.main import main


@dataclass(frozen=True)
class Result:
    exit_code: int
    out: str
    err: str


@pytest.fixture
def run(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    """`run("topic", "list")`: capfd also sees what librdkafka would write past Python."""
    for name in ("HOST", "PORT", "DATA_DIR", "BROKERS"):
        monkeypatch.delenv(f"KAFKAESQUE_{name}", raising=False)

    def run_command(*args: str) -> Result:
        with pytest.raises(SystemExit) as end:
            main(args)
        out, err = capfd.readouterr()
        return Result(int(end.value.code or 0), out, err)

    return run_command
