"""The transactions that are open now: of which producer, since when, and on which partitions."""

from collections.abc import Sequence
from typing import Any

from kafkaesque.client.transaction import Transaction
from kafkaesque.console.pages.parts import Column, Figures, Table, live, panel, title
from kafkaesque.console.poller import Poller, View
from kafkaesque.console.snapshot import Snapshot
from kafkaesque.types import TopicPartition

COLUMNS = (
    Column("id", "Transactional id"),
    Column("state", "State", "state"),
    Column("age", "Age", "duration", hint="For how long it has been open"),
    Column("timeout", "Timeout", "duration", minor=True, hint="The age at which it is aborted"),
    Column("partitions", "Partitions", minor=True, hint="Where read_committed readers wait for it"),
    Column("producer", "Producer", minor=True, hint="Its id / its epoch"),
    Column("coordinator", "Coordinator", minor=True, hint="The broker that looks after it"),
)
NONE_OPEN = "No transaction is open now."
SHOWN_PLACES = 4


def transactions_page(poller: Poller) -> None:
    title("Open transactions")
    figures = Figures(Open="number", Oldest="duration")
    with panel():
        table = Table(COLUMNS, "transaction", "", searchable=True, sort_by="age", down=True)

    def draw(view: View) -> None:
        table.explain(_why_empty(view.snapshot))
        table.fade(view.problem is not None)
        if view.snapshot is not None:
            figures.show(**_figures(view.snapshot))
            table.show([_row(view.snapshot, each) for each in view.snapshot.transactions])

    live(poller, draw)


def _why_empty(snapshot: Snapshot | None) -> str:
    if snapshot is None:
        return "Asking the cluster …"
    if snapshot.transactions_problem is None:
        return NONE_OPEN
    return f"This cluster does not tell of its transactions:\n{snapshot.transactions_problem}."


def _figures(snapshot: Snapshot) -> dict[str, int | None]:
    is_told = snapshot.transactions_problem is None
    return {
        "Open": len(snapshot.transactions) if is_told else None,
        "Oldest": snapshot.oldest_ms,
    }


def _row(snapshot: Snapshot, transaction: Transaction) -> dict[str, Any]:
    return {
        "id": transaction.transactional_id,
        "state": transaction.state,
        "producer": f"{transaction.producer_id} / {transaction.producer_epoch}",
        "coordinator": str(transaction.coordinator),
        "partitions": _places_text(transaction.partitions),
        "timeout": transaction.timeout_ms,
        "age": snapshot.age_ms(transaction),
    }


def _places_text(places: Sequence[TopicPartition]) -> str | None:
    shown = ", ".join(map(str, places[:SHOWN_PLACES]))
    more = len(places) - SHOWN_PLACES
    return f"{shown} and {more:,} more" if more > 0 else shown or None
