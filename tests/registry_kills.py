"""A stream of registrations through two registries, one of which is killed again and again.

What was acknowledged is never lost, an id never changes and is never given to two schemas. Above:
tests/e2e/test_registries_agree.py with few rounds, tests/crash/test_registry_kills.py with many.
"""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from tests import foreign
from tests.broker_process import BrokerProcess, free_port
from tests.registry_clients import avro
from tests.registry_process import RegistryProcess

_PATIENCE_S = 60.0


def answers_of(url: str) -> dict[str, Any]:
    """Everything that a registry knows; asking for what is not there makes it read on first."""
    with httpx.Client(base_url=url, timeout=_PATIENCE_S) as client:
        client.get("/schemas/ids/999999999")
        every = client.get("/schemas", params={"deleted": "true"}).json()
        return {
            "schemas": every,
            "subjects": client.get("/subjects").json(),
            "by id": {it["id"]: client.get(f"/schemas/ids/{it['id']}").json() for it in every},
            "config": client.get("/config").json(),
        }


class Registrar:
    """Registers one new schema after another, at whichever registry answers, until `stop`."""

    def __init__(self, urls: list[str], name: str) -> None:
        self.urls = urls
        self.acknowledged: dict[str, tuple[str, int]] = {}
        """By schema: subject and id."""
        self._name = name
        self._is_stopped = threading.Event()

    def stop(self) -> None:
        self._is_stopped.set()

    def run(self) -> None:
        number = 0
        with httpx.Client(timeout=_PATIENCE_S) as client:
            while not self._is_stopped.is_set():
                # Under the same subjects as all others: a version that two wrote would be lost.
                subject = f"subject{number % 3}"
                text = avro(f"f{number}:int=0", name=self._name)
                url = self.urls[number % len(self.urls)]
                number += 1
                try:
                    answer = client.post(
                        f"{url}/subjects/{subject}/versions", json={"schema": text}
                    )
                except httpx.TransportError:
                    continue
                if answer.status_code == 200:
                    self.acknowledged[text] = (subject, answer.json()["id"])
                else:
                    assert answer.status_code >= 500, answer.text

    def check(self, known: list[dict[str, Any]]) -> None:
        """Whether all that was acknowledged is among these schemas, as it was acknowledged."""
        places = {(it["schema"], it["subject"]): it["id"] for it in known}
        by_id: dict[int, set[str]] = {}
        for it in known:
            by_id.setdefault(it["id"], set()).add(it["schema"])
        assert all(len(texts) == 1 for texts in by_id.values()), "an id has two schemas"
        for text, (subject, schema_id) in dict(self.acknowledged).items():
            assert places.get((text, subject)) == schema_id, "an acknowledged schema is lost"


def play_kills(
    directory: Path, broker: BrokerProcess, rounds: int, *, kill_brokers: bool = False
) -> None:
    """One registry stays, the other is killed; every third round the broker too, if wanted."""
    rng = random.Random(rounds)
    with RegistryProcess(broker.bootstrap, directory / "stays.log") as stays:
        # Whether endless new fields are compatible is not what is tested.
        httpx.put(f"{stays.url}/config", json={"compatibility": "NONE"}, timeout=_PATIENCE_S)
        log = directory / "killed.log"
        port = free_port()
        registrars = [
            Registrar([stays.url, f"http://127.0.0.1:{port}"], f"R{number}") for number in range(3)
        ]
        with at_work(registrars):
            for number in range(rounds):
                with RegistryProcess(broker.bootstrap, log, port=port) as killed:
                    _wait_for_more(registrars)
                    time.sleep(rng.uniform(0, 0.2))
                    killed.process.kill()
                    killed.stop()
                if kill_brokers and number % 3 == 2:
                    broker.kill()
                    broker.start()
                _wait_for_more(registrars)
        with RegistryProcess(broker.bootstrap, log, port=port) as again:
            answers = answers_of(stays.url)
            for registrar in registrars:
                registrar.check(answers["schemas"])
            assert answers == answers_of(again.url)
        assert "Traceback" not in stays.log + log.read_text()


@contextmanager
def at_work(registrars: list[Registrar]) -> Iterator[None]:
    threads = [threading.Thread(target=it.run) for it in registrars]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for registrar in registrars:
            registrar.stop()
        for thread in threads:
            thread.join()


def _wait_for_more(registrars: list[Registrar]) -> None:
    seen = [len(it.acknowledged) for it in registrars]
    foreign.until(
        lambda: all(
            len(it.acknowledged) > before + 3 for it, before in zip(registrars, seen, strict=True)
        ),
        _PATIENCE_S,
    )
