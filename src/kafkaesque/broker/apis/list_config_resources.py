"""ListConfigResources (74), versions 0–1. What can be asked for its settings: topics, this broker,
its loggers; client metrics and groups have none of their own.

Version 0 asks for client metrics alone (KIP-1000); version 1 for any types, or all (KIP-1142).
"""

from collections.abc import Iterator

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.config import NODE_ID
from kafkaesque.broker.metadata import Resource
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)


async def list_config_resources(
    ctx: Context, request: ListConfigResourcesRequest
) -> ListConfigResourcesResponse:
    wanted = {Resource.CLIENT_METRICS} if ctx.version == 0 else set(request.resource_types)
    if not wanted <= set(Resource):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            async for kind, name in ctx.broker.slices.paced(_resources(ctx))
            if not wanted or kind in wanted
        ]
    )


def _resources(ctx: Context) -> Iterator[tuple[Resource, str]]:
    yield Resource.BROKER_LOGGER, str(NODE_ID)
    yield Resource.BROKER, str(NODE_ID)
    for topic in list(ctx.broker.topics):
        if not topic.is_unused:
            yield Resource.TOPIC, topic.name
