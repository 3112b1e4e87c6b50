"""The versions that we serve are those of Apache Kafka 4.3, asked of Apache Kafka itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.compat.apache_kafka import ApacheKafka
from tests.kafka_apis import KAFKA_APIS
from tests.wire.client import RawClient

from kafkaesque.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

pytestmark = pytest.mark.compat


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    peer = ApacheKafka(Path(tmp_path_factory.mktemp("kafka")) / "data")
    peer.start()
    yield peer
    peer.stop()


def ask(bootstrap: str, version: int) -> ApiVersionsResponse:
    request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
    with RawClient(bootstrap) as client:
        return client.call(request, ApiVersionsResponse, version)


def test_every_api_has_the_versions_that_kafka_gives_it(
    kafka: ApacheKafka, broker: BrokerProcess
) -> None:
    theirs, ours = (
        {api.api_key: (api.min_version, api.max_version) for api in ask(bootstrap, 3).api_keys}
        for bootstrap in (kafka.bootstrap, broker.bootstrap)
    )
    assert ours == {key: theirs[key] for key in ours}


def test_the_apis_that_kafka_has_are_those_we_know_of(kafka: ApacheKafka) -> None:
    assert {api.api_key for api in ask(kafka.bootstrap, 4).api_keys} == KAFKA_APIS.keys()


@pytest.mark.parametrize("version", [3, 4])
def test_the_features_that_we_have_are_told_as_kafka_tells_them(
    kafka: ApacheKafka, broker: BrokerProcess, version: int
) -> None:
    """By `transaction.version` a client chooses how it ends transactions."""
    theirs, ours = ask(kafka.bootstrap, version), ask(broker.bootstrap, version)
    names = {each.name for each in ours.finalized_features}
    assert "transaction.version" in names
    assert ours.supported_features == [
        each for each in theirs.supported_features if each.name in names
    ]
    assert ours.finalized_features == [
        each for each in theirs.finalized_features if each.name in names
    ]
