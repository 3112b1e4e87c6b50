"""Marks are found wherever the stream is cut; what drainers say adds up."""

import asyncio
import time
from array import array
from collections import deque

import pytest
from benchmarks.fanout.drainer import Drained, merged, percentile
from benchmarks.fanout.load import value
from benchmarks.fanout.slow_drain import Client, Tally, Told

NOW_NS = time.monotonic_ns()
STREAM = b"\x82~@fa" + b"".join(b"\x82\x7f" + value(5, each, NOW_NS, 64) for each in range(4))


def drained(step: int, number: int = 5) -> Tally:
    async def feed() -> Tally:
        tally = Tally(1, 3)
        client = Client(Told(number, deque()), tally)
        for at in range(0, len(STREAM), step):
            client.data_received(STREAM[at : at + step])
        return tally

    return asyncio.run(feed())


@pytest.mark.parametrize("step", [1, 7, 38, 1000])
def test_each_message_counts_once_however_the_stream_is_cut(step: int) -> None:
    tally = drained(step)
    assert dict(tally.counts) == {"messages": 3, "missing": 0}
    assert list(tally.samples[0::2]) == [1, 2, 3]
    assert tally.finished == 1


def test_messages_of_other_keys_are_strays() -> None:
    assert drained(100, number=6).counts["strays"] == 4


def test_gaps_and_repeats_are_faults() -> None:
    async def feed() -> Tally:
        tally = Tally(0, 9)
        client = Client(Told(5, deque()), tally)
        for each in (0, 2, 2, 1):
            client.data_received(value(5, each, NOW_NS, 64))
        return tally

    counts = asyncio.run(feed()).counts
    assert counts == {"messages": 2, "missing": 1, "duplicates": 2}


def report(**changed: float) -> dict[str, float]:
    names = ("connections", "messages", "duplicates", "missing", "strays", "closed", "cpu_s")
    return {**dict.fromkeys(names, 1.0), "duplicates": 0, "missing": 0, "strays": 0, **changed}


def test_two_drainers_add_up() -> None:
    samples = [array("I", [3, 2500]).tobytes(), array("I", [3, 1500, 4, 9]).tobytes()]
    both = merged([report(closed=0), report(closed=0)], samples)
    assert both.connections == 2
    assert both.fault is None
    assert both.latencies_ms(3, 3) == [1.5, 2.5]


def test_a_fault_says_what_and_how_many() -> None:
    found = Drained(1, 9, 0, 1, 0, 2, 0.0, array("I"))
    assert found.fault == "of 10 messages: 1 missing, 2 connections closed"


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [float(each) for each in range(1, 1001)]
    assert [percentile(values, each) for each in (50, 99, 99.9, 100)] == [500, 990, 999, 1000]
    assert percentile([7.0], 99) == 7.0
