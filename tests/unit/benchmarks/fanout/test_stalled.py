"""A stalled client's account: events and gaps, out of frames that come in any pieces."""

import json
import struct

from benchmarks.fanout.report import Report, Sample
from benchmarks.fanout.stall import Outcome, outcomes, told
from benchmarks.fanout.stalled import Account, frames

from kafkaesque.client.v1 import encode_event
from kafkaesque.records.record import Record

EVENT = encode_event(1, "ticks", 0, Record(4, 5, b"k", b"v" * 300, ()))
GAP = {"type": "gap", "id": 1, "reason": "slow", "missed": 5, "ranges": [[0, 5, 9]]}


def framed(opcode: int, payload: bytes) -> bytes:
    if len(payload) < 126:
        return bytes((0x80 | opcode, len(payload))) + payload
    return bytes((0x80 | opcode, 126)) + struct.pack(">H", len(payload)) + payload


def test_only_whole_frames_are_taken() -> None:
    data = framed(2, EVENT) + framed(1, b"{}")
    for end in range(len(data)):
        whole = [payload for _, payload, _ in frames(data[:end])]
        assert whole == ([EVENT] if end >= len(data) - 4 else [])
    assert [(opcode, at) for opcode, _, at in frames(data)] == [
        (2, len(data) - 4),
        (1, len(data)),
    ]


def test_events_and_gaps_add_up_to_what_was_produced() -> None:
    account = Account()
    for opcode, payload in ((2, EVENT), (1, json.dumps(GAP).encode()), (2, EVENT)):
        account.add(opcode, payload)
    assert (account.delivered, account.missed, account.reasons) == (2, 5, {"slow"})
    assert told(account, 7)["accounted"] == 1.0


def test_a_close_has_its_reason() -> None:
    account = Account()
    account.add(8, b"\x03\xf0too slow")
    assert account.closed == "too slow"


def outcome(without_ms: float, with_ms: float, **changed: float) -> Outcome:
    plain = Outcome("pause", without_ms, with_ms, 10, 7, 0, 1.0, 0.0)
    return plain._replace(**changed)  # type: ignore[arg-type]


def test_the_others_may_be_later_by_a_quarter_or_two_milliseconds() -> None:
    assert outcome(2.0, 3.9).holds
    assert not outcome(2.0, 4.1).holds
    assert outcome(20.0, 24.9).holds
    assert not outcome(20.0, 25.1).holds


def test_memory_and_what_it_was_told_count_too() -> None:
    assert not outcome(2.0, 2.0, memory_mb=500.0).holds
    assert not outcome(2.0, 2.0, accounted=0.99).holds


def test_an_outcome_is_the_median_of_the_windows() -> None:
    report = Report("", "", {}, {})
    for p99 in (1.0, 9.0, 2.0):
        report.add(Sample("stall", "pause, without", 10, {"p99": p99, "memory_mb": 1}))
        report.add(Sample("stall", "pause, with", 10, {"p99": p99 + 1, "memory_mb": p99}))
    (found,) = outcomes(report)
    assert (found.without_ms, found.with_ms, found.memory_mb) == (2.0, 3.0, 9.0)
