"""Transactions of a cluster: which are open, since when, on which partitions; and aborting one.

Every broker is asked for the transactional ids that it coordinates (ListTransactions), the
coordinator of an id for the rest (FindCoordinator, DescribeTransactions). confluent-kafka asks none
of that, so wire.py does. An answer that has to wait, because a
coordinator moves, loads its state or is ending a transaction, is asked for again until the timeout.
Above: cli/txn/, console/, producers.py. Below: transaction.py, transaction_status.py, cluster.py,
wire.py.
"""

import builtins
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from kafkaesque.client.admin import Admin
from kafkaesque.client.answers import Status, error_code
from kafkaesque.client.cluster import Cluster, cluster
from kafkaesque.client.connection import Address, ClusterError, Connection
from kafkaesque.client.transaction import OPEN, Transaction, TransactionSummary
from kafkaesque.client.transaction_status import another_one, status, why_not_abort
from kafkaesque.client.wire import Wire
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from kafkaesque.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkaesque.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkaesque.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from kafkaesque.types import TopicPartition

A = TypeVar("A")
T = TypeVar("T")

# Versions that every cluster has which can tell of transactions: Kafka 3.0 to 4.3, Redpanda, ours.
_FIND_COORDINATOR: Final = 1
_INIT_PRODUCER_ID: Final = 1
_LIST: Final = 0
_DESCRIBE: Final = 0
_KEY_IS_TRANSACTION: Final = 1

_PAUSE_S: Final = 0.05
_LATER: Final = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
}


class Transactions:
    """The transactions of one cluster, whose brokers are known."""

    def __init__(self, connection: Connection, found: Cluster) -> None:
        self._connection = connection
        self._nodes = {node.node_id: Address(node.host, node.port) for node in found.nodes}

    @classmethod
    def of(cls, admin: Admin) -> "Transactions":
        return cls(admin.connection, cluster(admin))

    def list(
        self, states: Collection[str] = (), producer_ids: Collection[int] = ()
    ) -> builtins.list[TransactionSummary]:
        """All transactional ids, or those in these states and of these producers."""
        listed = self._listed(states, producer_ids)
        details = self._details(each for each in listed if each.state in OPEN)
        starts = {each.transactional_id: each.started_ms for each in details}
        return [replace(each, started_ms=starts.get(each.transactional_id)) for each in listed]

    def open(self) -> builtins.list[Transaction]:
        """The transactions that are open now, the oldest first."""
        found = [each for each in self._details(self._listed(OPEN, ())) if each.is_open]
        return sorted(found, key=lambda each: (each.started_ms or 0, each.transactional_id))

    def describe(self, ids: Iterable[str]) -> builtins.list[Transaction | Status]:
        return [self._patiently(self._describe, name) for name in dict.fromkeys(ids)]

    def abort(self, seen: Transaction) -> Status:
        """Abort the transaction that was seen, if it is still the one that is open.

        Done as if its producer started anew (InitProducerId): that ends what is open, and gives the
        id another epoch, so that whoever had it before is fenced.
        """
        (now,) = self.describe([seen.transactional_id])
        if isinstance(now, Status):
            return now
        refused = why_not_abort(now)
        if refused is None and not now.is_same_as(seen):
            refused = another_one(seen.transactional_id)
        return refused or self._patiently(self._fence, now)

    def _listed(
        self, states: Collection[str], producer_ids: Collection[int]
    ) -> builtins.list[TransactionSummary]:
        request = ListTransactionsRequest(
            state_filters=sorted(states), producer_id_filters=sorted(producer_ids)
        )
        found = []
        for node_id in self._nodes:
            with self._wire(node_id) as wire:
                answer = wire.ask(request, ListTransactionsResponse, _LIST)
            # Without the ids of one broker the list would be a part of itself, unseen.
            if answer.error_code:
                raise ClusterError(
                    f"broker {node_id} does not list its transactions "
                    f"({error_code(answer.error_code).name}): try again"
                )
            found += [
                TransactionSummary(
                    each.transactional_id, node_id, each.producer_id, each.transaction_state
                )
                for each in answer.transaction_states
            ]
        return sorted(found, key=lambda each: each.transactional_id)

    def _details(self, listed: Iterable[TransactionSummary]) -> builtins.list[Transaction]:
        """Asked of those who have listed them. One that has gone meanwhile is left out."""
        owners: dict[int, builtins.list[str]] = {}
        for each in listed:
            owners.setdefault(each.coordinator, []).append(each.transactional_id)
        found = [told for node_id, ids in owners.items() for told in self._told(node_id, ids)]
        return [each for each in found if isinstance(each, Transaction)]

    def _describe(self, name: str) -> Transaction | Status:
        coordinator = self._coordinator(name)
        if isinstance(coordinator, Status):
            return coordinator
        (told,) = self._told(coordinator, [name])
        return told

    def _told(self, coordinator: int, ids: Sequence[str]) -> builtins.list[Transaction | Status]:
        request = DescribeTransactionsRequest(transactional_ids=[*ids])
        with self._wire(coordinator) as wire:
            answer = wire.ask(request, DescribeTransactionsResponse, _DESCRIBE)
        return [_transaction(coordinator, each) for each in answer.transaction_states]

    def _fence(self, transaction: Transaction) -> Status:
        name = transaction.transactional_id
        coordinator = self._coordinator(name)
        if isinstance(coordinator, Status):
            return coordinator
        request = InitProducerIdRequest(
            transactional_id=name, transaction_timeout_ms=transaction.timeout_ms
        )
        with self._wire(coordinator) as wire:
            answer = wire.ask(request, InitProducerIdResponse, _INIT_PRODUCER_ID)
        return status(name, error_code(answer.error_code))

    def _coordinator(self, name: str) -> int | Status:
        request = FindCoordinatorRequest(key=name, key_type=_KEY_IS_TRANSACTION)
        with self._wire(min(self._nodes)) as wire:
            answer = wire.ask(request, FindCoordinatorResponse, _FIND_COORDINATOR)
        if answer.error_code:
            return status(name, error_code(answer.error_code), answer.error_message)
        self._nodes[answer.node_id] = Address(answer.host, answer.port)
        return answer.node_id

    def _patiently(self, ask: Callable[[A], T], about: A) -> T:
        deadline_s = time.monotonic() + self._connection.timeout_s
        while True:
            answer = ask(about)
            is_later = isinstance(answer, Status) and answer.code in _LATER
            if not is_later or time.monotonic() > deadline_s:
                return answer
            time.sleep(_PAUSE_S)

    def _wire(self, node_id: int) -> Wire:
        return Wire(self._nodes[node_id], self._connection)


def _transaction(coordinator: int, told: TransactionState) -> Transaction | Status:
    if told.error_code:
        return status(told.transactional_id, error_code(told.error_code))
    # Kafka goes on to tell the start of one that has ended.
    has_start = told.transaction_state in OPEN and told.transaction_start_time_ms >= 0
    places = [TopicPartition(it.topic, number) for it in told.topics for number in it.partitions]
    return Transaction(
        transactional_id=told.transactional_id,
        coordinator=coordinator,
        producer_id=told.producer_id,
        producer_epoch=told.producer_epoch,
        state=told.transaction_state,
        timeout_ms=told.transaction_timeout_ms,
        started_ms=told.transaction_start_time_ms if has_start else None,
        partitions=tuple(sorted(places)),
    )
