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
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias, TypeVar

from kafkaesque.client.cluster_metadata import error_code
from kafkaesque.client.connection import Address, Connection, UnansweredError
from kafkaesque.client.wire import Wire
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

A = TypeVar("A")
T = TypeVar("T")

# The last with one key a request: from the first Kafka with groups to 4.3 all know one of these.
_FIND_COORDINATOR: Final = 3
_MIN_PAUSE_S: Final = 0.05
_MAX_PAUSE_S: Final = 1.0
_LATER: Final = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}


class Coordinator(NamedTuple):
    node_id: int
    wire: Wire


Question: TypeAlias = Callable[[Coordinator, Sequence[str]], dict[str, A | ErrorCode]]
"""What to ask a coordinator about those groups of its own, and what it says of each."""


@dataclass(slots=True)
class Coordinators:
    """Several threads may ask at once."""

    connection: Connection
    # Of the brokers that are named, who is asked first. Whichever thread sets it last is right.
    _answered_last: Address | None = field(default=None, init=False, repr=False, compare=False)

    def ask(self, groups: Iterable[str], question: Question[A]) -> dict[str, A | ErrorCode]:
        """The answer about each group, or why there is none.

        Raises ClusterError, if nobody has answered anything.
        """
        names = list(dict.fromkeys(groups))
        answers: dict[str, A | ErrorCode] = {}
        failure: UnansweredError | None = None
        left = names
        deadline_s = time.monotonic() + self.connection.timeout_s
        pause_s = _MIN_PAUSE_S
        while left:
            try:
                replies, unanswered = self._ask(left, question, deadline_s)
            except UnansweredError as error:
                if not answers:
                    raise failure or error from None
            else:
                answers |= replies
                failure = failure or unanswered
            left = [name for name in left if name not in answers or _is_later(answers[name])]
            left_s = deadline_s - time.monotonic()
            if left_s < _MIN_PAUSE_S:
                break
            time.sleep(min(pause_s, left_s / 2) if left else 0.0)
            pause_s = min(2 * pause_s, _MAX_PAUSE_S)
        if failure is not None and not answers:
            raise failure
        return {name: answers.get(name, ErrorCode.COORDINATOR_NOT_AVAILABLE) for name in names}

    def _ask(
        self, groups: Sequence[str], question: Question[A], deadline_s: float
    ) -> tuple[dict[str, A | ErrorCode], UnansweredError | None]:
        """Without the groups whose coordinators do not answer, and why the first of these does not.

        Raises ClusterError, if nobody says who the coordinators are.
        """
        answers: dict[str, A | ErrorCode] = {}
        failure: UnansweredError | None = None
        nodes: dict[tuple[int, Address], list[str]] = {}
        for name, found in self._find(groups, deadline_s).items():
            if found.error_code:
                answers[name] = error_code(found.error_code)
            else:
                node = found.node_id, Address(found.host, found.port)
                nodes.setdefault(node, []).append(name)
        for ((node_id, address), names), share_s in _shared(deadline_s, nodes.items()):
            try:
                with Wire(address, self.connection, share_s) as wire:
                    replies = question(Coordinator(node_id, wire), names)
            except UnansweredError as error:
                failure = failure or error
                continue
            # A broker that passes over a group has not done what it was asked.
            answers |= {name: replies.get(name, ErrorCode.UNKNOWN_SERVER_ERROR) for name in names}
        return answers, failure

    def _find(self, groups: Sequence[str], deadline_s: float) -> dict[str, FindCoordinatorResponse]:
        """From whichever of the brokers that the user has named answers."""
        failure: UnansweredError | None = None
        requests = [FindCoordinatorRequest(key=name) for name in groups]
        first = self._answered_last
        brokers = sorted(self.connection.brokers, key=lambda broker: broker != first)
        for broker, share_s in _shared(deadline_s, brokers):
            try:
                with Wire(broker, self.connection, share_s) as wire:
                    responses = wire.ask_each(
                        requests, FindCoordinatorResponse, _FIND_COORDINATOR, min_version=0
                    )
            except UnansweredError as error:
                failure = failure or error
            else:
                self._answered_last = broker
                return dict(zip(groups, responses, strict=True))
        assert failure is not None
        raise failure


def _shared(deadline_s: float, items: Collection[T]) -> Iterator[tuple[T, float]]:
    """Each with a deadline of its own: what is left is shared by those that are still to come."""
    for count, item in zip(range(len(items), 0, -1), items, strict=True):
        now_s = time.monotonic()
        yield item, now_s + (deadline_s - now_s) / count


def _is_later(answer: object) -> bool:
    return isinstance(answer, ErrorCode) and answer in _LATER
