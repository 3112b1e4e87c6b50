"""ListTransactions (66), versions 0–2. The transactional ids, by state, producer, age and name.

Version 1 asks for those that began longer than so many ms ago (KIP-994), whatever has become of
them since, as Kafka does it. Version 2 asks for names that match a regular expression as a whole
(KIP-1152): patterns.py says which are understood; others are INVALID_REGULAR_EXPRESSION.
"""

from kafkaesque.broker.apis.answer_size import answer_size
from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.patterns import Pattern, PatternError
from kafkaesque.broker.slices import Slices
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)
from kafkaesque.transactions.events import State
from kafkaesque.transactions.transaction import Transaction


async def list_transactions(
    ctx: Context, request: ListTransactionsRequest
) -> ListTransactionsResponse:
    wanted, slices = request.transactional_id_pattern, ctx.broker.slices
    if wanted:
        await slices.turn()  # A pattern is no small thing, whatever the number of ids.
    try:
        pattern = Pattern(wanted) if wanted else None
    except PatternError:
        return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    known = {state.value for state in State}
    filters = _Filters(request, ctx.broker.clock())
    response = ListTransactionsResponse(
        unknown_state_filters=[name for name in request.state_filters if name not in known]
    )
    transactions = ctx.broker.transactions.table.transactions

    def wanted_now(name: str) -> Transaction | None:
        """None, too, if it has been forgotten meanwhile."""
        transaction = transactions.get(name)
        return transaction if transaction is not None and filters.admit(transaction) else None

    def size(name: str) -> int:
        return answer_size(1, name) if wanted_now(name) else 0

    states = response.transaction_states
    async for name in ctx.with_room(transactions, size, states):
        if pattern and wanted_now(name) and not await _matches(slices, pattern, name):
            continue
        if each := wanted_now(name):
            states.append(
                TransactionState(
                    transactional_id=name,
                    producer_id=each.producer_id,
                    transaction_state=each.state.value,
                )
            )
    return response


async def _matches(slices: Slices, pattern: Pattern, transactional_id: str) -> bool:
    """A long id may take more than one slice."""
    matching = pattern.matching(transactional_id)
    while True:
        try:
            next(matching)
        except StopIteration as end:
            return bool(end.value)
        await slices.turn()


class _Filters:
    """What is asked for beside a name; no states or producers are all."""

    def __init__(self, request: ListTransactionsRequest, now_ms: int) -> None:
        self._states = frozenset(request.state_filters)
        self._producer_ids = frozenset(request.producer_id_filters)
        self._duration_ms = request.duration_filter
        self._now_ms = now_ms

    def admit(self, each: Transaction) -> bool:
        if each.is_vacant or each.state is State.DEAD:
            return False
        if self._states and each.state.value not in self._states:
            return False
        if self._producer_ids and each.producer_id not in self._producer_ids:
            return False
        return self._duration_ms < 0 or self._now_ms - each.started_ms > self._duration_ms
