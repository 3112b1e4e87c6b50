"""Days of a broker: short plans without a fault, which together make every file call there is.

Each is a few lives long, and its lives end in different ways: a clean stop, a kill, a power cut.
"""

from typing import Any

from tests.simulation.draw import SETTINGS
from tests.simulation.plan import Crash, Plan, Step

_ALL = -1


def topics() -> Plan:
    """Made, grown, configured, deleted and made anew; the metadata log is shortened."""
    steps = [
        _step(0.1, "admin-0", "create", "t0", 2, ()),
        _step(0.2, "producer-0", "produce", "t0", 0, 2, 0, 50, _ALL, 0),
        _step(0.5, "admin-0", "grow", "t0"),
        _step(0.6, "admin-0", "configure", "t0", "max.message.bytes", "100000"),
        _step(0.6, "admin-9", "configure", "", "message.max.bytes", "50000"),
        _step(0.8, "committer-0", "commit", "t0", 0),
        _step(1.0, "admin-0", "delete", "t0"),
        _step(1.1, "admin-0", "create", "t0", 1, ()),
        *(_step(1.2 + i * 0.02, "admin-1", "configure", "t0", *_SIZES[i % 2]) for i in range(24)),
        _step(2.2, "producer-0", "produce", "t0", 0, 2, 0, 50, _ALL, 0),
        _step(5.0, "admin-0", "delete", "t0"),
        _step(5.2, "admin-0", "create", "t0", 1, ()),
        _step(5.4, "producer-0", "produce", "t0", 0, 2, 0, 50, _ALL, 0),
    ]
    return _plan(1, steps, Crash(4.5, "stop"), Crash(5.6, "kill"))


def records() -> Plan:
    """Written, rolled, read, deleted by retention and on demand."""
    steps = [
        _step(0.1, "admin-0", "create", "t0", 1, (("retention.bytes", "2000"),)),
        _step(0.1, "admin-1", "create", "t1", 1, ()),
        *_writes(0.2, "t0", 8),
        *_writes(0.2, "t1", 8),
        _step(1.0, "consumer-0", "fetch", "t1", 0, 0, 0),
        _step(1.2, "admin-1", "delete_records", "t1", 0, 0.5),
        *_writes(2.6, "t1", 4),
        _step(3.4, "consumer-1", "fetch", "t1", 0, 0, 0),
        *_writes(5.1, "t1", 3),
        _step(5.9, "admin-1", "delete_records", "t1", 0, 1.0),
        *_writes(6.0, "t1", 2),
        _step(7.5, "consumer-1", "fetch", "t1", 0, 0, 0),
        *_writes(7.6, "t1", 3),
    ]
    return _plan(2, steps, Crash(4.9, "stop"), Crash(6.4, "kill"), Crash(9.5, "cut"))


def caching() -> Plan:
    """Records that are flushed by checkpoints alone, until they are promised again."""
    steps = [
        _step(0.1, "admin-0", "create", "t0", 1, (("write.caching", "true"),)),
        _step(0.1, "admin-9", "create", "t1", 1, ()),
        *_writes(0.2, "t0", 4),
        *_writes(0.2, "t1", 2),
        _step(0.6, "admin-0", "delete_records", "t0", 0, 1.0),
        *_writes(2.0, "t0", 2),
        _step(2.6, "admin-0", "configure", "t0", "write.caching", "false"),
        *_writes(2.8, "t0", 2),
        _step(3.0, "admin-9", "configure", "", "write.caching.default", "true"),
        *_writes(3.1, "t1", 2),
        *_writes(5.1, "t1", 2),
        *_writes(7.1, "t0", 2),
    ]
    return _plan(3, steps, Crash(4.9, "cut"), Crash(7.0, "kill"))


def producers() -> Plan:
    """Idempotent and transactional ones, with commits and aborts, and offsets in transactions."""
    both = (("t0", 0), ("t1", 0))
    steps = [
        _step(0.1, "admin-0", "create", "t0", 1, ()),
        _step(0.1, "admin-1", "create", "t1", 1, ()),
        *(_step(0.2, "idempotent-0", "produce_in_sequence", "t0", 0, 2, 1) for _ in range(3)),
        _step(0.3, "transactional-0", "send", both, 1, 0),
        _step(0.3, "transactional-0", "send_offsets", "t0", 0),
        _step(0.3, "transactional-0", "end", True),
        _step(0.9, "transactional-0", "send", both, 1, 0),
        _step(0.9, "transactional-0", "end", False),
        _step(1.2, "consumer-0", "fetch", "t0", 0, 1, 0),
        _step(2.0, "admin-0", "delete_records", "t0", 0, 0.7),
        *(_step(3.0, "idempotent-0", "produce_in_sequence", "t1", 0, 2, 1) for _ in range(2)),
        _step(4.0, "transactional-0", "send", both, 1, 0),
        _step(6.0, "idempotent-0", "produce_in_sequence", "t1", 0, 2, 1),
        _step(6.0, "transactional-0", "send", both, 1, 0),
        _step(6.0, "transactional-0", "end", True),
        _step(6.5, "transactional-1", "send", both, 1, 0),
        _step(9.0, "transactional-1", "send", both, 1, 0),
        _step(9.0, "transactional-1", "end", True),
    ]
    return _plan(4, steps, Crash(4.6, "kill"), Crash(7.0, "stop"), Crash(9.8, "cut"))


def groups() -> Plan:
    """Members, committed offsets, and what is deleted of them."""
    steps = [
        _step(0.1, "admin-0", "create", "t0", 2, ()),
        _step(0.3, "member-0-0", "join"),
        _step(0.3, "member-0-0", "commit_as_member", "t0", 0),
        *(_step(0.4 + i * 0.05, "committer-0", "commit", "t0", i) for i in range(12)),
        _step(1.2, "committer-0", "delete_offset", "t0", 0),
        _step(1.3, "committer-1", "commit", "t0", 0),
        _step(1.4, "committer-1", "delete_group"),
        *(_step(1.6 + i * 0.05, "committer-0", "commit", "t0", i) for i in range(12)),
        _step(3.6, "member-0-0", "leave"),
        _step(3.7, "admin-0", "delete", "t0"),
        _step(3.9, "admin-0", "create", "t0", 1, ()),
        _step(4.1, "committer-0", "commit", "t0", 0),
        _step(5.5, "committer-0", "commit", "t0", 0),
        _step(7.0, "committer-0", "commit", "t0", 0),
    ]
    return _plan(5, steps, Crash(5.0, "cut"), Crash(6.5, "stop"))


def compaction() -> Plan:
    """Cleaned segments change places with those that they were made of, in each of three lives."""
    settings = (("cleanup.policy", "compact"),)
    steps = [
        _step(0.1, "admin-0", "create", "t0", 1, settings),
        *_writes(0.2, "t0", 8),
        *_writes(2.6, "t0", 8),
        *_writes(5.2, "t0", 8),
        _step(6.5, "consumer-0", "fetch", "t0", 0, 0, 0),
        *_writes(9.0, "t0", 6),
    ]
    return _plan(6, steps, Crash(5.0, "cut"), Crash(8.0, "stop"), Crash(11.0, "kill"))


DAYS = (topics, records, caching, producers, groups, compaction)

_SIZES = (("max.message.bytes", "100000"), ("max.message.bytes", "200000"))


def _step(at: float, actor: str, action: str, *args: Any) -> Step:
    return Step(at, actor, action, args)


def _writes(at: float, topic: str, count: int) -> list[Step]:
    """So many batches of 200 bytes, of three keys."""
    return [
        _step(at + i * 0.05, "producer-0", "produce", topic, 0, 2, i % 3, 200, _ALL, 0)
        for i in range(count)
    ]


def _plan(seed: int, steps: list[Step], *crashes: Crash) -> Plan:
    return Plan(seed, False, False, tuple(SETTINGS.items()), tuple(steps), (), crashes)
