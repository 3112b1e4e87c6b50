"""DeleteTopics (20), versions 1–6. Answered when the deletion is durable; committed offsets go with
the topic.

Version 6 names topics by name or id.
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)


async def delete_topics(ctx: Context, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    named = [DeleteTopicState(name=name) for name in request.topic_names]
    wanted = ctx.broker.slices.paced(named + request.topics)
    return DeleteTopicsResponse(responses=[await _delete(ctx, topic) async for topic in wanted])


async def _delete(ctx: Context, wanted: DeleteTopicState) -> DeletableTopicResult:
    result = DeletableTopicResult(name=wanted.name, topic_id=wanted.topic_id)
    try:
        if not ctx.broker.config["delete.topic.enable"]:
            raise KafkaError(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable is false")
        topic = ctx.broker.topics.find(wanted.name or "", wanted.topic_id)
        result.name, result.topic_id = topic.name, topic.id
        await ctx.broker.delete_topic(topic)
    except KafkaError as error:
        result.error_code, result.error_message = error.code, error.message
    return result
