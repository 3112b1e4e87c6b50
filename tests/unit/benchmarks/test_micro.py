"""The micro-benchmarks still measure something, and their table says how much it has changed."""

import asyncio

import pytest
from benchmarks.micro.__main__ import best, table
from benchmarks.micro.case import Case
from benchmarks.micro.worker import CASES
from benchmarks.profiling import table as profile


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_operation_can_be_repeated(case: Case) -> None:
    async def repeat() -> None:
        async with case.prepare() as operation:
            for _ in range(3):
                operation()

    asyncio.run(repeat())


def test_the_best_round_of_each_case_counts() -> None:
    assert best([{"a": 3, "b": 1}, {"a": 2, "b": 4}, {"b": 5}]) == {"a": 2, "b": 1}


def test_the_ratio_is_to_the_baseline_and_missing_where_that_lacks_the_case() -> None:
    lines = table({"append": 50, "new": 7}, {"append": 100}).splitlines()
    assert lines[1].split() == ["append", "50", "100", "0.50"]
    assert lines[2].split() == ["new", "7", "–", "–"]


def test_a_profile_counts_a_function_by_itself_and_with_what_it_calls() -> None:
    work, write = "append (kafkaesque/log.py:1)", "pwrite (libc)"
    waiting = "Disk._work (kafkaesque/broker/disk.py:9);futex (libc) 50\nrun;epoll_wait (libc) 40"
    by_themselves, ours = profile(f"run;{work};{write} 3\nrun;{work} 1\n{waiting}").split("\n\n")
    assert [line.split(maxsplit=1) for line in by_themselves.splitlines()[1:]] == [
        ["75.0", write],
        ["25.0", work],
    ]
    assert [line.split(maxsplit=1) for line in ours.splitlines()[1:]] == [["100.0", work]]
