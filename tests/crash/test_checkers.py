"""The judges of the crash tests notice each kind of broken promise, and nothing else."""

from uuid import UUID

from tests.crash.exactly_once import Commits, Message, Place, broken_promises, changed
from tests.crash.promises import ABSENT, Found, FoundLog, Promises, TopicState
from tests.wire.requests import batch

from kafkaesque.records.batch import stamp

A, B, C = Message(0, 0), Message(0, 1), Message(1, 0)
KEPT = {Place(0, 0): A, Place(0, 1): C, Place(0, 2): B}
ACKNOWLEDGED = {A: Place(0, 0), B: Place(0, 2)}
SENT = {A, B, C}


def test_a_log_that_keeps_every_promise_is_not_complained_about() -> None:
    assert broken_promises(SENT, ACKNOWLEDGED, KEPT) == []


def test_an_acknowledged_message_that_is_lost_is_noticed() -> None:
    found = {Place(0, 0): A, Place(0, 1): C}
    assert broken_promises(SENT, ACKNOWLEDGED, found) == [
        f"{B} was acknowledged at {Place(0, 2)}, where None is found"
    ]


def test_an_acknowledged_message_elsewhere_is_noticed() -> None:
    found = {Place(0, 0): A, Place(0, 1): B, Place(0, 2): C}
    assert len(broken_promises(SENT, ACKNOWLEDGED, found)) == 1


def test_a_message_that_is_there_twice_is_noticed_though_nobody_was_told_of_it() -> None:
    problems = broken_promises(SENT, ACKNOWLEDGED, {**KEPT, Place(0, 3): C})
    assert problems == [f"{C} is found at {Place(0, 1)} and again at {Place(0, 3)}"]


def test_messages_out_of_order_are_noticed() -> None:
    problems = broken_promises(SENT, {}, {Place(0, 0): B, Place(0, 1): A})
    assert problems == [f"{A} at {Place(0, 1)} comes after sequence 1"]


def test_a_gap_between_offsets_is_noticed() -> None:
    problems = broken_promises(SENT, {}, {Place(0, 0): A, Place(0, 2): B})
    assert problems == [f"{Place(0, 2)} follows offset 0: a gap"]


def test_a_message_that_nobody_sent_is_noticed() -> None:
    stranger = Message(7, 7)
    problems = broken_promises(SENT, {}, {Place(0, 0): stranger})
    assert problems == [f"{stranger} at {Place(0, 0)} was never sent"]


def test_what_has_been_read_may_neither_change_nor_vanish() -> None:
    assert changed(KEPT, {**KEPT, Place(1, 0): A}) == []
    assert len(changed(KEPT, {**KEPT, Place(0, 1): A})) == 1
    assert len(changed(KEPT, {Place(0, 0): A, Place(0, 1): C})) == 1


def test_a_commit_is_the_last_acknowledged_or_one_in_doubt_since() -> None:
    commits = Commits()
    commits.attempted({0: 5})
    assert commits.broken_promises({}) == []
    commits.acknowledged({0: 5})
    commits.attempted({0: 9})
    assert commits.broken_promises({0: 5}) == []
    assert commits.broken_promises({0: 9}) == []
    assert len(commits.broken_promises({0: 4})) == 1
    assert len(commits.broken_promises({})) == 1


TOPIC = UUID(int=1)
KEY = (TOPIC, 0)
FIRST, SECOND = batch([b"a", b"b"]), batch([b"c"])


def _at(records: bytearray, offset: int) -> bytes:
    stamped = bytearray(records)
    stamp(stamped, 0, offset, 0)
    return bytes(stamped)


def _promises() -> Promises:
    """A topic with two acknowledged batches, the first of them two records."""
    promises = Promises()
    promises.asked_for("t", TopicState(1))
    promises.told("t", TopicState(1, TOPIC))
    for records, offset in ((FIRST, 0), (SECOND, 2)):
        promises.sending(KEY, records)
        promises.acknowledged(KEY, offset, records)
    return promises


def _found(log: FoundLog | None = None, **commits: int) -> Found:
    log = log or FoundLog(0, 3, {0: _at(FIRST, 0), 2: _at(SECOND, 2)})
    found = Found(topics={"t": (TOPIC, 1)}, logs={KEY: log})
    found.commits = {(group, *KEY): offset for group, offset in commits.items()}
    return found


def test_a_broker_that_keeps_every_promise_is_not_complained_about() -> None:
    assert _promises().broken(_found()) == []


def test_an_acknowledged_batch_that_is_lost_is_noticed() -> None:
    log = FoundLog(0, 2, {0: _at(FIRST, 0)})
    assert any("offset 2 is lost" in problem for problem in _promises().broken(_found(log)))


def test_an_acknowledged_batch_that_has_changed_is_noticed() -> None:
    promises = _promises()
    other = batch([b"x"])
    promises.sending(KEY, other)
    log = FoundLog(0, 3, {0: _at(FIRST, 0), 2: _at(other, 2)})
    assert any("offset 2 is changed" in problem for problem in promises.broken(_found(log)))


def test_a_batch_that_was_only_fetched_must_stay_too() -> None:
    promises = _promises()
    third = batch([b"d"])
    promises.sending(KEY, third)
    assert promises.broken(_found()) == []
    promises.fetched(KEY, 3, _at(third, 3))
    assert any("offset 3 is lost" in problem for problem in promises.broken(_found()))


def test_another_batch_at_an_offset_that_was_promised_is_noticed_at_once() -> None:
    promises = _promises()
    promises.acknowledged(KEY, 2, batch([b"x"]))
    assert len(promises.problems) == 1


def test_a_batch_that_is_there_twice_or_that_nobody_sent_is_noticed() -> None:
    batches = {0: _at(FIRST, 0), 2: _at(SECOND, 2), 3: _at(SECOND, 3), 4: _at(batch([b"?"]), 4)}
    problems = _promises().broken(_found(FoundLog(0, 5, batches)))
    assert [problem.partition(": ")[2] for problem in problems] == [
        "the batch at offset 3 is there twice",
        "nobody has sent the batch at offset 4",
    ]


def test_a_batch_of_another_partition_is_noticed() -> None:
    promises = _promises()
    foreign = batch([b"f"])
    promises.sending((TOPIC, 1), foreign)
    batches = {0: _at(FIRST, 0), 2: _at(SECOND, 2), 3: _at(foreign, 3)}
    assert len(promises.broken(_found(FoundLog(0, 4, batches)))) == 1


def test_a_hole_in_a_log_is_noticed() -> None:
    promises = _promises()
    third = batch([b"d"])
    promises.sending(KEY, third)
    batches = {0: _at(FIRST, 0), 2: _at(SECOND, 2), 4: _at(third, 4)}
    problems = promises.broken(_found(FoundLog(0, 5, batches)))
    assert len(problems) == 1
    assert "offset 4 comes where 3 is due" in problems[0]


def test_a_high_watermark_that_goes_back_is_noticed() -> None:
    promises = _promises()
    promises.saw_high_watermark(KEY, 4)
    assert any("ends at 3, and 4 was seen" in problem for problem in promises.broken(_found()))


def test_a_log_start_is_as_acknowledged_or_as_asked_for() -> None:
    promises = _promises()
    deleted = FoundLog(2, 3, {2: _at(SECOND, 2)})
    assert len(promises.broken(_found(deleted))) == 1
    promises.deleting_records(KEY, 2)
    assert promises.broken(_found(deleted)) == []
    assert promises.broken(_found()) == []
    promises.deleted_records(KEY, 2)
    assert promises.broken(_found(deleted)) == []
    assert len(promises.broken(_found())) == 1


def test_retention_may_move_a_log_start_but_leaves_no_hole() -> None:
    promises = Promises(expiring={"t"})
    promises.told("t", TopicState(1, TOPIC))
    for records, offset in ((FIRST, 0), (SECOND, 2)):
        promises.sending(KEY, records)
        promises.acknowledged(KEY, offset, records)
    assert promises.broken(_found(FoundLog(2, 3, {2: _at(SECOND, 2)}))) == []
    assert len(promises.broken(_found(FoundLog(1, 3, {2: _at(SECOND, 2)})))) == 2


def test_topics_are_as_acknowledged_or_as_asked_for() -> None:
    promises = _promises()
    gone = Found()
    assert len(promises.broken(gone)) == 1
    promises.asked_for("t", ABSENT)
    assert promises.broken(gone) == []
    assert promises.broken(_found()) == []
    promises.told("t", ABSENT)
    assert promises.broken(gone) == []
    assert len(promises.broken(_found())) == 1


def test_a_topic_with_another_id_or_partition_count_is_noticed() -> None:
    promises = _promises()
    log = FoundLog(0, 0)
    other = UUID(int=2)
    assert promises.broken(Found(topics={"t": (other, 1)}, logs={(other, 0): log})) != []
    grown = _found()
    grown.topics["t"] = (TOPIC, 2)
    assert len(promises.broken(grown)) == 1
    promises.asked_for("t", TopicState(2, TOPIC))
    assert promises.broken(grown) == []


def test_a_topic_that_nobody_asked_for_is_noticed() -> None:
    found = _found()
    found.topics["ghost"] = (UUID(int=3), 1)
    assert _promises().broken(found) == ["nobody has asked for topic ghost"]


def test_a_creation_in_doubt_has_a_new_id_or_none() -> None:
    promises = _promises()
    promises.told("t", ABSENT)
    promises.asked_for("t", TopicState(1))
    new = UUID(int=4)
    assert promises.broken(Found()) == []
    assert promises.broken(Found(topics={"t": (new, 1)}, logs={(new, 0): FoundLog(0, 0)})) == []
    assert promises.broken(_found()) != []


def test_a_commit_is_kept_and_does_not_outlive_its_topic() -> None:
    promises = _promises()
    promises.committing(("g", *KEY), 7)
    assert promises.broken(_found()) == promises.broken(_found(g=7)) == []
    promises.committed(("g", *KEY), 7)
    assert len(promises.broken(_found())) == 1
    assert len(promises.broken(_found(g=6))) == 1
    assert len(promises.broken(_found(g=7, stranger=1))) == 1
    promises.asked_for("t", ABSENT)
    assert promises.broken(Found()) == []


def test_a_producer_id_that_is_given_out_twice_is_noticed() -> None:
    promises = Promises()
    promises.given_producer_id(1)
    promises.given_producer_id(2)
    assert promises.problems == []
    promises.given_producer_id(1)
    assert len(promises.problems) == 1


def test_what_was_found_is_promised_from_then_on() -> None:
    promises = _promises()
    third = batch([b"d"])
    promises.sending(KEY, third)
    batches = {0: _at(FIRST, 0), 2: _at(SECOND, 2), 3: _at(third, 3)}
    found = _found(FoundLog(0, 4, batches))
    assert promises.broken(found) == []
    promises.settle(found)
    assert promises.broken(found) == []
    assert promises.broken(_found()) != []
