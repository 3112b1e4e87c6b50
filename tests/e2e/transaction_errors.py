"""The table of errors: what a producer that does something wrong is told, by Kafka's own word.

A row is what is done, over which versions, and the error of the last request; what led to it has to
succeed. All of it is Apache Kafka's own answer: compat/test_transaction_errors.py asks it, too.
`ROWS`, at the end, are of a raw client; `FOREIGN_ROWS` of confluent-kafka, which makes no mistakes
but can be fenced, be late or ask for too much. `SETTINGS` are those that the broker needs.
Above: test_transaction_errors.py. Below: wire/transactional.py.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from confluent_kafka import KafkaError, Producer
from tests import foreign
from tests.wire.client import RawClient
from tests.wire.transactional import (
    NEW,
    OLD,
    TIMEOUT_MS,
    RawProducer,
    Versions,
    find_coordinator,
    patiently,
)

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from kafkaesque.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kafkaesque.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkaesque.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

EXPIRATION_MS = 2000
SHORT_TIMEOUT_MS = 1000
SETTINGS = {
    "transaction.max.timeout.ms": str(TIMEOUT_MS),
    "transactional.id.expiration.ms": str(EXPIRATION_MS),
}
EARLY = Versions(3, 1, 1, 9, 2, 1)
"""From before KIP-588: a fenced producer is told so by its epoch alone."""
LATE = Versions(4, 3, 4, 11, 4, 4)
"""The first of KIP-890, which know an error that only aborts the transaction."""
_NAMES = {EARLY: "early", OLD: "old", LATE: "late", NEW: "new"}


@dataclass(slots=True)
class Stage:
    """A broker with a topic, and a producer that has been given its id and epoch."""

    bootstrap: str
    client: RawClient
    topic: str
    producer: RawProducer

    def begin(self) -> None:
        """A record in an open transaction."""
        if self.producer.versions.produce < NEW.produce:
            ok(self.producer.add(self.topic, 0))
        ok(self.send())

    def send(self, value: bytes = b"value", sequence: int | None = None) -> ErrorCode:
        return ErrorCode(self.producer.send(self.topic, 0, [value], sequence=sequence).error_code)

    def fenced(self) -> None:
        """An instance with the same transactional id comes."""
        producer = self.producer
        other = RawProducer(self.client, producer.transactional_id, producer.versions)
        ok(patiently(other.init))


class Row(NamedTuple):
    what: str
    versions: Versions
    error: ErrorCode
    run: Callable[[Stage], ErrorCode]

    def __str__(self) -> str:
        return f"{self.what}, {_NAMES[self.versions]} client: {self.error.name}"


def ok(error: ErrorCode) -> None:
    assert error is ErrorCode.NONE, error.name


def new_topic(bootstrap: str) -> str:
    """With two partitions, which answer: Apache Kafka says that it is there before they do."""
    topic = foreign.create_topic(bootstrap, partitions=2)
    for partition in (0, 1):
        foreign.produce(bootstrap, topic, ["first"], partition)
    return topic


def answer(bootstrap: str, topic: str, row: Row) -> ErrorCode:
    """What the last request of a row is answered."""
    with RawClient(bootstrap) as client:
        producer = RawProducer(client, foreign.name("id"), row.versions)
        ok(patiently(lambda: find_coordinator(client, producer.transactional_id)))
        ok(patiently(lambda: find_coordinator(client, "group", of_group=True)))
        ok(patiently(producer.init))
        return row.run(Stage(bootstrap, client, topic, producer))


def _fenced_end(stage: Stage) -> ErrorCode:
    stage.begin()
    stage.fenced()
    return stage.producer.end(commit=True)


def _fenced_add(stage: Stage) -> ErrorCode:
    stage.fenced()
    return stage.producer.add(stage.topic, 0)


def _fenced_add_offsets(stage: Stage) -> ErrorCode:
    stage.fenced()
    return stage.producer.add_offsets("group")


def _fenced_send(stage: Stage) -> ErrorCode:
    stage.begin()
    stage.fenced()
    return stage.send()


def _fenced_commit_offset(stage: Stage) -> ErrorCode:
    stage.fenced()
    return stage.producer.commit_offset("group", stage.topic, 1)


def _fenced_init(stage: Stage) -> ErrorCode:
    stage.fenced()
    stage.fenced()
    return stage.producer.init(going_on=True)


def _early_end(stage: Stage) -> ErrorCode:
    """Of an epoch that nobody has been given."""
    stage.begin()
    stage.producer.epoch += 1
    return stage.producer.end(commit=True)


def _early_add(stage: Stage) -> ErrorCode:
    stage.producer.epoch += 1
    return stage.producer.add(stage.topic, 0)


def _commit_nothing(stage: Stage) -> ErrorCode:
    return stage.producer.end(commit=True)


def _abort_nothing(stage: Stage) -> ErrorCode:
    return stage.producer.end(commit=False)


def _end_twice(*commits: bool) -> Callable[[Stage], ErrorCode]:
    """The second time as if the first had not been answered."""

    def run(stage: Stage) -> ErrorCode:
        stage.begin()
        again = stage.producer.over(stage.client)
        ok(stage.producer.end(commit=commits[0]))
        return patiently(lambda: again.end(commit=commits[1]))

    return run


def _send_without_adding(stage: Stage) -> ErrorCode:
    return stage.send()


def _send_elsewhere(stage: Stage) -> ErrorCode:
    """To a partition that is not part of the transaction."""
    stage.begin()
    return ErrorCode(stage.producer.send(stage.topic, 1, [b"value"]).error_code)


def _commit_offset_without_adding(stage: Stage) -> ErrorCode:
    return stage.producer.commit_offset("group", stage.topic, 1)


def _unknown(stage: Stage) -> None:
    stage.producer.transactional_id = foreign.name("unknown")


def _unknown_add(stage: Stage) -> ErrorCode:
    _unknown(stage)
    return stage.producer.add(stage.topic, 0)


def _unknown_add_offsets(stage: Stage) -> ErrorCode:
    _unknown(stage)
    return stage.producer.add_offsets("group")


def _unknown_end(stage: Stage) -> ErrorCode:
    _unknown(stage)
    return stage.producer.end(commit=True)


def _unknown_send(stage: Stage) -> ErrorCode:
    _unknown(stage)
    return stage.send()


def _unknown_describe(stage: Stage) -> ErrorCode:
    request = DescribeTransactionsRequest(transactional_ids=[foreign.name("unknown")])
    described = stage.client.call(request, DescribeTransactionsResponse, 0)
    return ErrorCode(described.transaction_states[0].error_code)


def _foreign_producer_id_add(stage: Stage) -> ErrorCode:
    stage.producer.producer_id += 1000
    return stage.producer.add(stage.topic, 0)


def _foreign_producer_id_end(stage: Stage) -> ErrorCode:
    stage.begin()
    stage.producer.producer_id += 1000
    return stage.producer.end(commit=True)


def _foreign_producer_id_init(stage: Stage) -> ErrorCode:
    stage.producer.producer_id += 1000
    return stage.producer.init(going_on=True)


def _empty_id(stage: Stage) -> ErrorCode:
    stage.producer.transactional_id = ""
    return stage.producer.init()


def _id_without_epoch(stage: Stage) -> ErrorCode:
    stage.producer.epoch = -1
    return stage.producer.init(going_on=True)


def _timeout(milliseconds: int) -> Callable[[Stage], ErrorCode]:
    return lambda stage: stage.producer.init(milliseconds)


def _outlived(last: Callable[[Stage], ErrorCode]) -> Callable[[Stage], ErrorCode]:
    """The broker has aborted the transaction, for it took too long."""

    def run(stage: Stage) -> ErrorCode:
        ok(patiently(lambda: stage.producer.init(SHORT_TIMEOUT_MS)))
        stage.begin()
        _await_state(stage, "CompleteAbort")
        return last(stage)

    return run


def _go_on(stage: Stage) -> ErrorCode:
    return stage.producer.init(going_on=True)


def _expired(stage: Stage) -> ErrorCode:
    """Nobody has used the transactional id for so long that it is forgotten."""
    _await_state(stage, "")
    return stage.producer.add(stage.topic, 0)


def _await_state(stage: Stage, name: str) -> None:
    foreign.until(lambda: _state(stage) == name)


def _state(stage: Stage) -> str:
    """Of its transactional id; one that is not known has none."""
    request = DescribeTransactionsRequest(transactional_ids=[stage.producer.transactional_id])
    described = stage.client.call(request, DescribeTransactionsResponse, 0)
    state: str = described.transaction_states[0].transaction_state
    return state


def _gap(stage: Stage) -> ErrorCode:
    stage.begin()
    return stage.send(sequence=5)


def _first_of_a_new_epoch(stage: Stage) -> ErrorCode:
    """It has to be 0, in a partition that knows the producer."""
    stage.begin()
    ok(stage.producer.end(commit=True))
    ok(patiently(stage.producer.init))
    if stage.producer.versions.produce < NEW.produce:
        ok(patiently(lambda: stage.producer.add(stage.topic, 0)))
    return patiently(lambda: stage.send(sequence=3))


def _duplicate(stage: Stage) -> ErrorCode:
    """Answered as the first was, with its offset."""
    stage.begin()
    first = stage.producer.send(stage.topic, 0, [b"a", b"b"])
    again = stage.producer.send(stage.topic, 0, [b"a", b"b"], sequence=1)
    assert again.base_offset == first.base_offset
    return ErrorCode(again.error_code)


def _old_duplicate(stage: Stage) -> ErrorCode:
    """Of a batch before the last five, of which alone the broker knows where they are."""
    stage.begin()
    for _ in range(6):
        ok(stage.send())
    return stage.send(sequence=0)


def _plain_write(stage: Stage) -> ErrorCode:
    """Of the same producer, outside of its transaction."""
    stage.begin()
    plain = stage.producer.send(stage.topic, 0, [b"value"], transactional=False)
    return ErrorCode(plain.error_code)


def _add_unknown_topic(stage: Stage) -> ErrorCode:
    return stage.producer.add("no-such-topic", 0)


def _add_beside_unknown_topic(stage: Stage) -> ErrorCode:
    topics = {stage.topic: 0, "no-such-topic": 0}
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=stage.producer.transactional_id,
        v3_and_below_producer_id=stage.producer.producer_id,
        v3_and_below_producer_epoch=stage.producer.epoch,
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name=name, partitions=[number])
            for name, number in topics.items()
        ],
    )
    results = stage.client.call(
        request, AddPartitionsToTxnResponse, 3
    ).results_by_topic_v3_and_below
    (found,) = (each for each in results if each.name == stage.topic)
    return ErrorCode(found.results_by_partition[0].partition_error_code)


def _stranger_commits_offset(stage: Stage) -> ErrorCode:
    """Not a member of the group, and says it is."""
    group = foreign.name("group")
    ok(stage.producer.add_offsets(group))
    return stage.producer.commit_offset(group, stage.topic, 1, generation=1, member_id="nobody")


def _pending_offset(stage: Stage) -> ErrorCode:
    """Who asks for a stable offset has to wait for the transaction's end."""
    group = foreign.name("group")
    ok(stage.producer.add_offsets(group))
    ok(stage.producer.commit_offset(group, stage.topic, 1))
    wanted = OffsetFetchRequestTopics(name=stage.topic, partition_indexes=[0])
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=group, topics=[wanted])], require_stable=True
    )
    answered = stage.client.call(request, OffsetFetchResponse, 8)
    return ErrorCode(answered.groups[0].topics[0].partitions[0].error_code)


def _idempotent_timeout(stage: Stage) -> ErrorCode:
    """Without a transactional id there is no transaction to time out."""
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=2**31 - 1)
    return ErrorCode(stage.client.call(request, InitProducerIdResponse, 4).error_code)


def _over_two_connections(stage: Stage) -> ErrorCode:
    """One for the group's offsets, an older one for records: both are part of the transaction."""
    group = foreign.name("group")
    with RawClient(stage.bootstrap) as other:
        ok(patiently(lambda: stage.producer.over(other).commit_offset(group, stage.topic, 1)))
        stage.begin()
        return stage.producer.end(commit=True)


def _nameless_send(stage: Stage) -> ErrorCode:
    """A transactional batch in a request without a transactional id."""
    ok(stage.producer.add(stage.topic, 0))
    sent = stage.producer.send(stage.topic, 0, [b"value"], named=False)
    return ErrorCode(sent.error_code)


FENCED = ErrorCode.PRODUCER_FENCED
EPOCH = ErrorCode.INVALID_PRODUCER_EPOCH
STATE = ErrorCode.INVALID_TXN_STATE
MAPPING = ErrorCode.INVALID_PRODUCER_ID_MAPPING
ABORTABLE = ErrorCode.TRANSACTION_ABORTABLE
ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
TIMEOUT = ErrorCode.INVALID_TRANSACTION_TIMEOUT
NONE = ErrorCode.NONE


def _rows(what: str, run: Callable[[Stage], ErrorCode], **errors: ErrorCode) -> Iterator[Row]:
    """The same for several clients, by their names."""
    for versions, name in _NAMES.items():
        if name in errors:
            yield Row(what, versions, errors[name], run)


ROWS = (
    *_rows("fenced, commits", _fenced_end, early=EPOCH, old=FENCED, late=FENCED, new=FENCED),
    *_rows("fenced, adds a partition", _fenced_add, early=EPOCH, old=FENCED),
    *_rows("fenced, adds offsets", _fenced_add_offsets, early=EPOCH, old=FENCED),
    *_rows("fenced, sends", _fenced_send, early=EPOCH, old=EPOCH, late=EPOCH, new=EPOCH),
    *_rows("fenced, commits offsets", _fenced_commit_offset, early=EPOCH, old=EPOCH, new=EPOCH),
    *_rows("fenced, wants to go on", _fenced_init, early=EPOCH, old=FENCED, new=FENCED),
    *_rows("ahead of its epoch, commits", _early_end, early=EPOCH, old=FENCED, new=FENCED),
    *_rows("ahead of its epoch, adds", _early_add, early=EPOCH, old=FENCED),
    *_rows("commits nothing", _commit_nothing, early=STATE, old=STATE, new=STATE),
    *_rows("aborts nothing", _abort_nothing, early=STATE, old=STATE, new=NONE),
    *_rows("commits twice", _end_twice(True, True), old=NONE, new=NONE),
    *_rows("commits, then aborts", _end_twice(True, False), old=STATE, new=STATE),
    *_rows("aborts, then commits", _end_twice(False, True), old=STATE, new=STATE),
    *_rows("aborts twice", _end_twice(False, False), old=NONE, new=NONE),
    *_rows("sends before it adds", _send_without_adding, early=STATE, old=STATE, late=ABORTABLE),
    *_rows("sends where it has not added", _send_elsewhere, early=STATE, old=STATE, new=NONE),
    *_rows(
        "commits offsets before it adds",
        _commit_offset_without_adding,
        early=STATE,
        old=STATE,
        late=ABORTABLE,
        new=NONE,
    ),
    *_rows("sends over an older connection than others", _over_two_connections, new=NONE),
    *_rows("unknown, adds a partition", _unknown_add, early=MAPPING, old=MAPPING),
    *_rows("unknown, adds offsets", _unknown_add_offsets, early=MAPPING, old=MAPPING),
    *_rows("unknown, commits", _unknown_end, early=MAPPING, old=MAPPING, new=MAPPING),
    *_rows("unknown, sends", _unknown_send, old=MAPPING, new=MAPPING),
    *_rows("unknown, is described", _unknown_describe, new=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND),
    *_rows("another's producer id, adds", _foreign_producer_id_add, old=MAPPING),
    *_rows("another's producer id, commits", _foreign_producer_id_end, old=MAPPING, new=MAPPING),
    *_rows(
        "another's producer id, goes on",
        _foreign_producer_id_init,
        early=EPOCH,
        old=FENCED,
        new=FENCED,
    ),
    *_rows("an empty transactional id", _empty_id, new=ErrorCode.INVALID_REQUEST),
    *_rows("a producer id without an epoch", _id_without_epoch, new=ErrorCode.INVALID_REQUEST),
    *_rows("too long a timeout", _timeout(TIMEOUT_MS + 1), old=TIMEOUT, new=TIMEOUT),
    *_rows("no timeout", _timeout(0), new=TIMEOUT),
    *_rows("too long a timeout, not transactional", _idempotent_timeout, new=NONE),
    *_rows("timed out, commits", _outlived(_commit_nothing), early=EPOCH, old=FENCED, new=STATE),
    *_rows("timed out, aborts", _outlived(_abort_nothing), old=FENCED, new=NONE),
    *_rows("timed out, sends", _outlived(_send_without_adding), old=EPOCH, new=EPOCH),
    *_rows("timed out, goes on", _outlived(_go_on), old=NONE, new=NONE),
    *_rows("expired, adds", _expired, old=MAPPING),
    *_rows("a sequence too far", _gap, early=ORDER, old=ORDER, new=ORDER),
    *_rows("a new epoch that does not begin at 0", _first_of_a_new_epoch, old=ORDER, new=ORDER),
    *_rows("a batch once more", _duplicate, early=NONE, old=NONE, new=NONE),
    *_rows("a batch once more, after five others", _old_duplicate, old=ORDER, new=ORDER),
    *_rows("a plain write within a transaction", _plain_write, early=STATE, old=STATE, new=STATE),
    *_rows(
        "adds a topic that is not there",
        _add_unknown_topic,
        old=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ),
    *_rows(
        "adds beside a topic that is not there",
        _add_beside_unknown_topic,
        old=ErrorCode.OPERATION_NOT_ATTEMPTED,
    ),
    *_rows(
        "no member, commits offsets",
        _stranger_commits_offset,
        old=ErrorCode.ILLEGAL_GENERATION,
        new=ErrorCode.ILLEGAL_GENERATION,
    ),
    *_rows(
        "offsets that are pending, asked for",
        _pending_offset,
        old=ErrorCode.UNSTABLE_OFFSET_COMMIT,
        new=ErrorCode.UNSTABLE_OFFSET_COMMIT,
    ),
    *_rows(
        "a transactional batch of nobody",
        _nameless_send,
        old=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ),
)


class ForeignRow(NamedTuple):
    """`error` is librdkafka's code: the protocol's, or one of its own, which are negative."""

    what: str
    error: int
    run: Callable[[str, str], int]


def _foreign(bootstrap: str, name: str, timeout_ms: int = TIMEOUT_MS) -> Producer:
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": name,
            "transaction.timeout.ms": timeout_ms,
            "log_level": 0,
        }
    )


def _begun(bootstrap: str, topic: str, name: str, timeout_ms: int = TIMEOUT_MS) -> Producer:
    """A record of it is in an open transaction."""
    producer = _foreign(bootstrap, name, timeout_ms)
    producer.init_transactions(foreign.TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(topic, b"value", partition=0)
    assert producer.flush(foreign.TIMEOUT_S) == 0
    return producer


def _foreign_fenced(bootstrap: str, topic: str) -> int:
    name = foreign.name("id")
    producer = _begun(bootstrap, topic, name)
    _foreign(bootstrap, name).init_transactions(foreign.TIMEOUT_S)
    return foreign.refusal(producer.commit_transaction, foreign.TIMEOUT_S)


def _foreign_fenced_send(bootstrap: str, topic: str) -> int:
    name = foreign.name("id")
    producer = _begun(bootstrap, topic, name)
    _foreign(bootstrap, name).init_transactions(foreign.TIMEOUT_S)
    producer.produce(topic, b"value", partition=0)
    return foreign.refusal(producer.commit_transaction, foreign.TIMEOUT_S)


def _foreign_timeout(bootstrap: str, topic: str) -> int:
    producer = _foreign(bootstrap, foreign.name("id"), TIMEOUT_MS + 1)
    return foreign.refusal(producer.init_transactions, foreign.TIMEOUT_S)


def _foreign_outlived(bootstrap: str, topic: str) -> int:
    name = foreign.name("id")
    producer = _begun(bootstrap, topic, name, timeout_ms=3000)
    with RawClient(bootstrap) as client:
        watched = Stage(bootstrap, client, topic, RawProducer(client, name))
        _await_state(watched, "CompleteAbort")
    return foreign.refusal(producer.commit_transaction, foreign.TIMEOUT_S)


def _foreign_expired(bootstrap: str, topic: str) -> int:
    name = foreign.name("id")
    producer = _foreign(bootstrap, name)
    producer.init_transactions(foreign.TIMEOUT_S)
    with RawClient(bootstrap) as client:
        _await_state(Stage(bootstrap, client, topic, RawProducer(client, name)), "")
    producer.begin_transaction()
    producer.produce(topic, b"value", partition=0)
    return foreign.refusal(producer.commit_transaction, foreign.TIMEOUT_S)


FOREIGN_ROWS = (
    ForeignRow("fenced, commits", KafkaError._FENCED, _foreign_fenced),
    ForeignRow("fenced, sends", KafkaError._FENCED, _foreign_fenced_send),
    ForeignRow("too long a timeout", TIMEOUT, _foreign_timeout),
    ForeignRow("timed out, commits", KafkaError._FENCED, _foreign_outlived),
    ForeignRow("expired, sends", MAPPING, _foreign_expired),
)
