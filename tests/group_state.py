"""What a group's coordinator says, for tests that kill or stop their broker.

Asked in our own codec: librdkafka's admin client would abort the test's process, once the broker is
back, for a question to a coordinator that has timed out (src/kafkaesque/client/coordinators.py).
"""

from typing import TypeVar

from kafkaesque.client import group_requests
from kafkaesque.client.coordinators import Coordinators, Question
from kafkaesque.client.group_requests import Commit, Member
from kafkaesque.client.profiles import connection_of
from kafkaesque.errors import ErrorCode
from kafkaesque.types import TopicPartition

A = TypeVar("A")


def members(bootstrap: str, group: str) -> list[Member]:
    return _ask(bootstrap, group, group_requests.describe).members


def commits(bootstrap: str, group: str) -> dict[TopicPartition, Commit]:
    """All that the group has committed."""
    return _ask(bootstrap, group, group_requests.committed())


def delete(bootstrap: str, group: str) -> None:
    _ask(bootstrap, group, group_requests.delete())


def _ask(bootstrap: str, group: str, question: Question[A]) -> A:
    answer = Coordinators(connection_of(bootstrap)).ask_one(group, question)
    assert not isinstance(answer, ErrorCode), answer.name
    return answer
