"""Draws a plan from a seed.

Each seed takes some features and leaves others out (swarm testing): what is rare in a mixture of
everything is common in a mixture of three things.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from tests.simulation.plan import Crash, Fault, Plan, Step
from tests.simulation.scenes import SCENES, SCENES_WITHOUT_FAULTS, Scene

LONG_NAME = "l" + "ong" * 77
_NAMES = ("t0", "t1", "t2", "t3", "t4", "t5")
SETTINGS = {
    "log.segment.bytes": "1200",
    "offsets.topic.segment.bytes": "1200",
    "transaction.state.log.segment.bytes": "1200",
    "log.index.interval.bytes": "200",
    "log.flush.offset.checkpoint.interval.ms": "1500",
    "log.retention.check.interval.ms": "2000",
    "log.cleaner.backoff.ms": "900",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "group.min.session.timeout.ms": "1000",
}
_FEATURES = (
    "idempotent",
    "transactions",
    "committers",
    "members",
    "compaction",
    "retention",
    "delete records",
    "recreate",
    "configure",
    "write caching",
    "default",
    "clock",
    "long name",
    "extremes",
    "polls",
    "many creates",
    "sessions",
)
_SCENES = 0.3
_FEW_DESCRIPTORS, _DESCRIPTORS = 0.01, 200
_BEGUN_SECONDS = 1.0
"""By then, a broker has what it cannot do without."""
_WRITES = ("write", "sync", "create", "rename", "remove", "truncate", "sync_directory")
_FAMILIES = (
    ".log",
    ".index",
    ".timeindex",
    ".producers",
    "__cluster_metadata",
    "__consumer_offsets",
    "__transaction_state",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
    ".kafka_cleanshutdown",
    "meta.properties",
    "partition.metadata",
    ".cleaned",
    ".swap",
    "-delete",
)


def draw(seed: int) -> Plan:
    return _Draw(seed).plan()


class _Draw:
    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = Random(f"plan {seed}")
        share = self._random.choice((0.25, 0.5, 0.75))
        self._features = {name for name in _FEATURES if self._random.random() < share}
        self._seconds = self._random.choice((4.0, 8.0, 14.0))
        self._steps: list[Step] = []
        self._more = Random(f"more of plan {seed}")
        self._after: dict[int, list[Step]] = {}
        """What follows the step of that number. It is drawn from a chance of its own, and the rest
        of the plan does not depend on it.
        """
        self._scene = Scene()
        self._crashes: tuple[Crash, ...] = ()
        self._names = [*_NAMES[: self._random.randint(2, 6)]]
        if self._has("long name") and self._random.random() < 0.1:
            self._names.append(LONG_NAME)

    def plan(self) -> Plan:
        random = self._random
        in_memory = random.random() < 0.08
        self._create_all()
        for _ in range(random.choice((40, 60, 100))):
            self._draw_step()
        if random.random() < _SCENES:
            scene = random.choice(SCENES_WITHOUT_FAULTS if in_memory else SCENES)
            self._scene = scene(random, random.random() * self._seconds, self._place)
            self._steps += self._scene.steps
        descriptors = _DESCRIPTORS if random.random() < _FEW_DESCRIPTORS else None
        if descriptors is not None:
            count = descriptors - random.randint(20, 60)
            self._step("admin-8", "create", "many", count, ())
        self._crashes = tuple(self._scene.crashes) or self._draw_crashes(in_memory)
        faults = () if in_memory else (*self._scene.faults, *self._faults())
        return Plan(
            self._seed,
            in_memory,
            random.random() < 0.015,
            tuple(SETTINGS.items()),
            tuple(sorted(self._all_steps(), key=lambda step: step.at)),
            faults,
            self._crashes,
            descriptors,
        )

    def _all_steps(self) -> Iterator[Step]:
        for number, step in enumerate(self._steps):
            yield step
            yield from self._after.get(number, ())

    def _then(self, wait: float, action: str, *args: Any) -> None:
        """Whoever does the last step does this so long after it."""
        last = self._steps[-1]
        after = self._after.setdefault(len(self._steps) - 1, [])
        after.append(Step(last.at + wait, last.actor, action, args))

    def _has(self, feature: str) -> bool:
        return feature in self._features

    def _time(self) -> float:
        """Often at the same moment as something else: that is where races are."""
        if self._steps and self._random.random() < 0.4:
            return self._random.choice(self._steps).at + self._random.random() * 0.01
        return 0.2 + self._random.random() * self._seconds

    def _step(self, actor: str, action: str, *args: Any, at: float | None = None) -> None:
        self._steps.append(Step(self._time() if at is None else at, actor, action, args))

    def _owner(self, name: str) -> str:
        return f"admin-{name[1:]}" if name in _NAMES else "admin-8"

    def _create_all(self) -> None:
        for name in self._names:
            at = self._random.random() * 0.05
            self._create(name, at)

    def _create(self, name: str, at: float | None = None) -> None:
        settings: dict[str, str] = {}
        for feature, (key, values) in _CREATION.items():
            if self._has(feature) and self._random.random() < 0.4:
                settings[key] = self._random.choice(values)
        partitions = self._random.choice((1, 1, 2, 3))
        self._step(self._owner(name), "create", name, partitions, tuple(settings.items()), at=at)

    def _draw_step(self) -> None:
        choices: list[tuple[float, Callable[[], None]]] = [(10, self._produce), (3, self._fetch)]
        for feature, weight, method in (
            ("idempotent", 6, self._produce_in_sequence),
            ("transactions", 8, self._transact),
            ("committers", 6, self._commit),
            ("members", 3, self._join),
            ("delete records", 3, self._delete_records),
            ("recreate", 3, self._recreate),
            ("configure", 2, self._configure),
            ("write caching", 2, self._cache_writes),
            ("default", 1, self._default),
            ("clock", 1, self._set_clock),
            ("extremes", 2, self._produce_extremes),
            ("polls", 4, self._poll),
            ("many creates", 4, self._recreate),
            ("sessions", 4, self._fetch_in_session),
        ):
            if self._has(feature):
                choices.append((weight, method))
        self._random.choices([c[1] for c in choices], [c[0] for c in choices])[0]()

    def _place(self) -> tuple[str, int]:
        return self._random.choice(self._names), self._random.randrange(3)

    def _produce(self) -> None:
        random = self._random
        size = -1 if self._has("compaction") and random.random() < 0.2 else 0
        size = size or random.choice((5, 50, 400))
        count, key = random.choice((1, 1, 2, 4)), random.randrange(4)
        acks = random.choice((-1, -1, -1, 1, 0))
        actor = f"producer-{random.randrange(3)}"
        self._step(actor, "produce", *self._place(), count, key, size, acks, 0)

    def _produce_extremes(self) -> None:
        place, key = self._place(), self._random.randrange(4)
        self._step("producer-9", "produce", *place, 1, key, -1, -1, -1)

    def _fetch(self) -> None:
        isolation = self._random.randrange(2)
        self._step(f"consumer-{self._random.randrange(2)}", "fetch", *self._place(), isolation, 0)

    def _poll(self) -> None:
        isolation = self._random.choice((0, 0, 1))
        actor = f"consumer-{self._random.randrange(2, 5)}"
        place, at = self._place(), self._time()
        for _ in range(self._random.randint(1, 4)):
            self._step(actor, "fetch", *place, isolation, 15_000, at=at)

    def _fetch_in_session(self) -> None:
        owner, at = f"session-{self._random.randrange(2)}", self._time()
        self._step(owner, "fetch_in_session", *self._place(), at=at)
        if self._random.random() < 0.2:
            action = self._random.choice(("use_session", "end_session"))
            self._step("intruder-0", action, owner, at=at)

    def _produce_in_sequence(self) -> None:
        actor = f"idempotent-{self._random.randrange(2)}"
        place, key = self._place(), self._random.randrange(4)
        if self._random.random() < 0.1:
            self._step(actor, "begin")
        self._step(actor, "produce_in_sequence", *place, self._random.randint(1, 3), key)
        self._send_again()
        self._send_what_is_refused(place)

    def _send_again(self) -> None:
        more = self._more
        if more.random() < 0.06:
            last = self._steps[-1].args
            for _ in range(5):
                self._then(0.0, "produce_in_sequence", *last[:2], 1, more.randrange(4))
            for back in more.sample((4, 5, 6), 2):
                self._then(more.choice((0.0, 2.0)), "produce_again", 0, back, False)
        for _ in range(more.choice((0, 0, 1, 2))):
            wait, back = more.choice((0.0, 0.0, 0.5, 2.0)), more.choice((1, 1, 2, 3, 4, 5, 5, 6))
            self._then(wait, "produce_again", more.randrange(4), back, more.random() < 0.3)

    def _send_what_is_refused(self, place: tuple[str, int]) -> None:
        more = self._more
        draw, number, wait = more.random(), more.randrange(4), more.choice((0.0, 2.0))
        if draw < 0.1:
            self._then(wait, "produce_with_gap", number, more.choice((1, 1, 5, 1000)))
        elif draw < 0.15:
            self._then(wait, "raise_epoch")
            self._then(wait, "produce_in_sequence", *place, 1, number)
            self._then(wait + more.choice((0.0, 2.0)), "produce_with_old_epoch", number)

    def _transact(self) -> None:
        random = self._random
        actor, at = f"transactional-{random.randrange(2)}", self._time()
        for _ in range(random.randint(1, 2)):
            places = tuple(self._place() for _ in range(random.randint(1, 3)))
            self._step(actor, "send", places, random.randint(1, 2), random.randrange(4), at=at)
            if self._more.random() < 0.25:
                again = self._more.choice((1, 1, 2, 4))
                self._then(0.0, "send_again", self._more.randrange(4), again)
        if random.random() < 0.4:
            self._step(actor, "send_offsets", *self._place(), at=at)
        draw = random.random()
        if draw < 0.85:
            self._step(actor, "end", draw < 0.6, at=at)
            if self._more.random() < 0.2:
                self._then(0.0, "send_with_old_epoch")
        elif draw < 0.92:
            self._step(actor, "begin", at=at)

    def _commit(self) -> None:
        actor = f"committer-{self._random.randrange(3)}"
        draw = self._random.random()
        if draw < 0.65:
            self._step(actor, "commit", *self._place())
        elif draw < 0.92:
            place, at = self._place(), self._time()
            self._step(actor, "delete_offset", *place, at=at)
            if draw < 0.8:
                self._step(actor, "delete_offset", *place, at=at + 1.5)
        else:
            at = self._time()
            self._step(actor, "delete_group", at=at)
            if draw < 0.96:
                self._step(actor, "delete_group", at=at + 1.5)

    def _join(self) -> None:
        number, at = self._random.randrange(3), self._time()
        actor = f"member-0-{number}" + ("s" if number == 2 else "")
        self._step(actor, "join", at=at)
        self._step(actor, "beat", self._random.randint(1, 4), at=at)
        if number == 0:
            self._step(actor, "commit_as_member", *self._place(), at=at)
        if self._random.random() < 0.4:
            self._step(actor, "leave", at=at)

    def _delete_records(self) -> None:
        name, index = self._place()
        share = self._random.choice((0.3, 0.7, 1.0, 1.0))
        self._step(self._owner(name), "delete_records", name, index, share)

    def _recreate(self) -> None:
        name, at = self._random.choice(self._names), self._time()
        draw = self._random.random()
        if draw < 0.2:
            self._step(self._owner(name), "grow", name, at=at)
            return
        if draw < 0.45:
            args = (name, "retention.bytes", "100000")
            self._step(self._owner(name), "delete_while_configuring", *args, at=at)
        else:
            self._step(self._owner(name), "delete", name, at=at)
        if self._random.random() < 0.3:
            self._step(self._owner(name), "delete", name, at=at + 1.5)
        if self._random.random() < 0.85:
            self._create(name, at + self._random.choice((0.001, 0.5)))

    def _configure(self) -> None:
        name = self._random.choice(self._names)
        keys = [values for feature, values in _CREATION.items() if self._has(feature)]
        key, values = self._random.choice([*keys, ("max.message.bytes", ("100000", "200000"))])
        self._step(self._owner(name), "configure", name, key, self._random.choice((*values, None)))

    def _cache_writes(self) -> None:
        name = self._random.choice(self._names)
        value = self._random.choice(("true", "true", "false"))
        self._step(self._owner(name), "configure", name, "write.caching", value)

    def _default(self) -> None:
        key, values = self._random.choice(
            (
                ("write.caching.default", ("true", "false")),
                ("message.max.bytes", ("50000", "60000")),
                ("message.max.bytes", ("50000", None)),
            )
        )
        self._step("admin-9", "configure", "", key, self._random.choice(values))

    def _set_clock(self) -> None:
        ms = self._random.choice((-3_600_000, -60_000, 60_000, 3_600_000))
        self._step("clock-0", "step", ms)

    # What goes wrong.

    def _faults(self) -> tuple[Fault, ...]:
        kinds: tuple[Callable[[], list[Fault]], ...] = self._random.choice(
            (
                (),
                (self._one,),
                (self._one, self._one),
                (self._sick,),
                (self._full,),
                (self._full_at_a_start,),
                (self._one, self._full),
                (self._at_the_end,),
                (self._slow_reads,),
                (self._descriptors,),
            )
        )
        return tuple(fault for kind in kinds for fault in kind())

    def _one(self) -> list[Fault]:
        """A call or a few that fail, of any kind, in any file."""
        random = self._random
        at = random.random() * self._seconds
        kind = random.choice(("eio", "eio", "eio", "short", "slow"))
        operations = {"short": ("write",), "slow": ("sync", "write", "read")}.get(
            kind, random.choice((("sync",), ("sync",), (random.choice(_WRITES),), ("read", "open")))
        )
        name, index = self._place()
        family = random.choice(_FAMILIES) if random.random() < 0.6 else f"/{name}-{index}/"
        times = random.choice((1, 1, 2, 3, 20))
        return [Fault(at, at + random.choice((0.5, 5.0)), kind, operations, family, times)]

    def _sick(self) -> list[Fault]:
        """One partition whose disk is bad for long."""
        name, index = self._place()
        operations = self._random.choice((("sync",), ("write", "sync"), _WRITES))
        at = self._random.random() * 2
        return [Fault(at, at + 20.0, "eio", operations, f"/{name}-{index}/", 1000)]

    def _full(self) -> list[Fault]:
        at = self._random.random() * self._seconds
        until = at + self._random.choice((0.3, 3.0, 8.0))
        operations = self._random.choice((("write",), ("write", "create")))
        return [Fault(at, until, "full", operations, "", 10_000)]

    def _full_at_a_start(self) -> list[Fault]:
        """No room when the broker comes back; a topic was deleted just before it went."""
        if not self._crashes:
            return self._full()
        at = max(self._random.choice(self._crashes).at, _BEGUN_SECONDS)
        name = self._random.choice(self._names)
        if self._random.random() < 0.5:
            self._step(self._owner(name), "delete", name, at=at - self._random.random())
        return [Fault(at, at + 6, "full", ("write", "create"), "", 10_000)]

    def _at_the_end(self) -> list[Fault]:
        """Two partitions of one transaction fail when it ends, one of them late."""
        random = self._random
        ends = [step for step in self._steps if step.action == "end"]
        if not ends:
            return self._one()
        end = random.choice(ends)
        sends = [s for s in self._steps if s.actor == end.actor and s.at == end.at]
        places = [place for s in sends if s.action == "send" for place in s.args[0]]
        kinds = [random.choice(("eio", "late")) for _ in places]
        at = end.at + random.random() * 0.05
        return [
            Fault(at + random.random() * 0.02, at + 3, kind, ("sync",), f"/{name}-{index}/", 1)
            for kind, (name, index) in zip(kinds, places, strict=True)
        ]

    def _slow_reads(self) -> list[Fault]:
        """Cold reads that take long, while their topic may go."""
        name, index = self._place()
        at = self._random.random() * self._seconds
        return [Fault(at, at + 6, "slow", ("read", "open"), f"/{name}-{index}/", 4)]

    def _descriptors(self) -> list[Fault]:
        """There are no more of them for a while, for files or for directories."""
        at = self._random.random() * self._seconds
        operations = self._random.choice((("open", "sync_directory"), ("sync_directory",)))
        return [Fault(at, at + 2, "descriptors", operations, "", self._random.choice((3, 1000)))]

    def _draw_crashes(self, in_memory: bool) -> tuple[Crash, ...]:
        random = self._random
        crashes = []
        for _ in range(random.choice((0, 1, 1, 2)) if not in_memory else 1):
            kind = random.choice(("cut", "cut", "kill", "stop"))
            calls = random.choice((0, random.randrange(1, 60)))
            kind = "stop" if in_memory else kind
            crashes.append(Crash(random.random() * self._seconds, kind, calls))
        return tuple(sorted(crashes, key=lambda crash: crash.at))


_CREATION: dict[str, tuple[str, tuple[str, ...]]] = {
    "compaction": ("cleanup.policy", ("compact", "compact,delete")),
    "retention": ("retention.bytes", ("2000", "100")),
    "write caching": ("write.caching", ("true", "false")),
    "extremes": ("delete.retention.ms", (str(2**63 - 1), "0", "100")),
    "configure": ("segment.bytes", ("1024", "4000")),
}
