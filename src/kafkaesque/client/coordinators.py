"""Questions to the coordinators of groups, in our own codec: FindCoordinator, then each its own.

librdkafka's admin client could ask them too, but it aborts the process: what has timed out while
the broker was away is released twice once it is back (librdkafka's issue 4605, open as of 2.16). A
process that lives longer than its cluster must not ask coordinators that way. Every question makes
its own connections, so a broker that has restarted is found at once. A coordinator that moves or
loads its state is asked again until the timeout.
Above: groups.py, group_requests.py, pipelines/sink/ledger.py. Below: wire.py.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
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

# The last with one key a request: from the first Kafka with groups to 4.3 all know one of these.
_FIND_COORDINATOR: Final = 3
_PAUSE_S: Final = 0.05
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


@dataclass(frozen=True, slots=True)
class Coordinators:
    connection: Connection

    def ask(self, groups: Iterable[str], question: Question[A]) -> dict[str, A | ErrorCode]:
        """The answer about each group, or why there is none. Raises ClusterError."""
        names = list(dict.fromkeys(groups))
        answers: dict[str, A | ErrorCode] = {}
        left = names
        deadline_s = time.monotonic() + self.connection.timeout_s
        while left:
            answers |= self._ask(left, question)
            left = [name for name in left if _is_later(answers[name])]
            if left and time.monotonic() > deadline_s:
                break
            time.sleep(_PAUSE_S if left else 0.0)
        return {name: answers[name] for name in names}

    def _ask(self, groups: Sequence[str], question: Question[A]) -> dict[str, A | ErrorCode]:
        answers: dict[str, A | ErrorCode] = {}
        nodes: dict[tuple[int, Address], list[str]] = {}
        for name, found in self._find(groups).items():
            if found.error_code:
                answers[name] = error_code(found.error_code)
            else:
                node = found.node_id, Address(found.host, found.port)
                nodes.setdefault(node, []).append(name)
        for (node_id, address), names in nodes.items():
            with Wire(address, self.connection) as wire:
                answers |= question(Coordinator(node_id, wire), names)
        # A broker that passes over a group has not done what it was asked.
        return {name: answers.get(name, ErrorCode.UNKNOWN_SERVER_ERROR) for name in groups}

    def _find(self, groups: Sequence[str]) -> dict[str, FindCoordinatorResponse]:
        requests = [FindCoordinatorRequest(key=name) for name in groups]
        with self._any() as wire:
            found = wire.ask_each(
                requests, FindCoordinatorResponse, _FIND_COORDINATOR, min_version=0
            )
        return dict(zip(groups, found, strict=True))

    def _any(self) -> Wire:
        """To whichever of the brokers that the user has named listens."""
        failure: UnansweredError | None = None
        for broker in self.connection.brokers:
            try:
                return Wire(broker, self.connection)
            except UnansweredError as error:
                failure = failure or error
        assert failure is not None
        raise failure


def _is_later(answer: object) -> bool:
    return isinstance(answer, ErrorCode) and answer in _LATER
