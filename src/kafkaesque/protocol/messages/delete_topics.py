"""DeleteTopics (key 20), versions 1–6.

Up to v5 a request has topic_names; v6 has topics, each by name or by id (KIP-516).

v4  flexible
v5  error_message; THROTTLING_QUOTA_EXCEEDED (KIP-599)
"""

from kafkaesque.protocol.schema import ZERO_UUID, field, int16, int32, message, string, struct, uuid


@struct
class DeleteTopicState:
    name: string | None = None
    topic_id: uuid = ZERO_UUID


@message(api_key=20, versions=(1, 6), flexible=4)
class DeleteTopicsRequest:
    topics: list[DeleteTopicState] = field(since=6, default_factory=list)
    topic_names: list[string] = field(until=5, default_factory=list)
    timeout_ms: int32 = 0


@struct
class DeletableTopicResult:
    name: string | None = field(nullable_since=6, default="")
    topic_id: uuid = field(since=6, default=ZERO_UUID)
    error_code: int16 = 0
    error_message: string | None = field(since=5, default=None)


@message(api_key=20, versions=(1, 6), flexible=4)
class DeleteTopicsResponse:
    throttle_time_ms: int32 = 0
    responses: list[DeletableTopicResult] = field(default_factory=list)
