"""ListTransactions (66), versions 0–2. The transactional ids, by state, producer, age and name.

Version 1 asks for those that have been open for longer than so many ms (KIP-994), version 2 for
names that match a regular expression as a whole (KIP-1152). Kafka matches in linear time; Python
does not, and a pattern like `(a+)+b` would stop the broker. So a pattern may repeat twice, and
never a group: others are refused.
"""

import re

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)
from kafkaesque.transactions.events import State
from kafkaesque.transactions.transaction import Transaction

_MAX_REPETITIONS = 2
_REPETITIONS = re.compile(r"[*+{]")
_TOO_MUCH = re.compile(r"\)[*+?{]|\\[1-9]|\(\?")
"""A group that repeats, what an earlier group has matched, and looking around."""

_OPEN = (State.ONGOING, State.PREPARE_COMMIT, State.PREPARE_ABORT)


def list_transactions(ctx: Context, request: ListTransactionsRequest) -> ListTransactionsResponse:
    known = {state.value for state in State}
    try:
        pattern = _pattern(request.transactional_id_pattern or ".*")
    except (re.error, OverflowError, RecursionError):
        return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    now_ms = ctx.broker.clock()
    return ListTransactionsResponse(
        unknown_state_filters=[name for name in request.state_filters if name not in known],
        transaction_states=[
            TransactionState(
                transactional_id=each.transactional_id,
                producer_id=each.producer_id,
                transaction_state=each.state.value,
            )
            for each in ctx.broker.transactions.table.transactions.values()
            if _is_asked_for(each, request, now_ms) and pattern.fullmatch(each.transactional_id)
        ],
    )


def _pattern(text: str) -> re.Pattern[str]:
    """One that is matched in a moment against any name. Raises re.error."""
    if len(_REPETITIONS.findall(text)) > _MAX_REPETITIONS or _TOO_MUCH.search(text):
        raise re.error("a pattern that might take too long")
    return re.compile(text, re.DOTALL)


def _is_asked_for(each: Transaction, request: ListTransactionsRequest, now_ms: int) -> bool:
    if request.state_filters and each.state.value not in request.state_filters:
        return False
    if request.producer_id_filters and each.producer_id not in request.producer_id_filters:
        return False
    is_open = each.state in _OPEN
    return request.duration_filter < 0 or (
        is_open and now_ms - each.started_ms > request.duration_filter
    )
