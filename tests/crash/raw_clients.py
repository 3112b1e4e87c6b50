"""Clients on raw connections that do what well-behaved ones do not, or not when it matters.

    retry     each batch is sent twice, the second time over another connection
    zombie    an instance goes on after another has taken its transactional id
    delayed   the end of a transaction arrives again, over an older connection, when the next has
              begun
    outlived  a transaction takes longer than its timeout, and is then committed
Each is a transaction or two with a transactional id of its own, noted as it goes. A connection that
breaks ends it, in doubt. `OLD` and `NEW` clients take turns. Above: test_histories.py. Below:
transaction_clients.py, wire/transactional.py.
"""

import random
import time
from collections.abc import Callable, Sequence

from tests.crash.history import Append, End, Open, Operation, Phase
from tests.crash.load import Background
from tests.crash.transaction_clients import TRANSACTION_TIMEOUT_MS, Arena
from tests.wire.client import RawClient
from tests.wire.transactional import NEW, OLD, Caller, RawProducer, Versions, patiently

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.produce import PartitionProduceResponse

_SHORT_TIMEOUT_MS = 1000
_REFUSALS = {
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.TRANSACTION_ABORTABLE,
}
"""Whoever is told this knows that nothing was committed by what it asked."""


class RawClients(Background):
    """One of the scenes after the other."""

    def __init__(self, arena: Arena, name: str, seed: int, scenes: Sequence[str]) -> None:
        super().__init__()
        self.played: list[str] = []
        self._arena = arena
        self._name = name
        self._rng = random.Random(seed)
        self._scenes: dict[str, Callable[[Versions], None]] = {
            "retry": self._retry,
            "zombie": self._zombie,
            "delayed": self._delayed,
            "outlived": self._outlived,
        }
        self._chosen = scenes
        self._begun = 0
        self._transactional_id = ""
        self._connections: list[RawClient] = []

    def step(self) -> None:
        number = self._begun
        self._begun += 1
        scene = self._chosen[number // 2 % len(self._chosen)]
        self._transactional_id = f"{self._name}-{number}-{scene}"
        try:
            self._scenes[scene]((OLD, NEW)[number % 2])
            self.played.append(scene)
        except OSError:
            time.sleep(0.02)  # The broker is away: its next life is not far.
        finally:
            for connection in self._connections:
                connection.close()
            self._connections.clear()

    def close(self) -> None:
        """Each scene has closed what it opened."""

    def _retry(self, versions: Versions) -> None:
        instance = self._instance("1", versions)
        instance.open()
        for _ in range(2):
            number = self._arena.number()
            instance.append(number, self._values(number), twice=self._connection())
            instance.end(number, commit=True)

    def _zombie(self, versions: Versions) -> None:
        elder, younger = self._instance("1", versions), self._instance("2", versions)
        elder.open()
        one, two, three = (self._arena.number() for _ in range(3))
        elder.append(one, self._values(one))
        younger.open()
        younger.append(two, self._values(two))
        if self._rng.random() < 0.5:
            elder.append(one, self._values(one, "late"))
        elder.end(one, commit=True)
        younger.append(two, self._values(two, "more"))
        younger.end(two, commit=self._rng.random() < 0.5)
        younger.append(three, self._values(three))
        younger.end(three, commit=True)

    def _delayed(self, versions: Versions) -> None:
        """The client lost patience with its first connection, and asked again over a second."""
        instance = self._instance("1", versions)
        instance.open()
        one, two = self._arena.number(), self._arena.number()
        instance.append(one, self._values(one))
        late = instance.producer.over(instance.producer.client)
        instance.producer.client = self._connection()
        instance.end(one, commit=True)
        instance.append(two, self._values(two))
        late.end(commit=True)
        instance.append(two, self._values(two, "more"))
        instance.end(two, commit=self._rng.random() < 0.5)

    def _outlived(self, versions: Versions) -> None:
        instance = self._instance("1", versions)
        instance.open(_SHORT_TIMEOUT_MS)
        number = self._arena.number()
        instance.append(number, self._values(number))
        time.sleep(_SHORT_TIMEOUT_MS / 1000 * self._rng.uniform(0.9, 1.3))
        instance.append(number, self._values(number, "more"))
        instance.end(number, commit=True)

    def _values(self, number: int, suffix: str = "") -> list[tuple[int, str]]:
        values = self._arena.values(number, self._rng, most=3)
        return [(key, value + suffix) for key, value in values]

    def _connection(self) -> RawClient:
        self._connections.append(RawClient(self._arena.bootstrap))
        return self._connections[-1]

    def _instance(self, suffix: str, versions: Versions) -> "RawInstance":
        name = self._transactional_id
        producer = RawProducer(self._connection(), name, versions)
        return RawInstance(self._arena, f"{name}.{suffix}", producer)


class RawInstance:
    """A raw producer that notes what it does. What is refused has failed; a connection that breaks
    leaves it in doubt."""

    def __init__(self, arena: Arena, name: str, producer: RawProducer) -> None:
        self.producer = producer
        self._arena = arena
        self._name = name

    def open(self, timeout_ms: int = TRANSACTION_TIMEOUT_MS) -> None:
        self._note(Phase.INVOKE, Open(self.producer.transactional_id))
        error = patiently(lambda: self.producer.init(timeout_ms))
        phase = Phase.INFO if error else Phase.OK
        self._note(phase, Open(self.producer.transactional_id))

    def append(
        self, number: int, values: Sequence[tuple[int, str]], *, twice: Caller | None = None
    ) -> bool:
        """A batch each; whether all were accepted. `twice`: a connection over which each is sent
        once more.
        """
        self._note(Phase.INVOKE, Append(number, values))
        offsets: dict[str, int] = {}
        for key, value in values:
            offset = self._send(key, value, twice)
            if offset is None:
                self._note(Phase.FAIL, Append(number, values, offsets))
                return False
            offsets[value] = offset
        self._note(Phase.OK, Append(number, values, offsets))
        return True

    def end(self, number: int, commit: bool) -> None:
        self._note(Phase.INVOKE, End(number, commit))
        error = patiently(lambda: self.producer.end(commit=commit))
        phase = Phase.FAIL if error in _REFUSALS else Phase.INFO if error else Phase.OK
        self._note(phase, End(number, commit))

    def _send(self, key: int, value: str, twice: Caller | None) -> int | None:
        """The offset; None: it was refused."""
        topic, producer = self._arena.topic, self.producer
        if producer.versions is OLD and patiently(lambda: producer.add(topic, key)):
            return None
        again = producer.over(twice) if twice else None
        answers: list[PartitionProduceResponse] = []

        def send() -> ErrorCode:
            answers.append(producer.send(topic, key, [value.encode()]))
            return ErrorCode(answers[-1].error_code)

        if patiently(send):
            return None
        if again is not None:
            again.send(topic, key, [value.encode()])
        return answers[-1].base_offset

    def _note(self, phase: Phase, what: Operation) -> None:
        self._arena.recorder.note(self._name, phase, what)
