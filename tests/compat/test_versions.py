"""The versions that we serve are those of Apache Kafka 4.3, asked of Apache Kafka itself."""

from pathlib import Path

import pytest
from tests.compat.apache_kafka import ApacheKafka
from tests.wire.client import RawClient

from kafkaesque.broker.apis import APIS
from kafkaesque.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse


@pytest.mark.compat
def test_every_api_has_the_versions_that_kafka_gives_it(tmp_path: Path) -> None:
    kafka = ApacheKafka(tmp_path / "data")
    kafka.start()
    try:
        with RawClient(kafka.bootstrap) as client:
            request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
            response = client.call(request, ApiVersionsResponse, 3)
    finally:
        kafka.stop()
    theirs = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
    ours = {api.key: (api.min_version, api.max_version) for api in APIS.values()}
    assert ours == {key: theirs[key] for key in ours}
