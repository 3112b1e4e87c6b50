"""A transactional copy by confluent-kafka and by Java's client: copiers and broker are killed -9.

Output equals input exactly once for who reads what is committed, at every moment and in the end.
"""

import sys
from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.compat.java_programs import java_program
from tests.compat.tools import ToolMissingError
from tests.crash.copies import Copy, Transcript, copy_of, copy_value
from tests.crash.copy_scene import CopyScene

CONFLUENT = (sys.executable, "-m", "tests.crash.copier")


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_three_kills_of_copiers_and_broker_leave_an_exact_copy(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        with CopyScene(broker, CONFLUENT, tmp_path) as scene:
            scene.run(rounds=3)
        assert "Traceback" not in broker.log


@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_fifty_kills_of_copiers_and_broker_leave_an_exact_copy(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        with CopyScene(broker, CONFLUENT, tmp_path) as scene:
            scene.run(rounds=50)
        assert "Traceback" not in broker.log


@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_fifty_kills_of_java_copiers_and_broker_leave_an_exact_copy(tmp_path: Path) -> None:
    try:
        command = java_program("TransactionalCopier", tmp_path / "classes")
    except ToolMissingError as missing:
        pytest.skip(str(missing))
    with BrokerProcess(tmp_path / "data") as broker:
        with CopyScene(broker, command, tmp_path) as scene:
            scene.run(rounds=50)
        assert "Traceback" not in broker.log


def test_a_copy_says_what_it_is_of() -> None:
    assert copy_of(copy_value(7, False, b"1 2")) == Copy(7, False, "1 2")
    assert copy_of(copy_value(0, True, b"")) == Copy(0, True, "")


def _transcript(*offsets: int) -> Transcript:
    transcript = Transcript()
    for offset in offsets:
        transcript.note(0, Copy(offset, False, f"v{offset}"))
    return transcript


def test_an_exact_copy_is_not_complained_about() -> None:
    assert _transcript(0, 1).broken({0: ["v0", "v1"], 1: []}) == []


@pytest.mark.parametrize(
    ("offsets", "what"),
    [((0, 0), "comes again"), ((0, 2), "where that of 1 is due"), ((1, 0), "comes again")],
    ids=["twice", "left out", "reordered"],
)
def test_a_copy_that_comes_at_the_wrong_time_is_noticed(offsets: list[int], what: str) -> None:
    assert any(what in problem for problem in _transcript(*offsets).problems)


def test_a_copy_that_is_missing_or_another_is_noticed_in_the_end() -> None:
    assert len(_transcript(0).broken({0: ["v0", "v1"]})) == 1
    assert len(_transcript(0).broken({0: ["x"]})) == 1
    assert len(_transcript().broken({3: ["v0"]})) == 1


def test_a_copy_of_an_aborted_transaction_is_noticed() -> None:
    transcript = Transcript()
    transcript.note(0, Copy(0, True, "v0"))
    assert "was aborted" in transcript.problems[0]
