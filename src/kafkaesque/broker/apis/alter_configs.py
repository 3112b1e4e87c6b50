"""AlterConfigs (33), versions 0–2, and IncrementalAlterConfigs (44), versions 0–1.

The first replaces all of a resource's settings; the second (KIP-339) sets, deletes, appends to or
subtracts from single ones. Either changes all that it names or nothing, and answers when the change
is durable and in effect.
"""

from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import partial
from typing import TypeVar

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.apis.describe_configs import check_broker
from kafkaesque.broker.broker_settings import BROKER_SETTINGS
from kafkaesque.broker.metadata import Resource
from kafkaesque.broker.node_settings import NODE_SETTINGS
from kafkaesque.broker.settings import Kind, Setting
from kafkaesque.broker.topic_settings import TOPIC_SETTINGS
from kafkaesque.broker.topics import Change
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from kafkaesque.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkaesque.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource as IncrementalResource,
)
from kafkaesque.protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse as IncrementalResourceResponse,
)

Changes = Mapping[str, str | None]
Answer = TypeVar("Answer", AlterConfigsResourceResponse, IncrementalResourceResponse)
Altered = TypeVar("Altered", AlterConfigsResource, IncrementalResource)


class Operation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


async def alter_configs(ctx: Context, request: AlterConfigsRequest) -> AlterConfigsResponse:
    responses = [
        await _answer(
            ctx, AlterConfigsResourceResponse, resource, _replacement, request.validate_only
        )
        async for resource in ctx.broker.slices.paced(request.resources)
    ]
    return AlterConfigsResponse(responses=responses)


async def incremental_alter_configs(
    ctx: Context, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    responses = [
        await _answer(ctx, IncrementalResourceResponse, resource, _increment, request.validate_only)
        async for resource in ctx.broker.slices.paced(request.resources)
    ]
    return IncrementalAlterConfigsResponse(responses=responses)


async def _answer(
    ctx: Context,
    answer: type[Answer],
    resource: Altered,
    changes: Callable[[Context, Altered], Changes],
    validate_only: bool,
) -> Answer:
    """Change one resource, and say how that went."""
    response = answer(
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        error_message=None,
    )
    try:
        await _alter(ctx, resource, partial(changes, ctx, resource), validate_only)
    except KafkaError as error:
        response.error_code, response.error_message = error.code, error.message
    return response


async def _alter(
    ctx: Context,
    resource: AlterConfigsResource | IncrementalResource,
    change: Change,
    validate_only: bool,
) -> None:
    """What is appended to, subtracted from or replaced is what there is when its turn comes:
    another change may be on its way to the disk.
    """
    broker = ctx.broker
    if resource.resource_type == Resource.TOPIC:
        topic = broker.topics.named(resource.resource_name)
        if validate_only:
            broker.topics.check_configs(topic, change())
        else:
            await broker.topics.configure(topic, change)
    elif validate_only:
        _checked(change)
    else:
        await broker.metadata.configure_broker(partial(_checked, change))


def _checked(change: Change) -> Changes:
    """A change of the broker's settings that can be made while it runs."""
    changes = change()
    for name, value in changes.items():
        if not BROKER_SETTINGS[name].dynamic:
            message = f"{name} is read at start: set it with `kafkaesque broker --set {name}=…`"
            raise KafkaError(ErrorCode.INVALID_REQUEST, message)
        if value is not None:
            BROKER_SETTINGS[name].parse(value)
    return changes


def _replacement(ctx: Context, resource: AlterConfigsResource) -> Changes:
    """What has to change for the resource to have exactly these settings."""
    settings, current = _known(ctx, resource)
    for config in resource.configs:
        _check_setting(settings, config.name)
    wanted = {config.name: _not_null(config.name, config.value) for config in resource.configs}
    return {**dict.fromkeys(current), **wanted}


def _not_null(name: str, value: str | None) -> str:
    if value is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name} is null: delete it instead")
    return value


def _increment(ctx: Context, resource: IncrementalResource) -> Changes:
    """What is not set can be deleted, whatever it is: tools clear what they may have set."""
    settings, current = _known(ctx, resource)
    changes: dict[str, str | None] = {}
    for config in resource.configs:
        if config.name in changes:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{config.name} is changed twice")
        if config.config_operation == Operation.DELETE:
            changes[config.name] = None
        else:
            _check_setting(settings, config.name)
            changes[config.name] = _changed(ctx, settings[config.name], current, config)
    return {name: value for name, value in changes.items() if value is not None or name in current}


def _check_setting(settings: Mapping[str, Setting], name: str) -> None:
    if settings is BROKER_SETTINGS and name in NODE_SETTINGS:
        message = f"{name} is given at start: {NODE_SETTINGS[name].how}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, message)
    if name not in settings:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"there is no setting {name}")


def _known(
    ctx: Context, resource: AlterConfigsResource | IncrementalResource
) -> tuple[Mapping[str, Setting], Mapping[str, str]]:
    """The settings that the resource can have, and those that it has."""
    if resource.resource_type == Resource.TOPIC:
        return TOPIC_SETTINGS, ctx.broker.topics.named(resource.resource_name).overrides
    if resource.resource_type != Resource.BROKER:
        raise KafkaError(ErrorCode.INVALID_REQUEST, _why_not(resource.resource_type))
    if resource.resource_name:
        check_broker(resource.resource_name)
    return BROKER_SETTINGS, ctx.broker.config.dynamic


def _why_not(resource_type: int) -> str:
    match resource_type:
        case Resource.BROKER_LOGGER:
            return "what is logged is chosen at start, with --log-level"
        case Resource.CLIENT_METRICS:
            return "client metrics are not taken: a subscription would get none"
        case Resource.GROUP:
            return "groups have no settings of their own: members bring theirs"
    return f"resource type {resource_type} has no settings here"


def _changed(
    ctx: Context, setting: Setting, current: Mapping[str, str], config: AlterableConfig
) -> str:
    value = _not_null(setting.name, config.value)
    if config.config_operation == Operation.SET:
        return value
    if setting.kind is not Kind.LIST:
        message = f"{setting.name} is not a list: it can be set or deleted"
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)
    has = setting.parse(_in_force(ctx, setting, current))
    given = setting.parse(value)
    if config.config_operation == Operation.APPEND:
        return ",".join(dict.fromkeys(has + given))
    return ",".join(part for part in has if part not in given)


def _in_force(ctx: Context, setting: Setting, current: Mapping[str, str]) -> str:
    """The resource's own value, or the broker's, which a topic follows."""
    return current.get(setting.name, ctx.broker.config.text(setting.follows or setting.name))
