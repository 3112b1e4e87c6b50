"""A transactional copy under fire: records come in, copiers copy them, and both the copiers and the
broker are killed again and again, while a read_committed reader looks on.

The copiers are programs of their own, in whatever language; see copier.py for what they must do.
Some are not killed but stopped, replaced, and woken up when their successor has been at work: they
do not know what has happened meanwhile.
Above: test_transactional_copy.py, compat/test_java_transactions.py. Below: copies.py, load.py.
"""

import random
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from tests import foreign
from tests.compat.peer import Peer
from tests.crash.copier import STEADFAST, Copier
from tests.crash.copies import Copy, Transcript, copy_of
from tests.crash.load import Background, LoadProducer

PARTITIONS = 4
COPIERS = 2
_GROUP = "copiers"
_NEW_PER_ROUND = 60
_PATIENCE_S = 90.0
_SILENCE_S = 10.0


class CopierProcess:
    """`command` runs a copier; what it complains about goes to a file."""

    def __init__(self, command: Sequence[str], complaints: Path) -> None:
        self._command = command
        self._complaints = complaints
        self._process: subprocess.Popen[bytes] | None = None
        self._zombies: list[subprocess.Popen[bytes]] = []

    def ensure(self) -> None:
        """Start it unless it runs."""
        if self._process is None or self._process.poll() is not None:
            with self._complaints.open("ab") as complaints:
                self._process = subprocess.Popen(
                    self._command, stdin=subprocess.DEVNULL, stdout=complaints, stderr=complaints
                )

    def freeze(self) -> None:
        """Stop it in the midst of its work, whatever that is, and let the next take its place."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)
            self._zombies.append(self._process)
            self._process = None

    def wake_zombies(self) -> None:
        for zombie in self._zombies:
            zombie.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def end(self) -> None:
        """Let nothing of it be left."""
        self.kill()
        for zombie in self._zombies:
            zombie.kill()
            zombie.wait()


class CopyReader(Background):
    """Reads the copies that are committed, from the first on, all the time."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__()
        self.transcript = Transcript()
        self._consumer = _reader(bootstrap, topic, "read_committed")

    def step(self) -> None:
        for message in self._consumer.consume(500, timeout=0.05):
            if message.error() is None:
                self.transcript.note(message.partition() or 0, copy_of(message.value() or b""))

    def close(self) -> None:
        self._consumer.close()


class CopyScene:
    """Use it in a `with`: at the end nothing of it runs any more."""

    def __init__(self, peer: Peer, command: Sequence[str], directory: Path) -> None:
        self._peer = peer
        self._source = foreign.create_topic(peer.bootstrap, partitions=PARTITIONS)
        self._target = foreign.create_topic(peer.bootstrap, partitions=PARTITIONS)
        self._feed = LoadProducer(1, peer.bootstrap, self._source, PARTITIONS)
        self._reader = CopyReader(peer.bootstrap, self._target)
        arguments = [peer.bootstrap, self._source, self._target, _GROUP]
        self._copiers = [
            CopierProcess([*command, *arguments, f"{number}"], directory / f"copier-{number}.err")
            for number in range(COPIERS)
        ]

    def run(self, rounds: int) -> None:
        for number in range(rounds):
            self._play_round(random.Random(number))
        self._finish()

    def _play_round(self, rng: random.Random) -> None:
        goal = len(self._reader.transcript) + _NEW_PER_ROUND
        self._wait(lambda: len(self._reader.transcript) >= goal)
        for copier in self._copiers:
            copier.wake_zombies()
        time.sleep(rng.uniform(0, 0.2))
        victim = rng.choice(self._copiers)
        strokes = [rng.choice((victim.kill, victim.kill, victim.freeze)), self._peer.kill]
        rng.shuffle(strokes)
        for strike in strokes:
            strike()
            time.sleep(rng.uniform(0, 0.05))
        self._peer.start()

    def _finish(self) -> None:
        """All that was fed in is copied in the end, as it was."""
        self._feed.finish()
        count = len(self._feed.sent)
        self._wait(lambda: len(self._reader.transcript) >= count)
        originals = _originals(self._feed)
        assert self._reader.transcript.broken(originals) == []
        for copier in self._copiers:
            copier.end()
        again = Transcript()
        committed, everything = (self._read_all(level) for level in ("committed", "uncommitted"))
        for partition, copy in committed:
            again.note(partition, copy)
        assert again.broken(originals) == []
        doomed = sum(copy.is_doomed for _, copy in everything)
        assert doomed > 0, "no transaction was aborted on purpose: there was nothing to hide"

    def _read_all(self, level: str) -> list[tuple[int, Copy]]:
        settings = {"enable.partition.eof": True}
        consumer = _reader(self._peer.bootstrap, self._target, f"read_{level}", **settings)
        found: list[tuple[int, Copy]] = []
        ended: set[int] = set()
        deadline = time.monotonic() + _PATIENCE_S
        while len(ended) < PARTITIONS:
            assert time.monotonic() < deadline, "the copies cannot be read to their end"
            for message in consumer.consume(1000, timeout=0.2):
                partition = message.partition() or 0
                if (error := message.error()) is None:
                    found.append((partition, copy_of(message.value() or b"")))
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(partition)
        consumer.close()
        return found

    def _wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not condition():
            self._feed.check()
            self._reader.check()
            assert self._reader.transcript.problems == []
            assert time.monotonic() < deadline, "the copying does not go on"
            for copier in self._copiers:
                copier.ensure()
            time.sleep(0.01)

    def __enter__(self) -> "CopyScene":
        self._feed.start()
        self._reader.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for copier in self._copiers:
            copier.end()
        if error is None:
            self._reader.finish()


def copying_problems(bootstrap: str) -> list[str]:
    """What is wrong with a copy by one copier of this process that is left in peace, and aborts
    half of its transactions.
    """
    source, target = (foreign.create_topic(bootstrap, partitions=PARTITIONS) for _ in range(2))
    originals = {n: [f"{n} {number}" for number in range(100)] for n in range(PARTITIONS)}
    for partition, values in originals.items():
        foreign.produce(bootstrap, source, values, partition)
    copier = Copier(bootstrap, source, target, _GROUP, "only", doomed=0.5)
    reader = CopyReader(bootstrap, target)
    count = sum(map(len, originals.values()))
    silent_since, before = time.monotonic(), 0
    while len(reader.transcript) < count and not reader.transcript.problems:
        copier.step()
        reader.step()
        if len(reader.transcript) > before:
            silent_since, before = time.monotonic(), len(reader.transcript)
        if time.monotonic() > silent_since + _SILENCE_S:
            break
    copier.close()
    reader.close()
    return reader.transcript.broken(originals)


def _originals(feed: LoadProducer) -> dict[int, list[str]]:
    """What was sent, by partition, in the order of its offsets."""
    by_place = sorted((place, message) for message, place in feed.acknowledged.items())
    originals: dict[int, list[str]] = {partition: [] for partition in range(PARTITIONS)}
    for place, message in by_place:
        originals[place.partition].append(f"{message.producer} {message.sequence}")
    return originals


def _reader(bootstrap: str, topic: str, isolation_level: str, **settings: object) -> Consumer:
    consumer = Consumer(
        {
            **STEADFAST,
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "isolation.level": isolation_level,
            **settings,
        }
    )
    places = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(PARTITIONS)]
    consumer.assign(places)
    return consumer
