"""What DescribeConfigs tells of the node itself, and of resources that have nothing set.

How topics' settings take effect is in tests/e2e/test_settings.py.
"""

import asyncio
import itertools
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.unit.testing.surroundings import context

from kafkaesque.broker.apis.alter_configs import incremental_alter_configs
from kafkaesque.broker.apis.describe_configs import describe_configs
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.broker.node_settings import NODE_SETTINGS
from kafkaesque.broker.slices import Slices
from kafkaesque.embedded.thread import BrokerThread
from kafkaesque.errors import ErrorCode, StartError
from kafkaesque.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)
from kafkaesque.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
DYNAMIC, STATIC, DEFAULT = 3, 4, 5


@contextmanager
def running(*listeners: Listener) -> Iterator[Broker]:
    thread = BrokerThread(BrokerConfig.of(listeners, None, {}))
    thread.start()
    try:
        yield thread.server.broker
    finally:
        thread.stop()


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with running(Listener("127.0.0.1", 0)) as found:
        yield found


def results(broker: Broker, *resources: tuple[int, str]) -> list[DescribeConfigsResult]:
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(resource_type=kind, resource_name=name)
            for kind, name in resources
        ],
        include_synonyms=True,
    )
    return asyncio.run(describe_configs(context(broker, 32, 4), request)).results


def described(broker: Broker, kind: int, name: str) -> dict[str, DescribeConfigsResourceResult]:
    (result,) = results(broker, (kind, name))
    assert result.error_code == ErrorCode.NONE
    return {config.name: config for config in result.configs}


def altered(broker: Broker, kind: int, resource: str, name: str) -> tuple[int, str]:
    config = AlterableConfig(name=name, value="1")
    changes = AlterConfigsResource(resource_type=kind, resource_name=resource, configs=[config])
    request = IncrementalAlterConfigsRequest(resources=[changes], validate_only=True)
    answer = asyncio.run(incremental_alter_configs(context(broker, 44, 1), request))
    return answer.responses[0].error_code, answer.responses[0].error_message or ""


def test_the_broker_tells_how_it_was_started(broker: Broker) -> None:
    configs = described(broker, BROKER, "0")
    (listener,) = broker.listeners
    assert listener.port > 0
    assert {name: configs[name].value for name in NODE_SETTINGS} == {
        "node.id": "0",
        "broker.id": "0",
        "broker.rack": None,
        "process.roles": "broker,controller",
        "controller.quorum.voters": f"0@{listener.address}",
        "listeners": f"PLAINTEXT://{listener.address}",
        "advertised.listeners": f"PLAINTEXT://{listener.address}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT",
        "log.dirs": broker.storage.path,
        "log.dir": broker.storage.path,
        "authorizer.class.name": "",
    }
    assert all(configs[name].read_only for name in NODE_SETTINGS)


def test_what_was_given_at_start_has_that_source_and_the_default_behind_it(broker: Broker) -> None:
    configs = described(broker, BROKER, "0")
    sources = {name: [s.source for s in configs[name].synonyms] for name in NODE_SETTINGS}
    assert sources["log.dirs"] == [STATIC]
    assert sources["listeners"] == [STATIC, DEFAULT]
    assert sources["authorizer.class.name"] == [DEFAULT]
    assert sources["broker.rack"] == []
    assert configs["broker.rack"].config_source == DEFAULT


def test_each_listener_has_a_name_of_its_own() -> None:
    first, second = Listener("127.0.0.1", 0), Listener("127.0.0.1", 0, "example.org", 29092)
    with running(first, second) as broker:
        configs = described(broker, BROKER, "0")
        one, two = (listener.address for listener in broker.listeners)
    assert configs["listeners"].value == f"PLAINTEXT://{one},PLAINTEXT_2://{two}"
    expected = f"PLAINTEXT://{one},PLAINTEXT_2://example.org:29092"
    assert configs["advertised.listeners"].value == expected
    protocols = configs["listener.security.protocol.map"].value
    assert protocols == "PLAINTEXT:PLAINTEXT,PLAINTEXT_2:PLAINTEXT"


def test_a_listener_on_all_addresses_advertises_the_one_that_was_reached() -> None:
    with running(Listener("0.0.0.0", 0)) as broker:
        configs = described(broker, BROKER, "0")
        port = broker.listeners[0].port
    assert configs["listeners"].value == f"PLAINTEXT://0.0.0.0:{port}"
    assert configs["advertised.listeners"].value == f"PLAINTEXT://127.0.0.1:{port}"


@pytest.mark.parametrize("name", NODE_SETTINGS)
def test_what_was_given_at_start_is_changed_by_nobody(broker: Broker, name: str) -> None:
    code, message = altered(broker, BROKER, "0", name)
    assert code == ErrorCode.INVALID_REQUEST
    assert NODE_SETTINGS[name].how in message
    with pytest.raises(StartError, match=NODE_SETTINGS[name].how):
        BrokerConfig.of([], None, {name: "1"})


@pytest.mark.parametrize("name", ["leader.replication.throttled.rate", "node.id", "num.partitions"])
def test_what_is_not_set_can_be_deleted(broker: Broker, name: str) -> None:
    """As `kafka-reassign-partitions --verify` clears throttles that it may have set."""
    deletion = AlterableConfig(name=name, config_operation=1)
    changes = AlterConfigsResource(resource_type=BROKER, resource_name="0", configs=[deletion])
    request = IncrementalAlterConfigsRequest(resources=[changes])
    answer = asyncio.run(incremental_alter_configs(context(broker, 44, 1), request))
    assert answer.responses[0].error_code == ErrorCode.NONE


def test_the_broker_without_a_name_has_what_was_set_over_the_wire() -> None:
    with running() as broker:
        assert described(broker, BROKER, "") == {}
        broker.config.dynamic["log.retention.ms"] = "5"
        config = described(broker, BROKER, "")["log.retention.ms"]
    synonyms = [(s.name, s.value, s.source) for s in config.synonyms]
    assert synonyms == [("log.retention.ms", "5", DYNAMIC)]


def test_loggers_tell_from_which_level_on_they_speak(broker: Broker) -> None:
    logging.getLogger("kafkaesque.broker.server").setLevel(logging.WARNING)
    try:
        configs = described(broker, BROKER_LOGGER, "0")
    finally:
        logging.getLogger("kafkaesque.broker.server").setLevel(logging.NOTSET)
    assert configs["kafkaesque.broker.server"].value == "WARN"
    assert "root" in configs


def test_client_metrics_are_a_subscription_to_nothing(broker: Broker) -> None:
    configs = described(broker, CLIENT_METRICS, "any")
    values = {name: config.value for name, config in configs.items()}
    assert values == {"interval.ms": "300000", "match": "", "metrics": ""}


def test_groups_have_no_settings(broker: Broker) -> None:
    assert described(broker, GROUP, "any") == {}


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        (TOPIC, "", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (BROKER, "1", ErrorCode.INVALID_REQUEST),
        (BROKER, "x", ErrorCode.INVALID_REQUEST),
        (BROKER_LOGGER, "", ErrorCode.INVALID_REQUEST),
        (BROKER_LOGGER, "1", ErrorCode.INVALID_REQUEST),
        (CLIENT_METRICS, "", ErrorCode.INVALID_REQUEST),
        (GROUP, "", ErrorCode.INVALID_REQUEST),
        (0, "x", ErrorCode.INVALID_REQUEST),
        (99, "x", ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_is_not_there_is_refused(
    broker: Broker, kind: int, name: str, error: ErrorCode
) -> None:
    (result,) = results(broker, (kind, name))
    assert result.error_code == error


@pytest.mark.parametrize("kind", [BROKER_LOGGER, CLIENT_METRICS, GROUP])
def test_what_could_not_take_effect_is_not_set(broker: Broker, kind: int) -> None:
    code, message = altered(broker, kind, "0", "root")
    assert code == ErrorCode.INVALID_REQUEST
    assert message


def test_a_resource_that_is_named_a_thousand_times_is_described_once(broker: Broker) -> None:
    found = results(broker, *[(BROKER, "0"), (CLIENT_METRICS, "a")] * 1000)
    assert [(r.resource_type, r.resource_name) for r in found] == [
        (BROKER, "0"),
        (CLIENT_METRICS, "a"),
    ]


def test_many_resources_give_the_loop_back_in_between(broker: Broker) -> None:
    resources = [
        DescribeConfigsResource(resource_type=CLIENT_METRICS, resource_name=f"{i}")
        for i in range(200)
    ]
    time = itertools.count()

    async def turns() -> int:
        broker.slices = Slices(lambda: next(time))
        request = DescribeConfigsRequest(resources=resources)
        task = asyncio.ensure_future(describe_configs(context(broker, 32, 4), request))
        count = 0
        while not task.done():
            await asyncio.sleep(0)
            count += 1
        return count

    assert asyncio.run(turns()) >= 10
