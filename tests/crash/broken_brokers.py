"""Brokers that are broken on purpose, for the judges to find out: each is the real one, with one
part of it wrapped.

A fault wraps an API of the table that `Server` is given, or a part of the broker once the topic is
there. It says which anomalies it must show, and in which scenes of raw_clients.py it can. The sixth
is about committed offsets, and shows in a copy. Above: test_histories.py.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from tests.crash.history import Kind

from kafkaesque.broker.apis import APIS, Api, Context
from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.broker.topics import Topic
from kafkaesque.embedded.thread import BrokerThread
from kafkaesque.log.producer_state import Appended
from kafkaesque.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kafkaesque.protocol.messages.end_txn import EndTxnRequest
from kafkaesque.protocol.messages.fetch import FetchRequest
from kafkaesque.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkaesque.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafkaesque.records.batch import BatchHeader
from kafkaesque.records.control import Marker

Handle = Callable[[Context, Any], Any]
_FETCH, _OFFSET_COMMIT, _ADD_PARTITIONS, _END, _TXN_OFFSET_COMMIT = 1, 8, 24, 26, 28


@dataclass(frozen=True, slots=True)
class Fault:
    """`apis`: by key, what is put around an API; `topic`: what is done to the topic's parts."""

    name: str
    shows: frozenset[Kind] = frozenset()
    apis: Mapping[int, Callable[[Handle], Handle]] | None = None
    topic: Callable[[Topic], None] | None = None
    scenes: tuple[str, ...] = ("retry", "zombie", "delayed")


class BrokenBroker(BrokerThread):
    """In memory, in a thread of this process. Use it in a `with`."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        config = BrokerConfig.of([Listener("127.0.0.1", 0)], None, {})
        super().__init__(config, apis=_broken_apis(fault))

    def break_topic(self, name: str) -> None:
        """Once it is there."""

        async def broken() -> None:
            if self._fault.topic is not None:
                self._fault.topic(self.server.broker.topics.named(name))

        self.call(broken)

    @property
    def bootstrap(self) -> str:
        return self.bootstrap_servers

    def __enter__(self) -> "BrokenBroker":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


def _broken_apis(fault: Fault) -> dict[int, Api]:
    return {
        key: api._replace(handle=(fault.apis or {}).get(key, _as_it_is)(api.handle))
        for key, api in APIS.items()
    }


def _as_it_is(handle: Handle) -> Handle:
    return handle


def _tears_commits(topic: Topic) -> None:
    """One of the partitions takes every commit for an abort."""
    partition = topic.partition(1)
    append_marker = partition.append_marker

    def abort(producer_id: int, producer_epoch: int, marker: Marker) -> int:
        return append_marker(producer_id, producer_epoch, Marker.ABORT)

    vars(partition)["append_marker"] = abort


def _shows_everything(fetch: Handle) -> Handle:
    """To read_committed readers as to all others."""

    def handle(ctx: Context, request: FetchRequest) -> Any:
        request.isolation_level = 0
        return fetch(ctx, request)

    return handle


def _ends_for_anybody(end: Handle) -> Handle:
    """Whatever epoch it has: who knows the transactional id is obeyed."""

    async def handle(ctx: Context, request: EndTxnRequest) -> Any:
        if found := ctx.broker.transactions.table.get(request.transactional_id):
            request.producer_id, request.producer_epoch = found.producer_id, found.producer_epoch
        return await end(ctx, request)

    return handle


def _adds_for_anybody(add: Handle) -> Handle:
    async def handle(ctx: Context, request: AddPartitionsToTxnRequest) -> Any:
        if found := ctx.broker.transactions.table.get(request.v3_and_below_transactional_id):
            request.v3_and_below_producer_id = found.producer_id
            request.v3_and_below_producer_epoch = found.producer_epoch
        return await add(ctx, request)

    return handle


def _does_not_know_late_ends(end: Handle) -> Handle:
    """No connection is older than another."""

    async def handle(ctx: Context, request: EndTxnRequest) -> Any:
        return await end(replace(ctx, connection=0), request)

    return handle


def _appends_retries(topic: Topic) -> None:
    """A batch that is there already is appended once more."""
    for partition in topic.partitions:
        producers = partition.producers
        vars(producers)["check"] = _forgetful(producers.check)


def _forgetful(
    check: Callable[[BatchHeader], Appended | None],
) -> Callable[[BatchHeader], Appended | None]:
    def forget(header: BatchHeader) -> None:
        check(header)

    return forget


def _commits_offsets_at_once(commit: Handle) -> Handle:
    """Whether or not the transaction that they are part of is committed."""

    async def handle(ctx: Context, request: TxnOffsetCommitRequest) -> Any:
        plain = OffsetCommitRequest(
            group_id=request.group_id,
            generation_id_or_member_epoch=request.generation_id,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
            topics=[
                OffsetCommitRequestTopic(
                    name=topic.name,
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=wanted.partition_index,
                            committed_offset=wanted.committed_offset,
                        )
                        for wanted in topic.partitions
                    ],
                )
                for topic in request.topics
            ],
        )
        header = ctx.header._replace(api_key=_OFFSET_COMMIT, api_version=9)
        answer: Any = APIS[_OFFSET_COMMIT].handle(replace(ctx, header=header), plain)
        await answer
        return await commit(ctx, request)

    return handle


FAULTS = (
    Fault("a commit that misses a partition", frozenset({Kind.TORN}), topic=_tears_commits),
    Fault(
        "a fetch that ignores the isolation level",
        frozenset({Kind.ABORTED, Kind.DIRTY}),
        {_FETCH: _shows_everything},
    ),
    Fault(
        "a coordinator that does not fence",
        frozenset({Kind.UNFENCED, Kind.ABORTED}),
        {_END: _ends_for_anybody, _ADD_PARTITIONS: _adds_for_anybody},
        scenes=("zombie",),
    ),
    Fault(
        "a late end that ends the next transaction",
        frozenset({Kind.ABORTED}),
        {_END: _does_not_know_late_ends},
        scenes=("delayed",),
    ),
    Fault(
        "a retried batch that is appended again",
        frozenset({Kind.DUPLICATED}),
        topic=_appends_retries,
        scenes=("retry",),
    ),
)

HASTY_OFFSETS = Fault(
    "offsets that are committed though their transaction is aborted",
    apis={_TXN_OFFSET_COMMIT: _commits_offsets_at_once},
)
WHOLE = Fault("nothing is wrong with it")
