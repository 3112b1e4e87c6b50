"""ListTransactions (key 66), versions 0–2: the transactional ids of this broker (KIP-664).

An empty filter lets everything through. Flexible from the start.

v1  duration_filter: only those open for longer than so many milliseconds (KIP-994)
v2  transactional_id_pattern, a regular expression; INVALID_REGULAR_EXPRESSION (KIP-1152)
"""

from kafkaesque.protocol.schema import field, int16, int32, int64, message, string, struct


@message(api_key=66, versions=(0, 2), flexible=0)
class ListTransactionsRequest:
    state_filters: list[string] = field(default_factory=list)
    producer_id_filters: list[int64] = field(default_factory=list)
    duration_filter: int64 = field(since=1, default=-1)
    transactional_id_pattern: string | None = field(since=2, default=None)


@struct
class TransactionState:
    transactional_id: string = ""
    producer_id: int64 = 0
    transaction_state: string = ""


@message(api_key=66, versions=(0, 2), flexible=0)
class ListTransactionsResponse:
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    unknown_state_filters: list[string] = field(default_factory=list)
    transaction_states: list[TransactionState] = field(default_factory=list)
