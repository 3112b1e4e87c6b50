"""The child process: a request in, a result out, and an end with whoever asked."""

import json
import subprocess
import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from tests.unit.log.compacting import keyed, known, packed, pairs, request, rules, swap_in
from tests.unit.log.logs import flush

from kafkaesque.log.compact import Request, Result, compact, run
from kafkaesque.log.compaction import Rules
from kafkaesque.log.disk import DiskSegments
from kafkaesque.log.files import OsFiles
from kafkaesque.log.log import Log, LogConfig
from kafkaesque.types import AbortedTransaction

COMMAND = [sys.executable, "-m", "kafkaesque.log.compact"]


def written(directory: Path, count: int) -> tuple[Log, Request]:
    log = Log.open(DiskSegments(OsFiles(), str(directory)), LogConfig(segment_bytes=4000))
    for number in range(count):
        keyed(log, *((f"{number % 10}-{i}", f"{number}") for i in range(20)))
    log.roll()
    flush(log)
    asked = request(log, rules(log), log.end_offset, str(directory))
    assert asked is not None
    return log, asked


def start() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def ask(asked: Request) -> tuple[int, bytes, bytes]:
    """Exit code and output. Its input stays open to the end."""
    with start() as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdin.writelines(asked.parts())
        child.stdin.flush()
        return child.wait(60), child.stdout.read(), child.stderr.read()


def test_the_child_does_what_the_same_function_does_here(tmp_path: Path) -> None:
    log, asked = written(tmp_path, 50)
    expected = run(compact(OsFiles(), asked), lambda: None)
    log.remove_cleaned()
    code, output, complaint = ask(asked)
    assert (code, complaint) == (0, b"")
    result = Result.from_json(output)
    assert result == expected
    swap_in(log, result)
    assert [offset for offset, _, _ in pairs(log)] == list(range(800, 1000))


@pytest.mark.parametrize("count", [0, 1, 2500])
def test_requests_and_results_survive_their_way_to_the_child_and_back(
    tmp_path: Path, count: int
) -> None:
    producers: dict[int, bytes] = {}
    for number in range(count):
        producers |= known(number, epoch=number % 7, last_offset=number if number % 3 else None)
    aborted = [AbortedTransaction(number, 2, number + 3) for number in range(count)]
    given = Rules(5, 6, 7, 8, [b"".join(packed(aborted))], producers)
    asked = Request("/somewhere", ((0, 5, 100), (5, 9, 200)), 1, 2, 3, given)
    assert Request.read(BytesIO(b"".join(asked.parts()))) == asked
    _, real = written(tmp_path, 5)
    result = run(compact(OsFiles(), real), lambda: None)
    assert Result.from_json(result.to_json()) == result


def test_no_part_of_a_request_is_large(tmp_path: Path) -> None:
    """The broker makes each of them in one turn of its loop."""
    producers: dict[int, bytes] = {}
    for number in range(5000):
        producers |= known(number, last_offset=number)
    aborted = [AbortedTransaction(number, 2, 3) for number in range(5000)]
    _, asked = written(tmp_path, 5)
    asked = replace(asked, rules=replace(asked.rules, aborted=packed(aborted), producers=producers))
    assert max(map(len, asked.parts())) <= 1000 * max(map(len, producers.values()))


@pytest.mark.parametrize("loss", ["missing", "short", "rubbish"])
def test_a_segment_that_cannot_be_read_is_told_on_stderr(tmp_path: Path, loss: str) -> None:
    _, asked = written(tmp_path, 50)
    path = tmp_path / f"{asked.segments[1][0]:020d}.log"
    if loss == "missing":
        path.unlink()
    elif loss == "short":
        path.write_bytes(path.read_bytes()[:-1])
    else:
        path.write_bytes(b"rubbish!" * (asked.segments[1][2] // 8 + 1))
    code, output, complaint = ask(asked)
    assert (code, output) == (1, b"")
    assert complaint.count(b"\n") == 1


def test_the_child_ends_when_its_input_does(tmp_path: Path) -> None:
    """Whether or not the pass would have been over soon: this one is far from it."""
    _, asked = written(tmp_path, 50)
    fields = json.loads(asked.line())
    fields["segments"] = fields["segments"] * 3000
    with start() as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(fields).encode() + b"\n")
        child.stdin.close()
        assert child.wait(60) == 1
        assert child.stdout.read() == b""


def test_the_child_ends_when_its_input_does_in_the_middle_of_a_request(tmp_path: Path) -> None:
    _, asked = written(tmp_path, 50)
    asked = replace(asked, rules=replace(asked.rules, producers=known(1, last_offset=2)))
    with start() as child:
        assert child.stdin is not None
        assert child.stderr is not None
        child.stdin.write(b"".join(asked.parts())[:-1])
        child.stdin.close()
        assert child.wait(60) == 1
        assert child.stderr.read() == b"the request ends too early\n"
