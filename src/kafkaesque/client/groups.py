"""Consumer groups of a cluster: who is in them, what they have committed, how far behind they are.

All groups are asked about at once: their descriptions, their commits (librdkafka takes one group a
call, so all calls start before the first is waited for), then where the logs of all their
partitions start and end. A group that one cannot be told about has an `error`; the others are
whole. Works for groups of the classic protocol and of KIP-848's.
Above: cli/, console/. Below: admin.py, answers.py.
"""

import builtins
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import confluent_kafka
from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException

from kafkaesque.client.admin import Admin, Watermarks
from kafkaesque.client.answers import (
    Status,
    answer,
    code_of,
    raise_if_local,
    started,
    words_of,
)
from kafkaesque.client.connection import ClusterError
from kafkaesque.errors import ErrorCode
from kafkaesque.types import TopicPartition

# Typed in part only: strict mypy does not see its re-exported names.
_kafka: Any = confluent_kafka

# Kafka's own spelling, which rpk prints too.
_STATES = {
    ConsumerGroupState.PREPARING_REBALANCING: "PreparingRebalance",
    ConsumerGroupState.COMPLETING_REBALANCING: "CompletingRebalance",
}

_STOP_MEMBERS = "stop its members first; `kafkaesque group describe {group}` names them"
_CURES = {
    ErrorCode.GROUP_ID_NOT_FOUND: "see which groups there are with `kafkaesque group list`",
    ErrorCode.NON_EMPTY_GROUP: _STOP_MEMBERS,
    # What a commit without a member's id is told while there are members.
    ErrorCode.UNKNOWN_MEMBER_ID: _STOP_MEMBERS,
    ErrorCode.STALE_MEMBER_EPOCH: _STOP_MEMBERS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "see what there is with `kafkaesque topic list`",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "connect as a --user who may",
}


@dataclass(frozen=True, slots=True)
class GroupSummary:
    name: str
    state: str
    kind: str


@dataclass(frozen=True, slots=True)
class Member:
    member_id: str
    client_id: str
    host: str
    partitions: list[TopicPartition]


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a group is behind in one partition that it has committed or reads."""

    group: str
    topic: str
    partition: int
    committed: int | None
    latest: int | None
    member: Member | None
    earliest: int | None = None

    @property
    def lag(self) -> int | None:
        if self.committed is None or self.latest is None:
            return None
        return max(0, self.latest - self.committed)


@dataclass(frozen=True, slots=True)
class Group:
    """`error` says why the rest is not known, and what to do; else it is None."""

    name: str
    state: str
    coordinator: int
    assignor: str
    members: list[Member]
    lags: list[Lag]
    error: str | None = None

    @property
    def lag(self) -> int:
        return sum(lag.lag or 0 for lag in self.lags)


@dataclass(frozen=True, slots=True)
class _Account:
    """What the group's coordinator says."""

    name: str
    state: str
    coordinator: int
    assignor: str
    members: list[Member]
    committed: dict[TopicPartition, int]

    @property
    def owners(self) -> dict[TopicPartition, Member]:
        return {place: member for member in self.members for place in member.partitions}

    @property
    def places(self) -> list[TopicPartition]:
        return sorted({*self.committed, *self.owners})


class Groups:
    """The groups of the cluster that `admin` is connected to."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    def list(self) -> builtins.list[GroupSummary]:
        try:
            found = answer(self._start("list_consumer_groups"), self._admin.connection)
            # One broker that does not answer would make the list a part of itself, unseen.
            for error in found.errors:
                raise KafkaException(error)
        except KafkaException as error:
            raise_if_local(error, self._admin.connection)
            raise ClusterError(
                f"the groups cannot be listed ({words_of(error.args[0])}): "
                "try again, or connect as a --user who may"
            ) from None
        summaries = [
            GroupSummary(group.group_id, _state(group.state), group.type.name.lower())
            for group in found.valid
        ]
        return sorted(summaries, key=lambda summary: summary.name)

    def describe(self, names: Sequence[str] | None = None) -> builtins.list[Group]:
        """The groups of these names, or all."""
        if names is None:
            names = [summary.name for summary in self.list()]
        accounts = self._accounts(list(dict.fromkeys(names)))
        known = [account for account in accounts if isinstance(account, _Account)]
        places = {place for account in known for place in account.places}
        marks = self._admin.watermarks_of(places)
        return [_group(account, marks) for account in accounts]

    def committed(self, name: str) -> dict[TopicPartition, int]:
        """What the group has committed; nothing if there is no such group."""
        try:
            return _committed(answer(self._ask_committed(name), self._admin.connection))
        except KafkaException as error:
            raise ClusterError(f"group {name}: {_refused(name, error.args[0])}") from None

    def commit(
        self, name: str, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, Status]:
        """Commit in the group's place. No member may be in it."""
        if not offsets:
            return {}
        places = [confluent_kafka.TopicPartition(*place, offsets[place]) for place in offsets]
        request = [_kafka.ConsumerGroupTopicPartitions(name, places)]
        future = self._start("alter_consumer_group_offsets", request)[name]
        try:
            done = answer(future, self._admin.connection).topic_partitions
        except KafkaException as error:
            status = _refused(name, error.args[0])
            return dict.fromkeys(offsets, status)
        return {
            TopicPartition(place.topic, place.partition): _outcome(name, place.error)
            for place in done
        }

    def delete(self, names: Iterable[str]) -> builtins.list[Status]:
        futures = self._start("delete_consumer_groups", list(dict.fromkeys(names)))
        return [self._status(name, future) for name, future in futures.items()]

    def _start(self, call: str, *arguments: Any) -> Any:
        method = getattr(self._admin.client, call)
        return started(method, *arguments, connection=self._admin.connection)

    def _ask_committed(self, name: str) -> "Future[Any]":
        request = [_kafka.ConsumerGroupTopicPartitions(name)]
        future: Future[Any] = self._start("list_consumer_group_offsets", request)[name]
        return future

    def _accounts(self, names: builtins.list[str]) -> "builtins.list[_Account | Status]":
        if not names:
            return []
        described = self._start("describe_consumer_groups", names)
        committed = {name: self._ask_committed(name) for name in names}
        return [self._account(name, described[name], committed[name]) for name in names]

    def _account(
        self, name: str, described: "Future[Any]", committed: "Future[Any]"
    ) -> "_Account | Status":
        try:
            group = answer(described, self._admin.connection)
            offsets = _committed(answer(committed, self._admin.connection))
        except KafkaException as error:
            return _refused(name, error.args[0])
        # Until Kafka 4 a group that is not there was described as a dead one.
        if group.state is ConsumerGroupState.DEAD and not offsets:
            return _status(name, ErrorCode.GROUP_ID_NOT_FOUND, "there is no such group")
        return _Account(
            name,
            _state(group.state),
            group.coordinator.id,
            group.partition_assignor,
            [_member(member) for member in group.members],
            offsets,
        )

    def _status(self, name: str, future: "Future[Any]") -> Status:
        try:
            answer(future, self._admin.connection)
        except KafkaException as error:
            return _refused(name, error.args[0])
        return Status(name)


def _group(account: "_Account | Status", marks: Mapping[TopicPartition, Watermarks]) -> Group:
    if isinstance(account, Status):
        state = "Dead" if account.code is ErrorCode.GROUP_ID_NOT_FOUND else "Unknown"
        return Group(account.name, state, -1, "", [], [], str(account))
    owners = account.owners
    lags = [
        Lag(
            group=account.name,
            topic=place.topic,
            partition=place.partition,
            committed=account.committed.get(place),
            latest=marks[place].high,
            member=owners.get(place),
            earliest=marks[place].low,
        )
        for place in account.places
    ]
    return Group(
        account.name,
        account.state,
        account.coordinator,
        account.assignor,
        account.members,
        lags,
    )


def _member(member: Any) -> Member:
    return Member(
        member.member_id,
        member.client_id,
        # Java's way to write an address that no name was looked up for.
        member.host.removeprefix("/"),
        sorted(
            TopicPartition(place.topic, place.partition)
            for place in member.assignment.topic_partitions
        ),
    )


def _committed(answered: Any) -> dict[TopicPartition, int]:
    """Without those that have no commit: their offset is negative."""
    return {
        TopicPartition(place.topic, place.partition): place.offset
        for place in answered.topic_partitions
        if place.offset >= 0
    }


def _state(state: ConsumerGroupState) -> str:
    return _STATES.get(state, state.name.capitalize())


def _outcome(name: str, error: KafkaError | None) -> Status:
    return Status(name) if error is None else _refused(name, error)


def _refused(name: str, error: KafkaError) -> Status:
    return _status(name, code_of(error), words_of(error))


def _status(name: str, code: ErrorCode, message: str) -> Status:
    return Status(name, code, message, _CURES.get(code, "").format(group=name))
