"""DescribeConfigs (32), versions 1–4. Real values, where each comes from, and what it would be
otherwise.

Version 3 adds types and documentation (KIP-569).
"""

from collections.abc import Mapping
from enum import IntEnum

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.broker_settings import BROKER_SETTINGS
from kafkaesque.broker.config import NODE_ID, Config
from kafkaesque.broker.metadata import Resource
from kafkaesque.broker.settings import Setting
from kafkaesque.broker.topic_settings import TOPIC_SETTINGS
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)


class Source(IntEnum):
    """Where a value comes from, as Kafka numbers it."""

    TOPIC = 1
    DYNAMIC_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


def describe_configs(ctx: Context, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(
        results=[_describe(ctx, request, resource) for resource in request.resources]
    )


def _describe(
    ctx: Context, request: DescribeConfigsRequest, resource: DescribeConfigsResource
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        resource_type=resource.resource_type, resource_name=resource.resource_name
    )
    try:
        configs = _configs(ctx, resource)
    except KafkaError as error:
        result.error_code, result.error_message = error.code, error.message
        return result
    wanted = resource.configuration_keys
    result.error_message = None
    result.configs = [config for config in configs if not wanted or config.name in wanted]
    for config in result.configs:
        if not request.include_synonyms:
            config.synonyms = []
        if not request.include_documentation:
            config.documentation = None
    return result


def _configs(
    ctx: Context, resource: DescribeConfigsResource
) -> list[DescribeConfigsResourceResult]:
    if resource.resource_type == Resource.TOPIC:
        topic = ctx.broker.topics.named(resource.resource_name)
        overrides = ctx.broker.topics.in_force(topic.name, topic.overrides)
        return topic_configs(ctx.broker.config, overrides)
    if resource.resource_type == Resource.BROKER:
        if resource.resource_name not in ("", str(NODE_ID)):
            message = f"there is no broker {resource.resource_name}: this one is {NODE_ID}"
            raise KafkaError(ErrorCode.INVALID_REQUEST, message)
        return _broker_configs(ctx.broker.config)
    message = f"resource type {resource.resource_type} has no settings here"
    raise KafkaError(ErrorCode.INVALID_REQUEST, message)


def topic_configs(
    config: Config, overrides: Mapping[str, str]
) -> list[DescribeConfigsResourceResult]:
    """Every setting of a topic, with the chain of what it would be without each override."""
    results = []
    for name, setting in TOPIC_SETTINGS.items():
        chain = [(name, overrides[name], Source.TOPIC)] if name in overrides else []
        if setting.follows:
            chain += _broker_chain(config, setting.follows)
        else:
            chain.append((name, setting.default, Source.DEFAULT))
        results.append(_result(setting, chain, read_only=False))
    return results


def _broker_configs(config: Config) -> list[DescribeConfigsResourceResult]:
    return [
        _result(setting, _broker_chain(config, name), read_only=not setting.dynamic)
        for name, setting in BROKER_SETTINGS.items()
    ]


def _broker_chain(config: Config, name: str) -> list[tuple[str, str, Source]]:
    chain = []
    if name in config.dynamic:
        chain.append((name, config.dynamic[name], Source.DYNAMIC_BROKER))
    if name in config.static:
        chain.append((name, config.static[name], Source.STATIC_BROKER))
    return [*chain, (name, BROKER_SETTINGS[name].default, Source.DEFAULT)]


def _result(
    setting: Setting, chain: list[tuple[str, str, Source]], *, read_only: bool
) -> DescribeConfigsResourceResult:
    _, value, source = chain[0]
    return DescribeConfigsResourceResult(
        name=setting.name,
        value=setting.text(value),
        read_only=read_only,
        config_source=source,
        synonyms=[
            DescribeConfigsSynonym(name=name, value=setting.text(value), source=source)
            for name, value, source in chain
        ],
        config_type=setting.kind,
        documentation=setting.doc,
    )
