"""Consumer groups under stress: members of several clients join, leave and die while records flow.

Every seat of every group is vacated once, by a member that leaves (SIGTERM) or dies (SIGKILL), and
taken again a step later; a static seat keeps its instance id. Half-way the broker is killed and
started again. In the end the groups read everything, and history.py judges what the members said.
Above: test_groups.py. Below: drivers.py; what the members print is in clients/contract.py.
"""

import json
import random
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from tests.compat import reference
from tests.compat.drivers import ForeignClient
from tests.compat.history import (
    Assigned,
    Committed,
    Ended,
    Event,
    Happening,
    Processed,
    Withdrawn,
    commits_lost,
    owned_twice,
    rewound,
    unprocessed,
    went_back,
)
from tests.compat.peer import Peer

TICK_S = 0.05
RECORDS_PER_TICK = 5
JOIN_TIMEOUT_S = 20.0
END_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Seat:
    """A place in a group, for one member at a time."""

    client: ForeignClient
    static: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """A group: eager and cooperative assignors are never mixed in one."""

    group: str
    assignor: str
    seats: tuple[Seat, ...]


@dataclass(frozen=True, slots=True)
class Member:
    """A process on a seat; it prints to the file `said`, and its errors to `complaints`."""

    name: str
    group: str
    process: subprocess.Popen[bytes]
    said: Path
    complaints: Path

    def history(self) -> Iterator[Event]:
        # A last line without its end was cut by SIGKILL.
        for line in self.said.read_bytes().split(b"\n")[:-1]:
            event = json.loads(line)
            if what := _happening(event):
                yield Event(event["at"], self.name, what)


class Flow:
    """Records for the topic, over all partitions in turn, and which were acknowledged."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        settings = {"acks": "all", "enable.idempotence": True, "linger.ms": 5, "log_level": 0}
        self._producer = Producer({"bootstrap.servers": bootstrap, **settings})
        self._topic = topic
        self._partitions = partitions
        self._sent = 0
        self.acknowledged: dict[int, set[int]] = defaultdict(set)
        self.failures: list[str] = []

    def run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _ in range(RECORDS_PER_TICK):
                self._send()
            self._producer.poll(0)
            time.sleep(TICK_S)

    def finish(self) -> None:
        if left := self._producer.flush(END_TIMEOUT_S):
            self.failures.append(f"{left} records were neither acknowledged nor refused")

    def _send(self) -> None:
        partition = self._sent % self._partitions
        value = f"record {self._sent}"
        self._sent += 1
        self._producer.produce(
            self._topic, value, partition=partition, on_delivery=self._on_delivery
        )

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is not None:
            self.failures.append(f"a record was refused: {error}")
        else:
            self.acknowledged[message.partition()].add(message.offset())


class Chaos:
    """One run over one topic of a broker. `run` returns the faults that were found."""

    def __init__(
        self, peer: Peer, directory: Path, plans: tuple[Plan, ...], *, partitions: int, seed: int
    ) -> None:
        self._peer = peer
        self._directory = directory
        self._plans = plans
        self._random = random.Random(seed)
        self._topic = f"chaos-{seed}"
        self._members: list[Member] = []
        self._seated: dict[tuple[str, int], Member] = {}
        self._deaths: list[tuple[str, Event]] = []
        reference.run(
            peer.bootstrap, "create", topic=self._topic, partitions=partitions, configs={}
        )
        self._flow = Flow(peer.bootstrap, self._topic, partitions)

    def run(self, *, step_s: float, session_ms: int, drain_s: float) -> list[str]:
        faults: list[str] = []
        vacancies = list(self._vacancies())
        try:
            for plan, number, _ in vacancies:
                self._join(plan, number, session_ms)
            self._await_joined(list(self._seated.values()))
            self._flow.run(step_s)
            for step, (plan, number, kill) in enumerate(vacancies):
                if step == len(vacancies) // 2:
                    faults += self._restart_broker()
                self._vacate(plan.group, number, kill=kill)
                self._flow.run(step_s)
                self._join(plan, number, session_ms)
            self._await_joined(list(self._seated.values()))
            self._flow.finish()
            self._await_all_processed(drain_s)
            faults += self._end()
        finally:
            for member in self._members:
                member.process.kill()
                member.process.wait()
        return faults + self._flow.failures + self._judge()

    def history(self, group: str) -> list[Event]:
        said = [each.history() for each in self._members if each.group == group]
        deaths = [event for where, event in self._deaths if where == group]
        return [event for events in said for event in events] + deaths

    def _vacancies(self) -> Iterator[tuple[Plan, int, bool]]:
        """Every seat once: the groups take turns, and in each every second member is killed."""
        orders = []
        for plan in self._plans:
            numbers = list(range(len(plan.seats)))
            self._random.shuffle(numbers)
            orders.append([(plan, each, turn % 2 == 1) for turn, each in enumerate(numbers)])
        for turn in zip_longest(*orders):
            yield from filter(None, turn)

    def _join(self, plan: Plan, number: int, session_ms: int) -> None:
        seat = plan.seats[number]
        name = f"{plan.group}-{number}-{seat.client.name}-{len(self._members)}"
        said, complaints = self._directory / f"{name}.out", self._directory / f"{name}.err"
        arguments = {
            "group": plan.group,
            "topic": self._topic,
            "assignor": plan.assignor,
            "instance_id": f"{plan.group}-{number}" if seat.static else None,
            "session_ms": session_ms,
        }
        with said.open("wb") as stdout, complaints.open("wb") as stderr:
            process = seat.client.spawn(
                self._peer.bootstrap, "member", arguments, stdout=stdout, stderr=stderr
            )
        member = Member(name, plan.group, process, said, complaints)
        self._members.append(member)
        self._seated[plan.group, number] = member

    def _vacate(self, group: str, number: int, *, kill: bool) -> None:
        member = self._seated.pop((group, number))
        self._await_joined([member])
        if kill:
            member.process.kill()
            member.process.wait()
            self._deaths.append((group, Event(time.monotonic_ns(), member.name, Ended())))
        else:
            member.process.terminate()

    def _restart_broker(self) -> list[str]:
        self._await_joined(list(self._seated.values()))
        self._peer.kill()
        before = {plan.group: self.history(plan.group) for plan in self._plans}
        self._peer.start()
        return [
            f"{group}: after kill -9 of the broker: {fault}"
            for group, history in before.items()
            for fault in commits_lost(history, self._committed(group))
        ]

    def _end(self) -> list[str]:
        for member in self._members:
            member.process.terminate()
        killed = {event.member for _, event in self._deaths}
        faults = []
        for member in self._members:
            member.process.wait(END_TIMEOUT_S)
            ends = [event for event in member.history() if isinstance(event.what, Ended)]
            if member.name not in killed and not ends:
                faults.append(f"{member.name} broke: {member.complaints.read_text()[-2000:]}")
        return faults

    def _judge(self) -> list[str]:
        faults = []
        for plan in self._plans:
            history = self.history(plan.group)
            found = [
                *unprocessed(history, self._flow.acknowledged),
                *owned_twice(history),
                *rewound(history),
                *commits_lost(history, self._committed(plan.group)),
                *went_back(history),
            ]
            faults += [f"{plan.group}: {fault}" for fault in found]
        return faults

    def _committed(self, group: str) -> dict[int, int]:
        return reference.committed(self._peer.bootstrap, group, self._topic)

    def _await_joined(self, members: list[Member]) -> None:
        """Records flow on until each has said something: a process that starts is no member."""
        end = time.monotonic() + JOIN_TIMEOUT_S
        while not all(any(each.history()) for each in members) and time.monotonic() < end:
            self._flow.run(0.2)

    def _await_all_processed(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and any(
            unprocessed(self.history(plan.group), self._flow.acknowledged) for plan in self._plans
        ):
            time.sleep(0.5)


def _happening(event: dict[str, Any]) -> Happening | None:
    match event["event"]:
        case "assigned":
            return Assigned(event["generation"], frozenset(event["partitions"]))
        case "revoked" | "lost":
            return Withdrawn(frozenset(event["partitions"]))
        case "records":
            return Processed(event["generation"], event["partition"], tuple(event["offsets"]))
        case "commit":
            return Committed({int(each): at for each, at in event["offsets"].items()})
        case "closed":
            return Ended()
    return None
