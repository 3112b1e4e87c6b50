"""One consumer group: its lag in each partition, and who reads them."""

from typing import Any

from kafkaesque.client.groups import Group, Lag, Member
from kafkaesque.console.addresses import GROUPS, topic_path
from kafkaesque.console.pages.parts import (
    Column,
    Figures,
    Table,
    link,
    live,
    panel,
    tag,
    text,
    title,
)
from kafkaesque.console.poller import Poller, View

LAGS = (
    Column("topic", "Topic", "link"),
    Column("partition", "Partition", "number"),
    Column("committed", "Committed", "number", hint="The offset it reads next"),
    Column("end", "End", "number", minor=True),
    Column("lag", "Lag", "number"),
    Column("member", "Member", minor=True),
)
MEMBERS = (
    Column("member", "Member", mono=True),
    Column("client", "Client"),
    Column("host", "Host", minor=True),
    Column("partitions", "Partitions"),
)


def group_page(poller: Poller, name: str) -> None:
    title(name, ("Groups", GROUPS))
    missing = text("p", f"There is no group {name} now.", "k-empty")
    with tag("div") as there:
        figures = Figures(State="text", Members="number", Lag="number", Assignor="text")
        with panel("Lag per partition"):
            lags = Table(LAGS, "partition", "It has committed nothing and reads nothing.")
        with panel("Members"):
            members = Table(MEMBERS, "member", "Nobody is in the group now.")

    def draw(view: View) -> None:
        group = view.snapshot.groups.get(name) if view.snapshot else None
        there.set_visibility(group is not None)
        missing.set_visibility(group is None and view.snapshot is not None)
        if group is not None:
            figures.show(**_figures(group))
            lags.show([_lag_row(lag) for lag in group.lags])
            members.show([_member_row(member) for member in group.members])

    live(poller, draw)


def _figures(group: Group) -> dict[str, object]:
    return {
        "State": group.state,
        "Members": len(group.members),
        "Lag": group.lag,
        "Assignor": group.assignor or None,
    }


def _lag_row(lag: Lag) -> dict[str, Any]:
    return {
        "id": f"{lag.topic}:{lag.partition}",
        "topic": link(lag.topic, topic_path(lag.topic)),
        "partition": lag.partition,
        "committed": lag.committed,
        "end": lag.latest,
        "lag": lag.lag,
        "member": lag.member.client_id if lag.member else None,
    }


def _member_row(member: Member) -> dict[str, Any]:
    return {
        "id": member.member_id,
        "member": member.member_id,
        "client": member.client_id,
        "host": member.host,
        "partitions": ", ".join(map(str, member.partitions)) or None,
    }
