"""A run of a plan: a broker that lives, ends and lives again, its clients, and the model.

Each life has an event loop of its own, on one virtual time. At the start of each, and at the end,
everything is looked at and held against the model. The first thing that is wrong ends the run.
"""

import asyncio
import gc
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.crash.forgetting import Directory, PowerCut
from tests.simulation.actors.actor import Actor
from tests.simulation.actors.admin import Admin, Clock
from tests.simulation.actors.consumer import Consumer
from tests.simulation.actors.group import Committer, Member
from tests.simulation.actors.producer import IdempotentProducer, Producer
from tests.simulation.actors.session import FetchSession, Intruder, SessionConsumer
from tests.simulation.actors.transactional import TransactionalProducer
from tests.simulation.complaints import Complaints
from tests.simulation.determinism import collecting_nothing, deterministic, replaced
from tests.simulation.disk import GreenletDisk
from tests.simulation.files import SimulatedFiles
from tests.simulation.history import History
from tests.simulation.housekeeping import Patrol, problems_at_rest
from tests.simulation.look import Found, Looker, RefusedError
from tests.simulation.loop import NothingWillHappenError, TooLateError, VirtualLoop
from tests.simulation.model.groups import Groups
from tests.simulation.model.offsets import Offsets
from tests.simulation.model.records import Harm, Key, Records
from tests.simulation.model.topics import Topics
from tests.simulation.model.transactions import Transactions
from tests.simulation.neighbour import Neighbour
from tests.simulation.network import Network
from tests.simulation.plan import Crash, Fault, Plan, Step

from kafkaesque.broker import storage
from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.broker.server import Server
from kafkaesque.errors import ErrorCode, KafkaError, StartError
from kafkaesque.transactions.transaction import PREPARED

ACTORS: dict[str, type[Actor]] = {
    "admin": Admin,
    "clock": Clock,
    "committer": Committer,
    "consumer": Consumer,
    "idempotent": IdempotentProducer,
    "intruder": Intruder,
    "member": Member,
    "producer": Producer,
    "session": SessionConsumer,
    "transactional": TransactionalProducer,
}

_EPOCH_MS = 1_700_000_000_000
_BACK_SECONDS = 60.0
"""So long after the last fault, everything has to be as it was."""
_QUIET_SECONDS = 15.0
_STOP_SECONDS = 60.0
_LONGEST_SECONDS = 600.0
_DYING_TURNS = 3
_CRASH_SECONDS = 5.0


class World:
    def __init__(self, plan: Plan, known: str | None = None) -> None:
        """`known` is a pattern of failures that are known already: the run goes on after them."""
        self.plan = plan
        self._known = re.compile(known) if known else None
        self.history = History()
        self.failure: str | None = None
        self.topics = Topics()
        self.records = Records(self._has_bad_disk)
        self.offsets = Offsets()
        self.groups = Groups()
        self.transactions = Transactions()
        self.fetch_sessions: dict[str, FetchSession] = {}
        """By owner. Numbers are no secret: anybody may guess them."""
        self.clock_offset_ms = 0
        self.is_stopping = False
        self.now = 0.0
        self.network: Network
        self.loop: VirtualLoop
        self.files: SimulatedFiles
        self.server: Server
        self._disk_root: Directory | None = None
        self.lives = 0
        self._has_served = False
        self._crashes = sorted(plan.crashes, key=lambda crash: crash.at)
        self._steps = _by_actor(plan.steps)
        self._actors = {name: ACTORS[name.split("-")[0]](name, self) for name in self._steps}
        self._acknowledgements: dict[Key, list[tuple[float, int]]] = {}
        self._producer_ids: set[tuple[int, int]] = set()
        self._disks: list[GreenletDisk] = []
        self._patrol: asyncio.Task[None] | None = None
        self._rests = 0
        self._is_over = False
        self._was_cut = False
        """Whether the power has gone since the last look."""
        self._failed: list[str] = []
        """Files that have met a fault since then, in earlier lives."""

    def run(self) -> str | None:
        """The first thing that went wrong, or None."""
        seed = self.plan.seed
        left = [(storage, "descriptors_left", lambda: self.files.descriptors_left)]
        with (
            collecting_nothing(seed),
            deterministic(seed),
            replaced(left),
            Complaints(self).heard(),
        ):
            while self.failure is None and not self._is_over:
                self._live()
            gc.collect()
        if self.failure:
            self.history.note("failure", self.failure)
        return self.failure

    def fail(self, what: str) -> None:
        if self._known is not None and self._known.search(what):
            self.history.note("known", what)
        else:
            self._fail_for_good(what)

    def _fail_for_good(self, what: str) -> None:
        if self.failure is None and not self.files.is_off:
            self.failure = what
            self.loop.stop_now()

    def clock(self) -> int:
        return _EPOCH_MS + int(self.loop.time() * 1000) + self.clock_offset_ms

    def acknowledged(self, place: Key, offset: int) -> None:
        self._acknowledgements.setdefault(place, []).append((self.loop.time(), offset))

    def acknowledgements(self, place: Key) -> list[tuple[float, int]]:
        return self._acknowledgements.get(place, [])

    def promised(self, place: Key, offset: int, label: int, *, is_flushed: bool = True) -> None:
        """Acknowledged or seen. With write caching nothing is said of the disk."""
        if is_flushed and not self.topics.traits(place[0]).is_weak:
            self.records.promised(place, offset, label)
        else:
            self.records.cached(place, offset, label)

    def _has_bad_disk(self, place: Key) -> bool:
        """A flush syncs the directories above its file, too, where they are new."""
        directory = f"/data/{self.topics.name_of(place[0])}-{place[1]}/"
        failed = (*self._failed, *_failed(self.files))
        return any(path.startswith(directory) or directory.startswith(path) for path in failed)

    def is_there(self, place: Key, offset: int, label: int) -> bool:
        """A record that was acknowledged: see the model."""
        traits = self.topics.traits(place[0])
        return self.records.is_there(place, offset, label, traits, self._harm(place))

    def _harm(self, place: Key) -> Harm:
        if self._has_bad_disk(place):
            return Harm.BAD_DISK
        return Harm.POWER_CUT if self._was_cut else Harm.NONE

    def given_producer_id(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) in self._producer_ids:
            self.fail(f"producer id {producer_id} with epoch {epoch} was given out twice")
        self._producer_ids.add((producer_id, epoch))

    def check_storage_error(self, code: ErrorCode, topic: str, place: Key) -> None:
        """A partition is told of its own disk's failures, and of nobody else's."""
        own = f"/{topic}-{place[1]}"
        if code is ErrorCode.KAFKA_STORAGE_ERROR and not any(
            fault.kind in ("full", "descriptors")
            or path.startswith(("/data" + own + "/", "/data" + own + "."))
            or path.count("/") < 3
            for fault, path in self.files.fired
        ):
            self.fail(f"{topic}-{place[1]} is told {code.name}, and its files are all right")

    # One life.

    def _live(self) -> None:
        self.lives += 1
        seed = f"{self.plan.seed} life {self.lives}"
        self.is_stopping = False
        self.network = Network(seed)
        self.loop = VirtualLoop(self.now, self.network)
        self.loop.until = self.now + _LONGEST_SECONDS
        self.loop.set_exception_handler(self._unhandled)
        self.history.time = self.loop.time
        self.files = self._new_files(seed, self._disk_root)
        self.files.now = self.loop.time
        self.files.on_crash = self._crashed
        self.files.on_fault = self._faulted
        self.history.note("broker", f"life {self.lives}")
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_until_complete(self._life())
        except NothingWillHappenError:
            self._fail_for_good("somebody waits, and nothing will ever happen")
        except TooLateError:
            self._fail_for_good("it goes on for ever")
        except PowerCut:
            pass
        except KafkaError as error:
            self._fail_for_good(f"a client cannot read what it is sent: {error.message}")
        except (ConnectionError, RuntimeError):
            if self.failure is None and not self.files.is_off:
                raise
        finally:
            self._bury()

    def _new_files(self, seed: str, root: Directory | None) -> SimulatedFiles:
        return SimulatedFiles(seed, root, self.plan.faults, self.plan.descriptors)

    def _crashed(self, kind: str) -> None:
        self.history.note("machine", f"{kind} at file call {self.files.calls}")
        self._was_cut = self._was_cut or kind == "cut"
        self.network.is_down = True
        self.loop.stop_now()

    def _faulted(self, operation: str, fault: Fault, path: str) -> None:
        self.history.note("disk", f"{fault.kind} in {operation} of {path}")

    def _bury(self) -> None:
        """Let nothing of the process be left, and take over what its disk holds."""
        self.network.is_down = True
        self.files.on_crash = lambda kind: None
        self.files.crash("kill")
        self.loop.go_on()
        for disk in self._disks:
            disk.kill(PowerCut())
        self._disks = []
        self.now = self.loop.time()
        self.groups.life_ends(self.now)
        self.loop.until = self.now + _LONGEST_SECONDS
        for _ in range(_DYING_TURNS):
            self._end_tasks()
        asyncio.set_event_loop(None)
        self.loop.close()
        self._disk_root = self.files.survivor
        self._failed += _failed(self.files)
        if self.plan.in_memory:
            for books in (self.topics, self.records, self.offsets, self.groups):
                books.forget_all()

    def _end_tasks(self) -> None:
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            try:
                self.loop.run_until_complete(asyncio.wait(tasks, timeout=100))
            except (NothingWillHappenError, TooLateError, RuntimeError):
                pass

    def _unhandled(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not self.files.is_off:
            error = context.get("exception")
            self.fail(f"not handled: {context['message']}: {error!r}")

    async def _life(self) -> None:
        if self._crashes:
            self._await_crash(self._crashes[0])
        await self._start()
        if self.lives > 1:
            await self._look(at_rest=False)
        if self.plan.has_neighbour:
            beside = asyncio.create_task(Neighbour(self).live_beside())
            beside.add_done_callback(_heard)
        actors = [
            asyncio.create_task(actor.live(self._steps[name]))
            for name, actor in self._actors.items()
        ]
        if not self.plan.in_memory:
            self._patrol = asyncio.create_task(Patrol(self).walk())
        stop = asyncio.create_task(self._until_stopped())
        await asyncio.wait(
            [stop, asyncio.ensure_future(_all(actors))], return_when="FIRST_COMPLETED"
        )
        if self._crashes or self.is_stopping:
            await stop
            return
        stop.cancel()
        await self._finish()

    def _await_crash(self, crash: Crash) -> None:
        def come() -> None:
            if crash.kind != "stop":
                self._crashes.remove(crash)
                self.files.crash_after = (self.files.calls + crash.calls, crash.kind)
                # There may never be so many calls.
                self.loop.call_later(
                    _CRASH_SECONDS * bool(crash.calls), self.files.crash, crash.kind
                )

        self.loop.call_at(max(crash.at, self.loop.time() + 0.0001), come)

    async def _until_stopped(self) -> None:
        """If the next crash is a clean stop, carry it out; otherwise wait for it."""
        if self._crashes and self._crashes[0].kind == "stop":
            crash = self._crashes[0]
            await asyncio.sleep(max(0, crash.at - self.loop.time()))
            self._crashes.remove(crash)
            await self._stop()
        else:
            await asyncio.Event().wait()

    async def _start(self) -> None:
        """It is tried again while the disk is bad."""
        data_dir = None if self.plan.in_memory else Path("/data")
        config = BrokerConfig((Listener("127.0.0.1", 9092),), data_dir, dict(self.plan.settings))
        deadline = max(self.loop.time(), self._last_fault()) + _BACK_SECONDS
        while self.loop.time() < deadline:
            self.server = Server(config, self.clock, self.files, new_disk=self._new_disk)
            fired = len(self.files.fired)
            self.groups.life_begins(self.loop.time())
            try:
                await self.server.start()
            except StartError as error:
                self.history.note("broker", f"does not start: {error}")
                if not self._may_refuse_to_start(str(error), self.files.fired[fired:]):
                    self.fail(f"a broker does not start: {error}")
                self.files.end_process()
                await asyncio.sleep(1)
            except OSError as error:
                self.fail(f"a start ends in a traceback: {error}")
                self.files.end_process()
                await asyncio.sleep(1)
            else:
                self.history.note("broker", "is started")
                self._has_served = True
                return
        self._fail_for_good("a broker never starts")

    def _may_refuse_to_start(self, why: str, fired: list[tuple[Fault, str]]) -> bool:
        """Not for want of room alone, nor for what befalls the files of a partition that is not the
        broker's own, once there is something to read: a directory in which no broker has ever
        served is still to be made, and needs room.
        """
        is_borne = all(fault.kind == "full" or is_of_a_client(path) for fault, path in fired)
        return not is_borne or (not self._has_served and bool(fired))

    def _new_disk(self, loop: asyncio.AbstractEventLoop) -> GreenletDisk:
        disk = GreenletDisk(loop, lambda: self.files.is_off, self.files.thread_delay)
        self.files.pause = disk.pause
        self._disks.append(disk)
        return disk

    async def _stop(self) -> None:
        self.history.note("broker", "is asked to stop")
        self.is_stopping = True
        late = f"a clean stop has not ended after {_STOP_SECONDS} s"
        watchdog = self.loop.call_later(_STOP_SECONDS, self.fail, late)
        await self.server.stop()
        watchdog.cancel()
        self.history.note("broker", "is stopped")

    async def _look(self, *, at_rest: bool) -> Found | None:
        """Look at everything, hold it against the model, and take it for told."""
        deadline = max(self.loop.time(), self._last_fault()) + _BACK_SECONDS
        looker = Looker("looker", self)
        while True:
            # Markers may also come while it looks: it has seen them, or not.
            ending = self._ending()
            try:
                found = await looker.look(self._groups())
                break
            except RefusedError as error:
                if self.loop.time() > deadline:
                    self.fail(f"{_BACK_SECONDS} s after the last fault: {error}")
                    return None
                await asyncio.sleep(0.5)
        ending |= self._ending()
        for problem in self._problems(found, ending, at_rest):
            self.fail(problem)
        self._settle(found, ending)
        return found

    def _groups(self) -> list[str]:
        names = [name for name in self._actors if name.startswith(("committer", "transactional"))]
        members = {name.rpartition("-")[0] for name in self._actors if name.startswith("member")}
        return [*names, *sorted(members)]

    def _last_fault(self) -> float:
        return max((fault.until for fault in self.plan.faults), default=0.0)

    def _problems(self, found: Found, ending: set[str], at_rest: bool) -> list[str]:
        problems = [*self.records.problems, *self.topics.check(found.topics)]
        for key, log in found.logs.items():
            traits = self.topics.traits(key[0])
            may_be_aborted = self.transactions.may_be_aborted
            problems += self.records.check(key, log, traits, may_be_aborted, self._harm(key))
        present = {topic_id for topic_id, _ in found.topics.topics.values()}
        problems += self.offsets.check(found.offsets, present, ending)
        problems += self.groups.check(found.groups, self.loop.time(), at_rest)
        for commit, offset in found.offsets.items():
            self.transactions.committed_by_offsets(commit, offset)
        if at_rest:
            problems += self.transactions.check(found.committed, self._readable(found))
        else:
            for label in sorted(found.committed):
                problems += self.transactions.seen(label)
        return problems

    def _readable(self, found: Found) -> dict[int, bool]:
        """Labels that have to be found by whoever may see them."""
        readable = {}
        for key, log in found.logs.items():
            traits = self.topics.traits(key[0])
            if not traits.is_weak and not traits.may_compact:
                for offset, label in log.labels.items():
                    readable[label] = offset >= log.start
        return readable

    def _settle(self, found: Found, ending: set[str]) -> None:
        self.topics.settle(found.topics)
        durable = self._durable_starts()
        for key, log in found.logs.items():
            self.records.settle(key, log, durable.get(key, 0), self._harm(key))
        self._was_cut, self._failed = False, []
        self.offsets.settle(found.offsets, ending)

    def _durable_starts(self) -> dict[Key, int]:
        broker = self.server.broker
        return {
            (topic.id, partition.name.partition): broker.storage.durable_log_start(partition)
            for topic in broker.topics
            for partition in topic.partitions
        }

    def _ending(self) -> set[str]:
        """Whose transaction is decided, with markers that the disk has refused so far."""
        table = self.server.broker.transactions.table
        return {name for name, each in table.transactions.items() if each.state in PREPARED}

    async def _finish(self) -> None:
        """Let it come to rest, look at everything; then once more after a clean stop."""
        rest_at = max(self.loop.time(), self._last_fault()) + _QUIET_SECONDS
        await asyncio.sleep(rest_at - self.loop.time())
        if not self.plan.in_memory:
            for problem in problems_at_rest(self.server.broker, self.files):
                self.fail(problem)
        await self._look(at_rest=True)
        await self._stop()
        self._rests += 1
        # On disk, the last look has to be after a clean stop.
        self._is_over = self.plan.in_memory or self._rests > 1


def _failed(files: SimulatedFiles) -> Iterator[str]:
    return (path for fault, path in files.fired if fault.kind != "slow")


def is_of_a_client(path: str) -> bool:
    """Whether it is a file in a partition of a topic that a client has made."""
    return path.count("/") > 2 and not path.startswith("/data/__")


def _heard(task: "asyncio.Task[None]") -> None:
    """Of what has gone wrong there, the world was told."""
    if not task.cancelled():
        task.exception()


async def _all(tasks: list["asyncio.Task[None]"]) -> None:
    await asyncio.gather(*tasks)


def _by_actor(steps: tuple[Step, ...]) -> dict[str, list[Step]]:
    found: dict[str, list[Step]] = {}
    for step in sorted(steps, key=lambda step: step.at):
        found.setdefault(step.actor, []).append(step)
    return found
