"""ApiVersions: the features beside the table, in the versions that have room for them."""

from collections.abc import Iterator

import pytest
from tests.unit.testing.surroundings import broker_with, context

from kafkaesque.broker.apis.api_versions import api_versions, unsupported_api_versions
from kafkaesque.broker.broker import Broker
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.codec import decode, encode
from kafkaesque.protocol.messages import API_VERSIONS
from kafkaesque.protocol.messages.api_versions import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

SUPPORTED = SupportedFeatureKey(name="transaction.version", min_version=0, max_version=2)
FINALIZED = FinalizedFeatureKey(
    name="transaction.version", max_version_level=2, min_version_level=2
)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with broker_with() as found:
        yield found


def told(broker: Broker, version: int) -> ApiVersionsResponse:
    """What arrives at a client."""
    response = api_versions(context(broker, API_VERSIONS, version), ApiVersionsRequest())
    return decode(ApiVersionsResponse, version, b"".join(encode(response, version)))


@pytest.mark.parametrize("version", [0, 1, 2])
def test_versions_before_3_know_no_features(broker: Broker, version: int) -> None:
    answer = told(broker, version)
    assert (answer.supported_features, answer.finalized_features) == ([], [])
    assert answer.finalized_features_epoch == -1


def test_version_3_tells_the_level_in_force_but_no_supported_level_of_0(broker: Broker) -> None:
    answer = told(broker, 3)
    assert (answer.supported_features, answer.finalized_features) == ([], [FINALIZED])


def test_version_4_tells_both(broker: Broker) -> None:
    answer = told(broker, 4)
    assert (answer.supported_features, answer.finalized_features) == ([SUPPORTED], [FINALIZED])


@pytest.mark.parametrize("version", [3, 4])
def test_the_epoch_of_the_features_is_one_that_clients_believe(
    broker: Broker, version: int
) -> None:
    """-1 says that there are none: Java's clients and franz-go would not look at them."""
    assert told(broker, version).finalized_features_epoch >= 0


def test_an_unknown_version_is_answered_with_every_api_too(broker: Broker) -> None:
    answer = unsupported_api_versions()
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert answer.api_keys == told(broker, 4).api_keys
