"""What Kafka answers when it refuses a request: the error where each API puts it, nothing done.

Most APIs refuse each part of a request by itself: a topic, a partition, a group, a resource. So the
answer repeats the request, part by part, with the error in each; `_PATHS` says from which list to
which. Other APIs say it once, at the top, and some can do both: then the code decides. The classes
come from the schema of the response. Above: faults.py. Below: protocol/.
"""

from typing import Any

from kafkaesque.broker.apis import Context
from kafkaesque.broker.apis.api_versions import api_versions
from kafkaesque.broker.apis.metadata import metadata_response
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages import MESSAGES
from kafkaesque.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
)
from kafkaesque.protocol.messages.api_versions import ApiVersionsRequest
from kafkaesque.protocol.messages.describe_log_dirs import DescribeLogDirsResult
from kafkaesque.protocol.messages.metadata import MetadataRequest
from kafkaesque.protocol.schema import Field, Primitive, schema_of

_Path = tuple[tuple[str, str], ...]
"""From the list of the request to that of the response, then from list to list inside of those."""

_TOPICS = ("topics", "topics")
_PARTITIONS = ("partitions", "partitions")
_OFFSETS = ("partition_indexes", "partitions")
_AT_THE_TOP: _Path = ()

_PATHS: dict[str, _Path] = {
    "Produce": (("topic_data", "responses"), ("partition_data", "partition_responses")),
    "Fetch": (("topics", "responses"), _PARTITIONS),
    "ListOffsets": (_TOPICS, _PARTITIONS),
    "Metadata": (_TOPICS,),
    "OffsetCommit": (_TOPICS, _PARTITIONS),
    "DescribeGroups": (("groups", "groups"),),
    "CreateTopics": (_TOPICS,),
    "DeleteRecords": (_TOPICS, _PARTITIONS),
    "OffsetForLeaderEpoch": (_TOPICS, _PARTITIONS),
    "CreateAcls": (("creations", "results"),),
    "DeleteAcls": (("filters", "filter_results"),),
    "DescribeConfigs": (("resources", "results"),),
    "AlterConfigs": (("resources", "responses"),),
    "AlterReplicaLogDirs": (("topics", "results"), _PARTITIONS),
    "CreatePartitions": (("topics", "results"),),
    "DeleteGroups": (("groups_names", "results"),),
    "ElectLeaders": (
        ("topic_partitions", "replica_election_results"),
        ("partitions", "partition_result"),
    ),
    "IncrementalAlterConfigs": (("resources", "responses"),),
    "AlterPartitionReassignments": (("topics", "responses"), _PARTITIONS),
    "OffsetDelete": (_TOPICS, _PARTITIONS),
    "WriteTxnMarkers": (("markers", "markers"), _TOPICS, _OFFSETS),
    "TxnOffsetCommit": (_TOPICS, _PARTITIONS),
    "DescribeProducers": (_TOPICS, _OFFSETS),
    "DescribeTransactions": (("transactional_ids", "transaction_states"),),
    "DescribeTopicPartitions": (_TOPICS,),
}

_IDENTITY = (
    ("name", "name"),
    ("name", "topic_name"),
    ("topic", "topic"),
    ("topic_id", "topic_id"),
    ("index", "index"),
    ("partition", "partition"),
    ("partition", "partition_index"),
    ("partition_index", "partition_index"),
    ("resource_type", "resource_type"),
    ("resource_name", "resource_name"),
    ("group_id", "group_id"),
    ("member_id", "member_id"),
    ("group_instance_id", "group_instance_id"),
    ("transactional_id", "transactional_id"),
    ("producer_id", "producer_id"),
)
"""What the answer repeats of a part, so that the client knows which one is meant: here, there."""

_WHOLE_IDENTITY = ("partition_index", "partition_id", "group_id", "key", "name", "transactional_id")
"""Where it repeats a part that is a mere name or number."""

_NOTHING = {
    "base_offset": -1,
    "high_watermark": -1,
    "low_watermark": -1,
    "committed_offset": -1,
    "producer_id": -1,
    "producer_epoch": -1,
    "node_id": -1,
    "port": -1,
    "records": b"",
}
"""What Kafka says beside an error where a default would be taken for an offset or an address."""

_ERROR_FIELDS = ("error_code", "partition_error_code")

_OF_A_PARTITION = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
}
_OF_A_MEMBER = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID}
_OF_THE_WHOLE = {
    "Fetch": {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    },
    "Metadata": {ErrorCode.REBOOTSTRAP_REQUIRED},
    "OffsetDelete": set(ErrorCode) - _OF_A_PARTITION,
}


def refusal(context: Context, request: Any, code: ErrorCode) -> Any:
    """The response to a request that is refused with this error."""
    api = MESSAGES[context.header.api_key]
    response = _blank(context, api.name)
    path = _path(api.name, context.version, code)
    if isinstance(request, AlterReplicaLogDirsRequest):
        # The answer has the topics of all directories in one list.
        topics = [topic for directory in request.dirs for topic in directory.topics]
        request = AlterReplicaLogDir(topics=topics)
    if path:
        _refuse_parts(request, response, path, code)
    elif api.name == "DescribeLogDirs" and context.version < 3:
        response.results = [DescribeLogDirsResult(error_code=code)]
    else:
        _refuse(request, response, code)
    if api.name == "Metadata" and context.version < 12:
        # From version 10 on a topic may be asked for by its id alone; null may not be answered yet.
        for topic in response.topics:
            topic.name = topic.name or ""
    return response


def refuses_parts(context: Context, code: ErrorCode) -> bool:
    """Whether this error is told of parts of a request: it must say then which it has."""
    return bool(_path(MESSAGES[context.header.api_key].name, context.version, code))


def says(message: Any, version: int, code: ErrorCode) -> bool:
    """Whether a message tells this error in this version: it may have no place for it."""
    return any(
        (field.name in _ERROR_FIELDS and getattr(message, field.name) == code)
        or any(says(part, version, code) for part in _inner(message, field))
        for field in schema_of(type(message)).fields
        if field.exists_in(version)
    )


def _inner(message: Any, field: Field) -> list[Any]:
    value = getattr(message, field.name)
    if isinstance(field.type, Primitive) or value is None:
        return []
    return value if field.is_array else [value]


def _blank(context: Context, name: str) -> Any:
    """The response as yet without the error, but with what a client needs to come back."""
    if name == "Metadata":
        return metadata_response(context, MetadataRequest(), [])
    if name == "ApiVersions":
        return api_versions(context, ApiVersionsRequest())
    return MESSAGES[context.header.api_key].response()


def _path(name: str, version: int, code: ErrorCode) -> _Path:
    """Where the error goes, of the APIs that have a choice by version or by code."""
    if name == "OffsetFetch":
        return _offset_fetch_path(version, code)
    if name == "FindCoordinator" and version >= 4:
        return (("coordinator_keys", "coordinators"),)
    if name == "LeaveGroup" and version >= 3 and code in _OF_A_MEMBER:
        return (("members", "members"),)
    if name == "AddPartitionsToTxn":
        return _add_partitions_path(version)
    if name == "DeleteTopics":
        return (("topics" if version >= 6 else "topic_names", "responses"),)
    if code in _OF_THE_WHOLE.get(name, ()):
        return _AT_THE_TOP
    return _PATHS.get(name, _AT_THE_TOP)


def _offset_fetch_path(version: int, code: ErrorCode) -> _Path:
    is_of_a_partition = code in _OF_A_PARTITION or version < 2
    partitions = (_TOPICS, _OFFSETS) if is_of_a_partition else _AT_THE_TOP
    return (("groups", "groups"), *partitions) if version >= 8 else partitions


def _add_partitions_path(version: int) -> _Path:
    partitions = ("partitions", "results_by_partition")
    if version < 4:
        return (("v3_and_below_topics", "results_by_topic_v3_and_below"), partitions)
    return (("transactions", "results_by_transaction"), ("topics", "topic_results"), partitions)


def _refuse_parts(request: Any, response: Any, path: _Path, code: ErrorCode) -> None:
    (source, target), *further = path
    (field,) = (f for f in schema_of(type(response)).fields if f.name == target)
    assert not isinstance(field.type, Primitive)
    for part in getattr(request, source) or ():
        answer = field.type()
        _repeat(part, answer)
        if further:
            _refuse_parts(part, answer, tuple(further), code)
        else:
            _refuse(part, answer, code)
        getattr(response, target).append(answer)


def _refuse(part: Any, answer: Any, code: ErrorCode) -> None:
    _repeat(part, answer)
    for name, value in _NOTHING.items():
        if hasattr(answer, name):
            setattr(answer, name, value)
    setattr(answer, next(name for name in _ERROR_FIELDS if hasattr(answer, name)), code)
    if hasattr(answer, "error_message"):
        answer.error_message = f"{code.name}: a fault that this test asked for"


def _repeat(part: Any, answer: Any) -> None:
    if isinstance(part, str | int):
        setattr(answer, next(name for name in _WHOLE_IDENTITY if hasattr(answer, name)), part)
        return
    for here, there in _IDENTITY:
        if hasattr(part, here) and hasattr(answer, there):
            setattr(answer, there, getattr(part, here))
