"""A play: clients of all kinds on one topic, nemeses or none, and what the two judges say of it.

    Play(bootstrap).run(seconds=…, nemeses=…)      the anomalies of the history, or none
Above: test_histories.py. Below: transaction_clients.py, raw_clients.py, nemeses.py.
"""

import random
import time
from collections.abc import Sequence

from tests import foreign
from tests.compat.peer import Peer
from tests.crash.history import Anomaly
from tests.crash.list_append import list_append_anomalies
from tests.crash.load import Background
from tests.crash.nemeses import Nemesis
from tests.crash.queue_checker import queue_anomalies
from tests.crash.raw_clients import RawClients
from tests.crash.transaction_clients import Appender, Arena, Streamer, Twins, last_look

KEYS = 4
_SCENES = ("retry", "zombie", "delayed")
_LEAST = 10
_PATIENCE_S = 120.0


class Play:
    """`scenes` are what the raw clients do."""

    def __init__(self, bootstrap: str, seed: int = 0, scenes: Sequence[str] = _SCENES) -> None:
        topic = foreign.create_topic(bootstrap, partitions=KEYS)
        self._rng = random.Random(seed)
        self.arena = Arena(bootstrap, topic, KEYS)
        self._appenders = [
            Appender(self.arena, "appender", seed),
            Appender(self.arena, "consumer and appender", seed + 1, reads=True),
            Appender(self.arena, "another of those", seed + 2, reads=True),
        ]
        self._scenes = scenes
        self._twins = Twins(self.arena, "twins", seed)
        self._raw = RawClients(self.arena, "raw", seed, scenes)
        self._streamers = [Streamer(self.arena, f"streamer {number}") for number in (1, 2)]
        self._clients: list[Background] = [
            *self._appenders,
            self._twins,
            self._raw,
            *self._streamers,
        ]

    def run(
        self, seconds: float, peer: Peer | None = None, nemeses: Sequence[Nemesis] = ()
    ) -> list[Anomaly]:
        """The nemeses befall the peer in turns; it is well in the end. It may take longer, until
        there is something to judge: but without them, on a busy machine nothing else would happen.
        """
        for client in self._clients:
            client.start()
        start, turn = time.monotonic(), 0
        while time.monotonic() < start + seconds or not self._is_worth_judging():
            assert time.monotonic() < start + seconds + _PATIENCE_S, "too little happens"
            time.sleep(self._rng.uniform(0.1, 0.6))
            for client in self._clients:
                client.check()
            if peer is not None and nemeses and time.monotonic() < start + seconds:
                nemeses[turn % len(nemeses)](peer, self._rng)
                turn += 1
        for client in self._clients:
            client.finish()
        last_look(self.arena)
        history = self.arena.recorder.events
        return queue_anomalies(history) + list_append_anomalies(history)

    def _is_worth_judging(self) -> bool:
        """A play in which nothing is committed, or nothing is read, proves nothing."""
        return (
            all(appender.committed >= _LEAST for appender in self._appenders)
            and self._twins.met > 0
            and len(self._raw.played) >= _LEAST
            and set(self._raw.played) == set(self._scenes)
            and all(streamer.count > 0 for streamer in self._streamers)
        )
