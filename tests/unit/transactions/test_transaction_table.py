"""All transactional ids: replay, producer ids, what the partitions show."""

from tests.unit.transactions.driver import CONFIG, FIRST_ID, MOMENT, NOW, P0, P1, Driver, at_epoch

from kafkaesque.transactions.events import State, StoredTransaction
from kafkaesque.transactions.partitions import Partitions
from kafkaesque.transactions.records import tombstone, transaction_record
from kafkaesque.transactions.table import TransactionTable
from kafkaesque.transactions.transaction import LAST_CLIENT_EPOCH

ONGOING = StoredTransaction(State.ONGOING, 7, 1, 60_000, NOW, NOW, Partitions({P0}))
EMPTY = StoredTransaction(State.EMPTY, 8, 3, 60_000, NOW)


def replayed(*records: tuple[bytes, bytes | None]) -> TransactionTable:
    table = TransactionTable(CONFIG)
    for key, value in records:
        table.replay(key, value)
    return table


def prepared(bumps: bool, epoch: int = 5) -> TransactionTable:
    """A table that finds a decision in its log, about P0."""
    driver = at_epoch(epoch)
    driver.add(P0)
    driver.end(True, bumps=bumps)
    return replayed(transaction_record("t", driver.stored()))


def test_the_last_word_on_each_id_counts() -> None:
    table = replayed(
        transaction_record("a", EMPTY),
        transaction_record("b", EMPTY),
        transaction_record("a", ONGOING),
        tombstone("b"),
        tombstone("never there"),
    )
    assert set(table.transactions) == {"a"}
    transaction = table.get("a")
    assert transaction is not None
    assert transaction.stored == ONGOING
    assert table.get("b") is None


def test_records_of_an_unknown_kind_are_passed_over() -> None:
    assert not replayed((b"\x00\x01\x00\x01t", b"")).transactions


def test_a_transaction_is_created_once() -> None:
    table = TransactionTable(CONFIG)
    created = table.get_or_create("t")
    assert table.get_or_create("t") is created
    assert table.get("t") is created


def test_a_transaction_that_nothing_came_of_is_not_kept() -> None:
    table = TransactionTable(CONFIG)
    assert Driver(table.get_or_create("refused")).init(timeout_ms=0) == "timeout"
    assert Driver(table.get_or_create("initialized")).init() == "Empty!+ok"
    for transactional_id in ("refused", "initialized", "unknown"):
        table.discard_vacant(transactional_id)
    assert set(table.transactions) == {"initialized"}


def test_a_producer_id_leads_to_its_transaction() -> None:
    table = replayed(transaction_record("a", ONGOING), transaction_record("b", EMPTY))
    assert table.by_producer(7) is table.get("a")
    assert table.by_producer(8) is table.get("b")
    assert table.by_producer(9) is None
    assert table.by_producer(-1) is None


def test_a_producer_id_that_was_replaced_leads_nowhere() -> None:
    table = TransactionTable(CONFIG)
    table.replay(*transaction_record("t", at_epoch(LAST_CLIENT_EPOCH).transaction.stored))
    driver = Driver(table.get("t"))
    assert table.by_producer(FIRST_ID) is driver.transaction
    driver.init()
    assert table.by_producer(FIRST_ID) is None
    assert table.by_producer(FIRST_ID + 1) is driver.transaction


def test_a_producer_id_leads_nowhere_when_its_transaction_is_forgotten() -> None:
    table = replayed(transaction_record("a", ONGOING))
    assert table.by_producer(7) is not None
    table.remove("a")
    assert table.by_producer(7) is None


def test_open_records_go_back_to_their_transaction() -> None:
    table = replayed(transaction_record("a", ONGOING), transaction_record("b", EMPTY))
    assert table.reinstate(7, 1, P1, MOMENT)
    assert table.reinstate(8, 3, P0, MOMENT)
    assert table.transactions["a"].partitions == {P0, P1}
    assert table.transactions["b"].partitions == {P0}


def test_open_records_of_an_old_epoch_or_an_unknown_producer_are_nobodys() -> None:
    table = replayed(transaction_record("a", ONGOING))
    assert not table.reinstate(7, 0, P1, MOMENT)
    assert not table.reinstate(9, 0, P1, MOMENT)
    assert table.transactions["a"].stored == ONGOING


def test_open_records_that_a_decision_is_about_are_left_to_it() -> None:
    for table, epoch in ((prepared(bumps=False), 5), (prepared(bumps=True), 5)):
        before = table.transactions["t"].stored
        assert table.reinstate(FIRST_ID, epoch, P0, MOMENT)
        assert table.transactions["t"].stored == before


def test_open_records_in_a_partition_that_no_decision_is_about_are_nobodys() -> None:
    assert not prepared(bumps=True).reinstate(FIRST_ID, 5, P1, MOMENT)
    assert not prepared(bumps=False).reinstate(FIRST_ID, 5, P1, MOMENT)


def test_open_records_after_a_decision_are_of_the_next_transaction() -> None:
    table = prepared(bumps=True)
    assert table.reinstate(FIRST_ID, 6, P1, MOMENT)
    assert table.transactions["t"].state is State.ONGOING


def test_open_records_of_the_producer_id_that_follows_are_found() -> None:
    table = prepared(bumps=True, epoch=LAST_CLIENT_EPOCH)
    assert table.reinstate(FIRST_ID + 1, 0, P1, MOMENT)
    assert table.transactions["t"].producer_id == FIRST_ID + 1
