"""What a forked process may be, and where it looks for modules."""

import sys
from pathlib import Path
from uuid import uuid4

import pytest

from kafkaesque.pipelines.forking.asking import Request
from kafkaesque.pipelines.forking.forks import talking_in
from kafkaesque.pipelines.forking.server import exit_code_of, fits, search_path, shown_name

SERVERS = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "HOME": "/home/a"}


def request(*arguments: str, **environ: str) -> Request:
    return Request(list(arguments), environ, "/work")


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"PYTHONHASHSEED": "0"},
        {"HOME": "/home/b"},
        {"PYTHONPATH": "/elsewhere", "PYTHONUNBUFFERED": "YES"},
        {"PYTHON_WORKER_FACTORY_PORT": "4000"},
        {"OMP_NUM_THREADS": "1"},
    ],
)
def test_a_request_fits_whose_libraries_would_be_loaded_alike(environ: dict[str, str]) -> None:
    assert fits(request("-m", "pyspark.daemon", **environ), SERVERS)


@pytest.mark.parametrize(
    "environ",
    [
        {"PYTHONHASHSEED": "1"},
        {"PYTHONOPTIMIZE": "1"},
        {"OMP_NUM_THREADS": "4"},
        {"LD_PRELOAD": "other.so"},
        {"ARROW_DEFAULT_MEMORY_POOL": "system"},
    ],
)
def test_a_request_with_settings_that_are_read_at_the_start_does_not(
    environ: dict[str, str],
) -> None:
    assert not fits(request("-m", "pyspark.daemon", **environ), SERVERS)


def test_only_modules_are_run() -> None:
    assert not fits(request("--version"), SERVERS)
    assert not fits(request(), SERVERS)


def test_modules_are_looked_for_where_python_would(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = request("-m", "x", PYTHONPATH="/a:/lib:")
    assert search_path(asked, ["/server", "/lib", "/site"]) == ["/work", "/a", "/lib", "/site"]
    assert search_path(request("-m", "x"), ["/server", "/lib"]) == ["/work", "/lib"]
    flags = type("Flags", (), {"safe_path": True})
    monkeypatch.setattr(sys, "flags", flags)
    assert search_path(request("-m", "x"), ["/lib", "/site"]) == ["/lib", "/site"]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["pyspark.daemon", "pyspark.worker"], "worker"),
        (["pyspark.daemon"], "daemon"),
        (["pyspark.sql.streaming.python_streaming_source_runner"], "streaming_source_runner"),
        (["json.tool", "file.json"], "tool"),
    ],
)
def test_a_process_is_shown_by_what_it_does(words: list[str], shown: str) -> None:
    assert shown_name(words[0], words[1:]) == shown


@pytest.mark.parametrize(("told", "code"), [(None, 0), (0, 0), (3, 3), (-1, 255), ("why", 1)])
def test_how_a_process_ends_is_read_as_python_does(told: int | str | None, code: int) -> None:
    assert exit_code_of(SystemExit(told)) == code


def test_spark_has_sockets_where_their_paths_have_room() -> None:
    room = 107 - len(f"/.{uuid4()}.sock")
    short, long = (Path("/" + "d" * length) for length in (room - 1, room))
    assert talking_in(short)["spark.python.unix.domain.socket.dir"] == str(short)
    assert talking_in(long) == {}
