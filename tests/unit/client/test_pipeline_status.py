"""Records of __pipelines, written and read."""

import pytest

from kafkaesque.client.pipelines import Command, PipelineStatus, QueryStatus, read

STATUS = PipelineStatus(
    "stocks", "r1", "running", 1000, 500, "local[*]", queries=(QueryStatus("candles", 3, 40, 2.5),)
)


def test_a_status_is_read_as_it_was_written() -> None:
    assert read(b"stocks", STATUS.to_json()) == STATUS


def test_a_command_is_read_as_it_was_written() -> None:
    command = Command("stop", "stocks", "r1", 2000)
    assert read(command.key, command.to_json()) == command


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, STATUS.to_json()),
        (b"stocks", None),
        (b"stocks", b"\xff"),
        (b"stocks", b"[]"),
        (b"stocks", b'{"state":"running"}'),
        (b"stocks", STATUS.to_json().replace(b"running", b"walking")),
        (b"stocks", STATUS.to_json().replace(b'"rows_in"', b'"rows_out"')),
        (b"stocks/command", b'{"command":"explode","run":"r1","at":1}'),
        (b"stocks/command", b'{"command":"stop"}'),
    ],
)
def test_anything_else_says_nothing(key: bytes | None, value: bytes | None) -> None:
    assert read(key, value) is None


def test_who_is_silent_while_it_should_run_is_lost() -> None:
    assert not STATUS.is_lost(16_000)
    assert STATUS.is_lost(16_001)
