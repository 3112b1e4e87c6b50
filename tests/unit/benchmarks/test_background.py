"""A reader in the background reads until it says how long it took, not until its process ends."""

import subprocess
import sys
from contextlib import closing

import pytest
from benchmarks import background
from benchmarks.background import Reader

LINGERS = "print('ready'); input(); print(0.5); input()"


def _starts(monkeypatch: pytest.MonkeyPatch, program: str) -> list[subprocess.Popen[str]]:
    """The processes that readers start from now on, which run this program."""
    started: list[subprocess.Popen[str]] = []

    def start(*_: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-u", "-c", program]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
        return started[-1]

    monkeypatch.setattr(background, "_start", start)
    return started


def test_a_reader_that_is_done_reads_no_more_though_its_process_lives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = _starts(monkeypatch, LINGERS)
    with closing(Reader("", "", 1)) as reader:
        assert reader.reads
        reader.go()
        while reader.reads:
            pass
        assert reader.seconds() == 0.5
        assert started[0].poll() is None
    assert started[0].returncode is not None


def test_a_reader_that_fails_at_its_start_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = _starts(monkeypatch, "raise SystemExit(3)")
    with pytest.raises(RuntimeError, match="exit code 3"):
        Reader("", "", 1)
    assert started[0].stdout is not None
    assert started[0].stdout.closed
