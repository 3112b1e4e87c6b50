"""DescribeConfigs (32), versions 1–4. Real values, where each comes from, and what it would be
otherwise.

- Topics, this broker, and the broker without a name: what was set over the wire for all brokers.
- The broker's loggers, and from which level on each of them speaks.
- Client metrics: nobody subscribes to any. Groups have no settings of their own.
- Version 3 adds types and documentation (KIP-569).

A resource that is named a thousand times is described once, and a response has an end: what would
not fit into it is refused, to be asked for again.
"""

from collections.abc import Mapping
from functools import partial

from kafkaesque.broker.apis.answer_size import answer_size
from kafkaesque.broker.apis.config_entries import (
    broker_configs,
    client_metrics_configs,
    cluster_configs,
    logger_configs,
    topic_configs,
)
from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.broker_settings import BROKER_SETTINGS
from kafkaesque.broker.config import NODE_ID
from kafkaesque.broker.metadata import Resource
from kafkaesque.broker.node_settings import NODE_SETTINGS
from kafkaesque.broker.topic_settings import TOPIC_SETTINGS
from kafkaesque.broker.topics import check_topic_name
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)

_MAX_CONFIGS = 250_000
"""In one response: some 30 MB with documentation, the settings of thousands of topics."""
_CLIENT_METRICS = 3


async def describe_configs(
    ctx: Context, request: DescribeConfigsRequest
) -> DescribeConfigsResponse:
    response = DescribeConfigsResponse()
    wanted: dict[tuple[int, str], DescribeConfigsResource] = {}
    async for resource in ctx.broker.slices.paced(request.resources):
        wanted.setdefault((resource.resource_type, resource.resource_name), resource)
    await ctx.take_room_for(wanted.values(), partial(_size, ctx, request))
    room = _MAX_CONFIGS
    async for resource in ctx.broker.slices.paced(wanted.values()):
        result = _describe(ctx, request, resource, room)
        response.results.append(result)
        room -= len(result.configs)
    return response


def _size(ctx: Context, request: DescribeConfigsRequest, resource: DescribeConfigsResource) -> int:
    """A setting's synonyms, and its documentation, come to an element each. Nobody bounds values:
    they are told as synonyms, too.
    """
    count, values = _settings(ctx, resource.resource_type, resource.resource_name)
    if resource.configuration_keys:
        count = min(count, len(resource.configuration_keys))
    elements = 1 + request.include_synonyms + request.include_documentation
    texts = (resource.resource_name, resource.resource_name)  # An error names it again.
    return answer_size(1 + elements * count, *texts, *values.values(), *values.values())


def _settings(ctx: Context, resource_type: int, name: str) -> tuple[int, Mapping[str, str]]:
    """How many it has, and those of them that somebody has set. Loggers are one broker's, and come
    to no more than a little.
    """
    config, topics = ctx.broker.config, ctx.broker.topics
    match resource_type:
        case Resource.TOPIC if name in topics:
            return len(TOPIC_SETTINGS), topics.named(name).overrides
        case Resource.BROKER if name in ("", str(NODE_ID)):
            return len(BROKER_SETTINGS) + len(NODE_SETTINGS), {**config.static, **config.dynamic}
        case Resource.CLIENT_METRICS:
            return _CLIENT_METRICS, {}
    return 0, {}


def _describe(
    ctx: Context, request: DescribeConfigsRequest, resource: DescribeConfigsResource, room: int
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        resource_type=resource.resource_type, resource_name=resource.resource_name
    )
    try:
        if room <= 0:
            message = f"{_MAX_CONFIGS} settings are all that one response holds: ask for the rest"
            raise KafkaError(ErrorCode.INVALID_REQUEST, message)
        configs = _configs(ctx, resource.resource_type, resource.resource_name)
    except KafkaError as error:
        result.error_code, result.error_message = error.code, error.message
        return result
    wanted = set(resource.configuration_keys or ())
    result.error_message = None
    result.configs = [config for config in configs if not wanted or config.name in wanted]
    for config in result.configs:
        if not request.include_synonyms:
            config.synonyms = []
        if not request.include_documentation:
            config.documentation = None
    return result


def _configs(ctx: Context, resource_type: int, name: str) -> list[DescribeConfigsResourceResult]:
    match resource_type:
        case Resource.TOPIC:
            check_topic_name(name)
            overrides = ctx.broker.topics.named(name).overrides
            return topic_configs(ctx.broker.config, ctx.broker.topics.in_force(name, overrides))
        case Resource.BROKER if name == "":
            return cluster_configs(ctx.broker.config)
        case Resource.BROKER:
            check_broker(name)
            return broker_configs(ctx)
        case Resource.BROKER_LOGGER:
            check_broker(name)
            return logger_configs()
        case Resource.CLIENT_METRICS | Resource.GROUP if name == "":
            raise KafkaError(ErrorCode.INVALID_REQUEST, "the name must not be empty")
        case Resource.CLIENT_METRICS:
            return client_metrics_configs()
        case Resource.GROUP:
            return []
    message = f"resource type {resource_type} has no settings here"
    raise KafkaError(ErrorCode.INVALID_REQUEST, message)


def check_broker(name: str) -> None:
    if name != str(NODE_ID):
        message = f"there is no broker {name!r}: this one is {NODE_ID}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, message)
