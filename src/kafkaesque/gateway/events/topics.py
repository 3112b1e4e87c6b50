"""Topics over HTTP: which there are, what each is like, a new one, none any more.

Below: client/admin.py, asked in threads.
"""

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Response

from kafkaesque.client import topics as nouns
from kafkaesque.client.answers import Status
from kafkaesque.gateway.access import Grant
from kafkaesque.gateway.events.gateway import (
    Gateway,
    TheGateway,
    TheGrant,
    require_write,
)
from kafkaesque.gateway.events.models import NewTopic, Topic, TopicList, problems
from kafkaesque.gateway.events.problems import ProblemError, of_status

router = APIRouter(tags=["Topics"])


@router.get("/topics", summary="List topics", response_model=TopicList, responses=problems(503))
async def list_topics(
    gateway: TheGateway, grant: TheGrant, internal: bool = False
) -> dict[str, Any]:
    """All topics; with `internal=true` also those that Kafka itself keeps, whose names begin with
    `__`.
    """
    found = await gateway.ask(lambda admin: admin.topics())
    return {
        "topics": [
            asdict(topic)
            for topic in found
            if (internal or not topic.name.startswith("__")) and _may_read(grant, topic.name)
        ]
    }


@router.get(
    "/topics/{topic}",
    summary="Describe a topic",
    response_model=Topic,
    responses=problems(403, 404, 503),
)
async def describe_topic(gateway: TheGateway, grant: TheGrant, topic: str) -> dict[str, Any]:
    """Its partitions with their leaders and offsets, and its settings."""
    if not _may_read(grant, topic):
        raise ProblemError(403, "TOPIC_AUTHORIZATION_FAILED", f"this token may not read {topic}")
    return await _described(gateway, topic)


@router.post(
    "/topics",
    summary="Create a topic",
    status_code=201,
    response_model=Topic,
    responses=problems(400, 403, 409, 503),
)
async def create_topic(
    gateway: TheGateway, grant: TheGrant, new: NewTopic, response: Response
) -> dict[str, Any]:
    """The answer is the topic, as `GET /topics/{topic}` describes it."""
    require_write(grant, new.name)
    (status,) = await gateway.ask(
        lambda admin: admin.create([new.name], new.partitions, new.replicas, new.settings)
    )
    if status.error:
        raise of_status(status)
    response.headers["location"] = f"/topics/{new.name}"
    return await _described(gateway, new.name)


@router.delete(
    "/topics/{topic}",
    summary="Delete a topic",
    status_code=204,
    responses=problems(403, 404, 503),
)
async def delete_topic(gateway: TheGateway, grant: TheGrant, topic: str) -> None:
    """With all its events, for good."""
    require_write(grant, topic)
    (status,) = await gateway.ask(lambda admin: admin.delete([topic]))
    if status.error:
        raise of_status(status)


async def _described(gateway: Gateway, name: str) -> dict[str, Any]:
    (found,) = await gateway.ask(lambda admin: admin.describe([name]))
    if isinstance(found, Status):
        raise of_status(found)
    return {
        "name": found.name,
        "internal": found.internal,
        "partitions": [_partition(each) for each in found.partitions],
        "settings": {
            each.name: {"value": each.value, "source": each.source} for each in found.configs
        },
    }


def _partition(state: nouns.PartitionState) -> dict[str, Any]:
    return {
        "partition": state.partition,
        "leader": state.leader,
        "replicas": state.replicas,
        "in_sync_replicas": state.in_sync_replicas,
        "first_offset": state.log_start_offset,
        "next_offset": state.high_watermark,
    }


def _may_read(grant: Grant, topic: str) -> bool:
    return grant.refusal(topic) is None
