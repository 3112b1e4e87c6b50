"""Running `kafkaesque` commands against a broker, in this process.

capfd, and not capsys, because librdkafka would write past Python.
"""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from kafkaesque.cli.main import main


@dataclass(frozen=True)
class Done:
    exit_code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def rows(self) -> list[list[str]]:
        """The words of each line; no cell that is printed may have blanks in it."""
        return [line.split() for line in self.lines]

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Commands:
    """`commands("group", "list")`: the command ends with --brokers, so that it reaches a broker."""

    def __init__(self, bootstrap: str, capfd: pytest.CaptureFixture[str]) -> None:
        self.bootstrap = bootstrap
        self._capfd = capfd

    def __call__(self, *args: object) -> Done:
        self._capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            main([*map(str, args), "--brokers", self.bootstrap])
        return Done(int(end.value.code or 0), *self._capfd.readouterr())

    def succeed(self, *args: object) -> Done:
        done = self(*args)
        assert (done.exit_code, done.err) == (0, "")
        return done

    def complain(self, *args: object) -> str:
        """A command that ends with exit code 1 and one complaint: what it says."""
        done = self(*args)
        assert (done.exit_code, done.out) == (1, "")
        assert done.err.startswith("kafkaesque: ")
        assert done.err.count("\n") == 1
        return done.err
