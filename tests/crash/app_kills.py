"""An app that is killed with -9 in the middle of its work, again and again, on any cluster.

Each round: more events, some of them poison, are written; the app starts, and is killed after it
has handled a random number of them. In the end every event is in the record of what was handled or
among the dead letters, and the group's place is the end of the topic.
"""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests import foreign
from tests.app_process import AppProcess

TOPIC = "killed-app-events"
GROUP = "killed-app"
PARTITIONS = 3
EVENTS = 60


class Kills:
    """What was written, and to which the app is held."""

    def __init__(self, bootstrap: str, app: AppProcess, seed: int) -> None:
        self._bootstrap = bootstrap
        self._app = app
        self._random = random.Random(seed)
        self._events: set[tuple[int, int]] = set()
        self._poison: set[tuple[int, int]] = set()
        self.mid_work = 0

    def round(self) -> None:
        self._write()
        before = len(self._app.handled())
        with self._app:
            goal = before + self._random.randrange(1, EVENTS)
            foreign.until(lambda: len(self._app.handled()) >= goal)
            self._app.kill()
        self.mid_work += not self._is_complete()

    def finish(self) -> None:
        with self._app:
            foreign.until(lambda: self._places() == self._ends(), timeout_s=60)
            assert self._app.stop() == 0

    def judge(self) -> None:
        handled = {(it.partition, it.offset) for it in self._app.handled()}
        assert self._events - self._poison - handled == set(), "events were skipped"
        assert handled & self._poison == set()
        letters = self._dead_letters()
        assert set(letters) == self._poison
        for (partition, offset), (error, kind) in letters.items():
            assert error == b"poison %d %d cannot be swallowed" % (partition, offset)
            assert kind == b"builtins.ValueError"

    def _write(self) -> None:
        for partition in range(PARTITIONS):
            start = foreign.watermarks(self._bootstrap, TOPIC, partition)[1]
            values = []
            for offset in range(start, start + EVENTS // PARTITIONS):
                is_poison = self._random.random() < 0.05
                self._events.add((partition, offset))
                if is_poison:
                    self._poison.add((partition, offset))
                kind = "poison" if is_poison else "event"
                values.append(f"{kind} {partition} {offset}")
            foreign.produce(self._bootstrap, TOPIC, values, partition)

    def _is_complete(self) -> bool:
        handled = {(it.partition, it.offset) for it in self._app.handled()}
        return self._events - self._poison <= handled

    def _places(self) -> list[int]:
        return [
            foreign.committed(self._bootstrap, GROUP, TOPIC, partition).offset
            for partition in range(PARTITIONS)
        ]

    def _ends(self) -> list[int]:
        return [foreign.watermarks(self._bootstrap, TOPIC, n)[1] for n in range(PARTITIONS)]

    def _dead_letters(self) -> dict[tuple[int, int], tuple[bytes, bytes]]:
        """By the place of the original; one that was killed while it sent may have sent twice."""
        count = foreign.watermarks(self._bootstrap, f"{TOPIC}.dead")[1]
        found = {}
        for message in foreign.read(self._bootstrap, f"{TOPIC}.dead", count):
            headers: Any = message.headers()
            facts: dict[str, bytes] = dict(headers)
            place = int(facts["kafkaesque.partition"]), int(facts["kafkaesque.offset"])
            found[place] = facts["kafkaesque.error"], facts["kafkaesque.error.type"]
        return found


def play(
    bootstrap: str, directory: Path, rounds: int, kind: str, seed: int, settings: Mapping[str, Any]
) -> None:
    """`settings` are librdkafka's; they should say how a killed member makes way for the next."""
    foreign.create_topic(bootstrap, TOPIC, PARTITIONS)
    app = AppProcess(
        directory,
        brokers=bootstrap,
        topic=TOPIC,
        group=GROUP,
        kind=kind,
        pause_s=0.002,
        settings=dict(settings),
    )
    kills = Kills(bootstrap, app, seed)
    for _ in range(rounds):
        kills.round()
    kills.finish()
    kills.judge()
    assert kills.mid_work > rounds // 4, "hardly any kill came in the middle of something"
