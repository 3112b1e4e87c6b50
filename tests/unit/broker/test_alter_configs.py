"""Changes of settings that come while others are on their way to the disk: each counts."""

import asyncio
from pathlib import Path

import pytest
from tests.unit.broker.brokers import PathFiles, call, new_topic, with_broker
from tests.unit.broker.state_logs import Now

from kafkaesque.broker.apis.alter_configs import Operation
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.metadata import Resource
from kafkaesque.protocol.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from kafkaesque.protocol.messages.incremental_alter_configs import (
    AlterableConfig as IncrementalConfig,
)
from kafkaesque.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource as IncrementalResource,
)
from kafkaesque.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest

RESOURCES = [
    (Resource.TOPIC, "orders", "cleanup.policy"),
    (Resource.BROKER, "", "log.cleanup.policy"),
]


def increment(
    resource: Resource, name: str, key: str, operation: Operation, value: str
) -> IncrementalAlterConfigsRequest:
    config = IncrementalConfig(name=key, config_operation=operation, value=value)
    changed = IncrementalResource(resource_type=resource, resource_name=name, configs=[config])
    return IncrementalAlterConfigsRequest(resources=[changed])


def replacement(resource: Resource, name: str, key: str, value: str) -> AlterConfigsRequest:
    config = AlterableConfig(name=key, value=value)
    changed = AlterConfigsResource(resource_type=resource, resource_name=name, configs=[config])
    return AlterConfigsRequest(resources=[changed])


def own_settings(broker: Broker, resource: Resource, name: str) -> dict[str, str]:
    if resource is Resource.TOPIC:
        return dict(broker.topics.named(name).overrides)
    return dict(broker.config.dynamic)


@pytest.mark.parametrize(("resource", "name", "key"), RESOURCES)
def test_lists_that_are_changed_at_the_same_time_lose_nothing(
    resource: Resource, name: str, key: str, tmp_path: Path
) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        await new_topic(broker, "orders")
        append = increment(resource, name, key, Operation.APPEND, "compact")
        subtract = increment(resource, name, key, Operation.SUBTRACT, "delete")
        await asyncio.gather(call(broker, append, 1), call(broker, subtract, 1))
        assert own_settings(broker, resource, name) == {key: "compact"}

    with_broker(tmp_path, work)


@pytest.mark.parametrize(("resource", "name", "key"), RESOURCES)
def test_a_replacement_leaves_nothing_of_what_was_on_its_way_before_it(
    resource: Resource, name: str, key: str, tmp_path: Path
) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        await new_topic(broker, "orders")
        other = "retention.ms" if resource is Resource.TOPIC else "log.retention.ms"
        before = increment(resource, name, other, Operation.SET, "1000")
        after = replacement(resource, name, key, "compact")
        await asyncio.gather(call(broker, before, 1), call(broker, after, 2))
        assert own_settings(broker, resource, name) == {key: "compact"}

    with_broker(tmp_path, work)
