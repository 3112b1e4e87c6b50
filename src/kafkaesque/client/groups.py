"""Consumer groups of a cluster: who is in them, what they have committed, how far behind they are.

All groups are asked about at once: their descriptions, their commits, then where the logs of all
their partitions start and end. A group that one cannot be told about has an `error`; the others are
whole. Works for groups of the classic protocol and of KIP-848's. What a coordinator is asked goes
past librdkafka, for the reason that coordinators.py names.
Above: cli/, console/. Below: admin.py, answers.py, group_requests.py.
"""

import builtins
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException

from kafkaesque.client import group_requests as requests
from kafkaesque.client.admin import Admin, Watermarks
from kafkaesque.client.answers import (
    Status,
    answer,
    raise_if_local,
    started,
    words_of,
)
from kafkaesque.client.connection import ClusterError, UnansweredError, UnsupportedError
from kafkaesque.client.coordinators import Answers, Coordinator, Coordinators
from kafkaesque.client.group_requests import Description, Member
from kafkaesque.errors import ErrorCode
from kafkaesque.types import TopicPartition

__all__ = ["Group", "GroupSummary", "Groups", "Lag", "Member"]

# Kafka's own spelling, which rpk prints too.
_STATES = {
    ConsumerGroupState.PREPARING_REBALANCING: "PreparingRebalance",
    ConsumerGroupState.COMPLETING_REBALANCING: "CompletingRebalance",
}

_DEAD = "Dead"
_STOP_MEMBERS = "stop its members first; `kafkaesque group describe {group}` names them"
_CURES = {
    ErrorCode.GROUP_ID_NOT_FOUND: "see which groups there are with `kafkaesque group list`",
    ErrorCode.NON_EMPTY_GROUP: _STOP_MEMBERS,
    # What a commit without a member's id is told while there are members.
    ErrorCode.UNKNOWN_MEMBER_ID: _STOP_MEMBERS,
    ErrorCode.STALE_MEMBER_EPOCH: _STOP_MEMBERS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "see what there is with `kafkaesque topic list`",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "connect as a --user who may",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "connect as a --user who may",
}


@dataclass(frozen=True, slots=True)
class GroupSummary:
    name: str
    state: str
    kind: str


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
    description: Description
    committed: dict[TopicPartition, int]

    @property
    def owners(self) -> dict[TopicPartition, Member]:
        return {place: member for member in self.description.members for place in member.partitions}

    @property
    def places(self) -> list[TopicPartition]:
        return sorted({*self.committed, *self.owners})


class Groups:
    """The groups of the cluster that `admin` is connected to."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._coordinators = Coordinators(admin.connection)

    def list(self) -> builtins.list[GroupSummary]:
        connection = self._admin.connection
        try:
            asked: Any = self._admin.client.list_consumer_groups
            found = answer(started(asked, connection=connection), connection)
            # One broker that does not answer would make the list a part of itself, unseen.
            for error in found.errors:
                raise KafkaException(error)
        except KafkaException as error:
            raise_if_local(error, connection)
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
        told = self._coordinators.ask_one(name, requests.committed())
        offsets = told if isinstance(told, ErrorCode) else _offsets(told)
        if isinstance(offsets, ErrorCode):
            raise ClusterError(f"group {name}: {_refused(name, offsets)}")
        return offsets

    def commit(
        self, name: str, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, Status]:
        """Commit in the group's place. No member may be in it."""
        return commit(self._coordinators, name, offsets)

    def delete(self, names: Iterable[str]) -> builtins.list[Status]:
        told = self._coordinators.ask(names, requests.delete())
        return [_refused(name, code or ErrorCode.NONE) for name, code in told.items()]

    def _accounts(self, names: builtins.list[str]) -> "builtins.list[_Account | Status]":
        told = self._coordinators.ask(names, _accounts)
        return [
            _existing(account) if isinstance(account, _Account) else _refused(name, account)
            for name, account in told.items()
        ]


def commit(
    coordinators: Coordinators, name: str, offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, Status]:
    """Commit in a group's place, without an Admin. Raises ClusterError."""
    if not offsets:
        return {}
    told = coordinators.ask_one(name, requests.commit(offsets))
    if isinstance(told, ErrorCode):
        return dict.fromkeys(offsets, _refused(name, told))
    return {place: _refused(name, code) for place, code in told.items()}


def _accounts(coordinator: Coordinator, names: Sequence[str]) -> Answers[_Account]:
    described = dict(requests.describe(coordinator, names))
    for name, commits in requests.committed()(coordinator, names):
        description = described.get(name)
        offsets = commits if isinstance(commits, ErrorCode) else _offsets(commits)
        if isinstance(description, ErrorCode):
            yield name, description
        elif isinstance(offsets, ErrorCode):
            yield name, offsets
        elif description is not None:
            yield name, _Account(name, description, offsets)


def _existing(account: _Account) -> _Account | Status:
    if account.description.state == _DEAD and not account.committed:
        return _status(account.name, ErrorCode.GROUP_ID_NOT_FOUND, "there is no such group")
    return account


def _group(account: "_Account | Status", marks: Mapping[TopicPartition, Watermarks]) -> Group:
    if isinstance(account, Status):
        state = _DEAD if account.code is ErrorCode.GROUP_ID_NOT_FOUND else "Unknown"
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
        account.description.state,
        account.description.coordinator,
        account.description.assignor,
        account.description.members,
        lags,
    )


def _offsets(
    commits: Mapping[TopicPartition, requests.Commit],
) -> dict[TopicPartition, int] | ErrorCode:
    """Without those that have no commit: their offset is negative. Or why one is not told: without
    it, the others are not what the group has committed."""
    for each in commits.values():
        if each.error:
            return each.error
    return {place: each.offset for place, each in commits.items() if each.offset >= 0}


def _state(state: ConsumerGroupState) -> str:
    return _STATES.get(state, state.name.capitalize())


def _refused(name: str, reason: ErrorCode | ClusterError) -> Status:
    if isinstance(reason, ClusterError):
        return Status(name, _code(reason), str(reason))
    if reason is ErrorCode.NONE:
        return Status(name)
    return _status(name, reason, words_of(KafkaError(reason)))


def _code(failure: ClusterError) -> ErrorCode:
    """The code of Kafka's that comes nearest."""
    if isinstance(failure, UnansweredError):
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if isinstance(failure, UnsupportedError):
        return ErrorCode.UNSUPPORTED_VERSION
    return ErrorCode.UNKNOWN_SERVER_ERROR


def _status(name: str, code: ErrorCode, message: str) -> Status:
    return Status(name, code, message, _CURES.get(code, "").format(group=name))
