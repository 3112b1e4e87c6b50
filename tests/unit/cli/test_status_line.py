"""The line of a terminal that is written over: shown to people alone, and never longer than one."""

import sys

import pytest

from kafkaesque.cli.status_line import StatusLine

Shown = pytest.CaptureFixture[str]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> StatusLine:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    return StatusLine()


def test_a_line_replaces_the_one_before_and_goes(terminal: StatusLine, capsys: Shown) -> None:
    terminal.show("1 of 2")
    terminal.show("2 of 2")
    terminal.clear()
    terminal.clear()
    assert capsys.readouterr() == ("", "\r\x1b[K1 of 2\r\x1b[K2 of 2\r\x1b[K")


def test_what_would_wrap_is_cut(terminal: StatusLine, capsys: Shown) -> None:
    terminal.show("0123456789" * 3)
    assert capsys.readouterr().err == "\r\x1b[K0123456789012345678"


def test_nothing_is_shown_where_nobody_looks(capsys: Shown) -> None:
    line = StatusLine()
    assert not line.is_on
    line.show("1 of 2")
    line.clear()
    assert capsys.readouterr() == ("", "")
