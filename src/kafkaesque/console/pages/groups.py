"""All consumer groups: their state, their members, and how far they are behind."""

from typing import Any

from kafkaesque.client.groups import Group
from kafkaesque.console.addresses import group_path
from kafkaesque.console.pages.parts import Column, Table, link, live, panel, title
from kafkaesque.console.poller import Poller, View

COLUMNS = (
    Column("group", "Group", "link"),
    Column("state", "State", "state"),
    Column("members", "Members", "number"),
    Column("topics", "Topics", minor=True),
    Column("lag", "Lag", "number", hint="Events it has still to read, of all its topics"),
    Column("minute", "Lag in the last minute", "spark", minor=True),
)
NONE_YET = "No groups yet.\nMake one with: kafkaesque topic consume orders -g readers"


def groups_page(poller: Poller) -> None:
    title("Groups")
    with panel():
        table = Table(COLUMNS, "group", "", searchable=True, sort_by="group")

    def draw(view: View) -> None:
        table.explain("Asking the cluster …" if view.snapshot is None else NONE_YET)
        table.fade(view.problem is not None)
        if view.snapshot is not None:
            table.show([_row(view, group) for group in view.snapshot.groups.values()])

    live(poller, draw)


def _row(view: View, group: Group) -> dict[str, Any]:
    return {
        "id": group.name,
        "group": link(group.name, group_path(group.name)),
        "state": group.state,
        "members": len(group.members),
        "topics": ", ".join(sorted({lag.topic for lag in group.lags})),
        "lag": group.lag,
        "minute": view.lags.get(group.name),
    }
