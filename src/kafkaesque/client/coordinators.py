"""Questions to the coordinators of groups, in our own codec: FindCoordinator, then each its own.

librdkafka's admin client could ask them too, but it aborts the process: what has timed out while
the broker was away is released twice once it is back (librdkafka's issue 4605, open as of 2.16). A
process that lives longer than its cluster must not ask coordinators that way. Every question makes
its own connections, so a broker that has restarted is found at once. A coordinator that moves,
loads its state or does not answer is asked again until the timeout, which is that of the whole
question: brokers of which one is enough, and coordinators, share what is left of it, so that one
that hangs leaves time for the others.
Above: groups.py, group_requests.py, pipelines/sink/ledger.py. Below: wire.py.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias, TypeVar

from kafkaesque.client.cluster_metadata import error_code
from kafkaesque.client.connection import (
    Address,
    ClusterError,
    Connection,
    UnansweredError,
    shared,
)
from kafkaesque.client.wire import Wire
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

A = TypeVar("A")

# The last with one key a request: from the first Kafka with groups to 4.3 all know one of these.
_FIND_COORDINATOR: Final = 3
_MIN_PAUSE_S: Final = 0.05
_MAX_PAUSE_S: Final = 1.0
LATER: Final = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}


class Coordinator(NamedTuple):
    node_id: int
    wire: Wire


Answers: TypeAlias = Iterator[tuple[str, A | ErrorCode]]
"""What a coordinator says of each group, as it comes."""

Question: TypeAlias = Callable[[Coordinator, Sequence[str]], Answers[A]]
"""What to ask a coordinator about those groups of its own."""


@dataclass(slots=True)
class Coordinators:
    """Several threads may ask at once."""

    connection: Connection
    # Of the brokers that are named, who is asked first. Whichever thread sets it last is right.
    _answered_last: Address | None = field(default=None, init=False, repr=False, compare=False)

    def ask_one(self, group: str, question: Question[A]) -> A | ErrorCode:
        """The answer about a group. Raises ClusterError, if there is none."""
        answer = self.ask([group], question)[group]
        if isinstance(answer, ClusterError):
            raise answer
        return answer

    def ask(
        self, groups: Iterable[str], question: Question[A]
    ) -> dict[str, A | ErrorCode | ClusterError]:
        """The answer about each group, or why there is none: a ClusterError, if its coordinator
        does not answer, or not this question.

        Raises ClusterError, if nobody has answered anything.
        """
        answers: dict[str, A | ErrorCode | ClusterError] = {}
        left = names = list(dict.fromkeys(groups))
        deadline_s = time.monotonic() + self.connection.timeout_s
        pause_s = _MIN_PAUSE_S
        while left:
            for name, answer in self._ask(left, question, deadline_s, may_raise=not answers):
                # What was answered once says more than that there is no answer now.
                if name not in answers or not isinstance(answer, UnansweredError):
                    answers[name] = answer
            left = [name for name in left if _is_later(answers[name])]
            left_s = deadline_s - time.monotonic()
            if left_s < _MIN_PAUSE_S:
                break
            time.sleep(min(pause_s, left_s / 2) if left else 0.0)
            pause_s = min(2 * pause_s, _MAX_PAUSE_S)
        failures = [answer for answer in answers.values() if isinstance(answer, ClusterError)]
        if failures and len(failures) == len(answers):
            raise failures[0]
        return {name: answers[name] for name in names}

    def _ask(
        self, groups: Sequence[str], question: Question[A], deadline_s: float, *, may_raise: bool
    ) -> Iterator[tuple[str, A | ErrorCode | ClusterError]]:
        """An answer for each of the groups.

        Raises ClusterError, if it may, when nobody says who the coordinators are. Who has been told
        once knows that there is a cluster: it may come back.
        """
        try:
            coordinators = self._find(groups, deadline_s)
        except ClusterError as error:
            if may_raise:
                raise
            yield from ((name, error) for name in groups)
            return
        nodes: dict[tuple[int, Address], list[str]] = {}
        for name, found in coordinators.items():
            if found.error_code:
                yield name, error_code(found.error_code)
            else:
                node = found.node_id, Address(found.host, found.port)
                nodes.setdefault(node, []).append(name)
        for ((node_id, address), names), share_s in shared(deadline_s, nodes.items()):
            answers: dict[str, A | ErrorCode] = {}
            # A broker that passes over a group has not done what it was asked.
            missing: ErrorCode | ClusterError = ErrorCode.UNKNOWN_SERVER_ERROR
            try:
                with Wire(address, self.connection, share_s) as wire:
                    # What comes before it goes wrong is kept.
                    answers.update(question(Coordinator(node_id, wire), names))
            except ClusterError as error:
                missing = error
            yield from ((name, answers.get(name, missing)) for name in names)

    def _find(self, groups: Sequence[str], deadline_s: float) -> dict[str, FindCoordinatorResponse]:
        """From whichever of the brokers that the user has named answers."""
        failure: UnansweredError | None = None
        requests = [FindCoordinatorRequest(key=name) for name in groups]
        first = self._answered_last
        brokers = sorted(self.connection.brokers, key=lambda broker: broker != first)
        for broker, share_s in shared(deadline_s, brokers):
            try:
                with Wire(broker, self.connection, share_s) as wire:
                    answers = wire.ask_each(
                        requests, FindCoordinatorResponse, _FIND_COORDINATOR, min_version=0
                    )
                    responses = dict(zip(groups, answers, strict=True))
            except UnansweredError as error:
                failure = failure or error
            else:
                self._answered_last = broker
                return responses
        assert failure is not None
        raise failure


def _is_later(answer: object) -> bool:
    if isinstance(answer, ErrorCode):
        return answer in LATER
    return isinstance(answer, UnansweredError)
