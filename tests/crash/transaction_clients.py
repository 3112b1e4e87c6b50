"""Clients whose histories are judged: confluent-kafka, transactional, through kills and pauses.

`Appender` sends transaction after transaction, commits most and aborts some; before each it may
read, as a consumer that works on what it has consumed does. `Streamer` reads all the time. `Twins`
are two instances of one transactional id, the first of which does not know that it has been
replaced. `last_look` reads everything when all is over. raw_clients.py does what no client does.
Above: test_histories.py. Below: history.py.
"""

import itertools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from tests import foreign
from tests.crash.copier import STEADFAST
from tests.crash.history import (
    Append,
    Element,
    End,
    Look,
    Open,
    Operation,
    Phase,
    Read,
    Recorder,
)
from tests.crash.load import Background
from tests.wire.client import RawClient
from tests.wire.transactional import RawProducer, patiently

from kafkaesque.errors import ErrorCode

TRANSACTION_TIMEOUT_MS = 20_000
_CALL_S = 5.0
_PATIENCE_S = 60.0
_COMMITS = 0.75


@dataclass(slots=True)
class Arena:
    """One topic of one broker, whose partitions are the keys, and what happens there."""

    bootstrap: str
    topic: str
    keys: int
    recorder: Recorder = field(default_factory=Recorder)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def number(self) -> int:
        """Of the next transaction."""
        return next(self._numbers)

    def values(self, number: int, rng: random.Random, most: int = 4) -> list[tuple[int, str]]:
        """What a transaction sends: at least one value, to one key or several."""
        keys = rng.sample(range(self.keys), rng.randint(1, min(3, self.keys)))
        return [(rng.choice(keys), f"{number}-{at}") for at in range(rng.randint(1, most))]

    def reader(self, **settings: object) -> Consumer:
        consumer = Consumer(
            {
                **STEADFAST,
                "bootstrap.servers": self.bootstrap,
                "group.id": "unused",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 20,
                **settings,
            }
        )
        keys = range(self.keys)
        consumer.assign([TopicPartition(self.topic, key, OFFSET_BEGINNING) for key in keys])
        return consumer

    def producer(self, transactional_id: str) -> Producer:
        return Producer(
            {
                **STEADFAST,
                "bootstrap.servers": self.bootstrap,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
                "linger.ms": 1,
            }
        )


class Instance:
    """One transactional producer of confluent-kafka. Once it is fenced it is of no more use."""

    def __init__(self, arena: Arena, transactional_id: str, name: str) -> None:
        self.name = name
        self.is_usable = True
        self._arena = arena
        self._id = transactional_id
        self._producer = arena.producer(transactional_id)

    def open(self) -> None:
        self._note(Phase.INVOKE, Open(self._id))
        error = _persist(lambda: self._producer.init_transactions(_CALL_S))
        self.is_usable = error is None
        self._note(Phase.INFO if error else Phase.OK, Open(self._id))

    def append(self, number: int, values: Sequence[tuple[int, str]]) -> bool:
        """Send them in a transaction, which begins here; whether all were acknowledged."""
        offsets: dict[str, int] = {}

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                offsets[(message.value() or b"").decode()] = message.offset() or 0

        self._note(Phase.INVOKE, Append(number, values))
        try:
            self._producer.begin_transaction()
            for key, value in values:
                topic, data = self._arena.topic, value.encode()
                self._producer.produce(topic, data, partition=key, on_delivery=delivered)
            self._producer.flush(_PATIENCE_S)
        except (KafkaException, SystemError):
            # The binding sets a fatal error while deliveries are told, which Python does not like.
            offsets.clear()
        phase = Phase.OK if len(offsets) == len(values) else Phase.INFO
        self._note(phase, Append(number, values, offsets))
        return phase is Phase.OK

    def end(self, number: int, commit: bool) -> bool:
        """Whether that is what has become of it, for certain."""
        self._note(Phase.INVOKE, End(number, commit))
        call = self._producer.commit_transaction if commit else self._producer.abort_transaction
        error = _persist(lambda: call(_CALL_S))
        if error is None:
            self._note(Phase.OK, End(number, commit))
        elif commit and error.txn_requires_abort() and not self._abort():
            self._note(Phase.FAIL, End(number, commit))
        else:
            # Fenced, perhaps by itself, or out of patience: the broker alone knows.
            self.is_usable = False
            self._note(Phase.INFO, End(number, commit))
        return error is None

    def _abort(self) -> KafkaError | None:
        return _persist(lambda: self._producer.abort_transaction(_CALL_S))

    def _note(self, phase: Phase, what: Operation) -> None:
        self._arena.recorder.note(self.name, phase, what)


def _persist(call: Callable[[], object]) -> KafkaError | None:
    """Call again while that may help; the error that it does not get over."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            call()
            return None
        except KafkaException as failure:
            error: KafkaError = failure.args[0]
            if not error.retriable() or time.monotonic() > deadline:
                return error


class Appender(Background):
    """Transaction after transaction, from one instance until that is of no more use."""

    def __init__(self, arena: Arena, name: str, seed: int, *, reads: bool = False) -> None:
        super().__init__()
        self.committed = 0
        self._arena = arena
        self._name = name
        self._rng = random.Random(seed)
        self._consumer = arena.reader() if reads else None
        self._instance: Instance | None = None
        self._instances = itertools.count(1)

    def step(self) -> None:
        if self._instance is None or not self._instance.is_usable:
            name = f"{self._name}.{next(self._instances)}"
            self._instance = Instance(self._arena, self._name, name)
            self._instance.open()
            return
        number = self._arena.number()
        if self._consumer is not None:
            note_read(self._arena, f"{self._name}'s reader", self._consumer, 0.02, number)
        acknowledged = self._instance.append(number, self._arena.values(number, self._rng))
        commit = acknowledged and self._rng.random() < _COMMITS
        if self._instance.end(number, commit) and commit:
            self.committed += 1

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()


class Twins(Background):
    """The second instance comes while the first has a transaction open; then both go on."""

    def __init__(self, arena: Arena, name: str, seed: int) -> None:
        super().__init__()
        self.met = 0
        self._arena = arena
        self._name = name
        self._rng = random.Random(seed)
        self._instances = itertools.count(1)

    def step(self) -> None:
        elder, younger = self._new(), self._new()
        elder.open()
        if not elder.is_usable:
            return
        numbers = self._arena.number(), self._arena.number()
        elder.append(numbers[0], self._arena.values(numbers[0], self._rng))
        younger.open()
        if younger.is_usable:
            younger.append(numbers[1], self._arena.values(numbers[1], self._rng))
        pairs = [(elder, numbers[0]), (younger, numbers[1])]
        self._rng.shuffle(pairs)
        for instance, number in pairs:
            if instance.is_usable:
                instance.end(number, commit=True)
        self.met += 1

    def close(self) -> None:
        """Nothing is left open but what the last look will end."""

    def _new(self) -> Instance:
        return Instance(self._arena, self._name, f"{self._name}.{next(self._instances)}")


class Streamer(Background):
    """Reads everything that is committed, all the time, with one consumer."""

    def __init__(self, arena: Arena, name: str) -> None:
        super().__init__()
        self.count = 0
        self._arena = arena
        self._name = name
        self._consumer = arena.reader()

    def step(self) -> None:
        self.count += note_read(self._arena, self._name, self._consumer, 0.05)

    def close(self) -> None:
        self._consumer.close()


def note_read(
    arena: Arena, process: str, consumer: Consumer, seconds: float, transaction: int | None = None
) -> int:
    """Take what a consumer has now into the history: how many records there were."""
    found: dict[int, list[Element]] = {}
    for message in consumer.consume(500, timeout=seconds):
        if message.error() is None:
            found.setdefault(message.partition() or 0, []).append(_element(message))
    for key, elements in found.items():
        arena.recorder.note(process, Phase.OK, Read(key, elements, transaction))
    return sum(map(len, found.values()))


def last_look(arena: Arena) -> None:
    """End what is still open, then read everything to the end, which must be stable by then."""
    opened = [event.what for event in arena.recorder.events if isinstance(event.what, Open)]
    with RawClient(arena.bootstrap) as client:
        for name in {what.transactional_id for what in opened}:
            assert patiently(RawProducer(client, name).init) is ErrorCode.NONE
    ends = {
        key: foreign.watermarks(arena.bootstrap, arena.topic, key)[1] for key in range(arena.keys)
    }
    consumer = arena.reader(**{"enable.partition.eof": True})
    logs: dict[int, list[Element]] = {key: [] for key in ends}
    reached = dict.fromkeys(ends, 0)
    deadline = time.monotonic() + _PATIENCE_S
    while reached != ends:
        assert time.monotonic() < deadline, f"stable is {reached}, and the ends are {ends}"
        for message in consumer.consume(1000, timeout=0.2):
            key = message.partition() or 0
            if (error := message.error()) is None:
                logs[key].append(_element(message))
            elif error.code() == KafkaError._PARTITION_EOF:
                reached[key] = message.offset() or 0
    consumer.close()
    arena.recorder.note("the last look", Phase.OK, Look(logs))


def _element(message: Message) -> Element:
    return Element(message.offset() or 0, (message.value() or b"").decode())
