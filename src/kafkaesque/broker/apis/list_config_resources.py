"""ListConfigResources (74), versions 0–1. What can be asked for its settings: topics, this broker,
its loggers; client metrics and groups have none of their own.

Version 0 asks for client metrics alone (KIP-1000); version 1 for any types, or all (KIP-1142).
"""

from kafkaesque.broker.apis.answer_size import answer_size
from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.config import NODE_ID
from kafkaesque.broker.metadata import Resource
from kafkaesque.broker.topics import Topic
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
    wanted = wanted or set(Resource)
    broker = [
        ConfigResource(resource_name=str(NODE_ID), resource_type=kind)
        for kind in (Resource.BROKER_LOGGER, Resource.BROKER)
        if kind in wanted
    ]
    topics = await _topics(ctx) if Resource.TOPIC in wanted else []
    return ListConfigResourcesResponse(config_resources=broker + topics)


async def _topics(ctx: Context) -> list[ConfigResource]:
    resources: list[ConfigResource] = []
    topics = ctx.broker.topics
    async for topic in ctx.with_room(topics, _size, resources):
        if topic.name in topics and not topic.is_unused:
            resource = ConfigResource(resource_name=topic.name, resource_type=Resource.TOPIC)
            resources.append(resource)
    return resources


def _size(topic: Topic) -> int:
    return answer_size(1, topic.name)
