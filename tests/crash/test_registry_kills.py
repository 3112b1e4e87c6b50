"""kill -9 of registries, and of their broker, in the middle of registrations: many rounds."""

from pathlib import Path

import httpx
import pytest
from tests.broker_process import BrokerProcess
from tests.registry_clients import V1, V2
from tests.registry_kills import play_kills
from tests.registry_process import RegistryProcess

pytestmark = pytest.mark.crash


@pytest.mark.timeout(1800)
def test_fifty_kills_of_a_registry_lose_nothing(tmp_path: Path, broker: BrokerProcess) -> None:
    play_kills(tmp_path, broker, rounds=50)


@pytest.mark.timeout(1800)
def test_kills_of_registry_and_broker_lose_nothing(tmp_path: Path, broker: BrokerProcess) -> None:
    play_kills(tmp_path, broker, rounds=15, kill_brokers=True)


def test_a_registration_is_refused_when_the_broker_stays_away(
    tmp_path: Path, broker: BrokerProcess
) -> None:
    log = tmp_path / "registry.log"
    with (
        RegistryProcess(broker.bootstrap, log, "--timeout", "2") as registry,
        httpx.Client(base_url=registry.url, timeout=90) as http,
    ):
        assert http.post("/subjects/a/versions", json={"schema": V1}).status_code == 200
        broker.kill()
        refused = http.post("/subjects/a/versions", json={"schema": V2})
        assert (refused.status_code, refused.json()["error_code"]) == (500, 50001)
        broker.start()
        assert http.post("/subjects/a/versions", json={"schema": V2}).json()["id"] == 2
