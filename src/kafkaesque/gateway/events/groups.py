"""Consumer groups over HTTP: which there are, how far behind each is, and moving one.

Tokens are for events: a gateway that has them tells nothing of groups.
Below: client/groups.py and client/seek.py, asked in threads.
"""

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Depends

from kafkaesque.client import seek
from kafkaesque.client.admin import Admin
from kafkaesque.client.connection import ClusterError, UnansweredError
from kafkaesque.client.groups import Groups, Lag, Member
from kafkaesque.gateway.events.gateway import TheGateway, require_no_tokens
from kafkaesque.gateway.events.models import Group, GroupList, Seek, SeekResult, problems
from kafkaesque.gateway.events.problems import ProblemError, bad_parameter
from kafkaesque.gateway.events.start import End, Moment, Resume, Start, parse_start

router = APIRouter(tags=["Groups"], dependencies=[Depends(require_no_tokens)])

_ENDS = {End.EARLIEST: seek.End.START, End.LATEST: seek.End.END}


@router.get("/groups", summary="List groups", response_model=GroupList, responses=problems(503))
async def list_groups(gateway: TheGateway) -> dict[str, Any]:
    found = await gateway.ask(lambda admin: Groups(admin).list())
    return {"groups": [asdict(group) for group in found]}


@router.get(
    "/groups/{group}",
    summary="Describe a group",
    response_model=Group,
    responses=problems(404, 503),
)
async def describe_group(gateway: TheGateway, group: str) -> dict[str, Any]:
    """Its members, what it has committed, and how far it is behind."""
    (found,) = await gateway.ask(lambda admin: Groups(admin).describe([group]))
    if found.error is not None:
        is_absent = found.state == "Dead"
        raise ProblemError(
            404 if is_absent else 502,
            "GROUP_ID_NOT_FOUND" if is_absent else "UNKNOWN_SERVER_ERROR",
            f"group {group}: {found.error}",
        )
    return {
        "name": found.name,
        "state": found.state,
        "coordinator": found.coordinator,
        "assignor": found.assignor,
        "members": [_member(member) for member in found.members],
        "offsets": [_offset(lag) for lag in found.lags],
        "lag": found.lag,
    }


@router.post(
    "/groups/{group}/offsets",
    summary="Move a group",
    response_model=SeekResult,
    responses=problems(400, 409, 503),
)
async def move_group(gateway: TheGateway, group: str, wanted: Seek) -> dict[str, Any]:
    """To the start or the end of its topics, to a time, or to the offsets of a vector that names
    topics (`ticks/0:12`). Topics that it has not committed must be named.
    """
    try:
        start = parse_start(wanted.to, None)
    except ValueError as error:
        raise bad_parameter("to", str(error)) from None
    moved = await gateway.ask(lambda admin: _move(admin, group, start, wanted.topics))
    return {
        "group": group,
        "moved": [
            {
                "topic": each.topic,
                "partition": each.partition,
                "before": each.prior,
                "now": each.current,
                "error": str(each.status) if each.status.error else None,
            }
            for each in moved
        ],
    }


def _move(admin: Admin, group: str, start: Start, topics: list[str] | None) -> list[seek.Moved]:
    try:
        match start:
            case Resume(positions):
                return seek.seek_to_offsets(admin, group, positions, topics)
            case End():
                target: seek.Target = _ENDS[start]
            case Moment(timestamp_ms):
                target = seek.Moment(timestamp_ms)
            case _:
                raise bad_parameter("to", "an offset alone names no partition: give a vector")
        return seek.seek(admin, group, target, topics, allow_new_topics=topics is not None)
    except UnansweredError:
        raise
    except ClusterError as error:
        raise ProblemError(409, "INVALID_GROUP_STATE", str(error)) from None


def _member(member: Member) -> dict[str, Any]:
    places = [f"{place.topic}/{place.partition}" for place in member.partitions]
    return asdict(member) | {"partitions": places}


def _offset(lag: Lag) -> dict[str, Any]:
    return {
        "topic": lag.topic,
        "partition": lag.partition,
        "committed": lag.committed,
        "first_offset": lag.earliest,
        "next_offset": lag.latest,
        "lag": lag.lag,
        "member_id": lag.member.member_id if lag.member else None,
    }
