"""A registry whose cluster is gone says so before its clients give up on it."""

from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.registry_process import RegistryProcess

from kafkaesque.client.registry import RegistryClient, RegistryError, Schema

pytestmark = pytest.mark.slow


def test_a_registration_is_refused_while_the_client_still_listens(
    tmp_path: Path, broker: BrokerProcess
) -> None:
    with (
        RegistryProcess(broker.bootstrap, tmp_path / "registry.log") as process,
        RegistryClient(process.url) as client,
    ):
        first = client.register("t-value", Schema('"string"'))
        broker.kill()
        with pytest.raises(RegistryError, match="nothing answers"):
            client.register("u-value", Schema('"long"'))
        broker.start()
        assert client.register("t-value", Schema('"string"')) == first
