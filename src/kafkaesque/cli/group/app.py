"""`kafkaesque group …`: list, describe, delete and move the consumer groups of any Kafka cluster.

The shape of the output is rpk's. A command over several groups does all it can, reports each, and
ends with exit code 1 if one failed. Below: seek.py; client/groups.py,
imported on use because it loads librdkafka.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from kafkaesque.cli.connecting import ClusterCommand, cluster_commands, connect
from kafkaesque.cli.group.names import GroupNames
from kafkaesque.cli.group.seek import seek
from kafkaesque.cli.options import parse_states
from kafkaesque.cli.output import Format, OutputFormat, echo_columns, echo_data, echo_table
from kafkaesque.cli.reports import complain_of_groups, report

if TYPE_CHECKING:
    from kafkaesque.client.groups import Group, Lag

app = cluster_commands(
    "group",
    "List, describe, delete and move consumer groups.",
    "kafkaesque group list && kafkaesque group describe billing",
)

STATES = ("PreparingRebalance", "CompletingRebalance", "Stable", "Empty", "Dead", "Unknown")
OFFSET_HEADS = (
    "TOPIC",
    "PARTITION",
    "CURRENT-OFFSET",
    "LOG-START-OFFSET",
    "LOG-END-OFFSET",
    "LAG",
    "MEMBER-ID",
    "CLIENT-ID",
    "HOST",
)


@app.command("list", cls=ClusterCommand)
def list_groups(
    context: typer.Context,
    states: Annotated[
        str | None,
        typer.Option(
            "--states",
            "-s",
            metavar="STATE,...",
            show_default=False,
            help="Only groups in these states, as in stable,empty.",
        ),
    ] = None,
    output: OutputFormat = Format.TABLE,
) -> None:
    """List the groups and their states.

    Example: kafkaesque group list --states stable,empty
    """
    from kafkaesque.client.groups import Groups

    wanted = STATES if states is None else parse_states(states, STATES)
    found = [group for group in Groups(connect(context)).list() if group.state in wanted]
    if output is Format.TABLE:
        rows = [(group.name, group.state, group.kind) for group in found]
        echo_table(("NAME", "STATE", "TYPE"), rows)
    else:
        told = [{"name": g.name, "state": g.state, "type": g.kind} for g in found]
        echo_data(told, output)


@app.command(cls=ClusterCommand)
def describe(
    context: typer.Context,
    names: GroupNames,
    print_summary: Annotated[
        bool, typer.Option("--print-summary", "-s", help="Print only the summary.")
    ] = False,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Show the state of groups, and how far they are behind.

    \b
    Examples:
      kafkaesque group describe billing
      kafkaesque group describe -s billing shipping
    """
    from kafkaesque.client.groups import Groups

    found = Groups(connect(context)).describe(names)
    groups = [group for group in found if not group.error]
    if output is not Format.TABLE:
        echo_data([_group_data(group, with_offsets=not print_summary) for group in groups], output)
    else:
        for position, group in enumerate(groups):
            _print_group(group, is_first=position == 0, with_offsets=not print_summary)
    complain_of_groups(found)


@app.command(cls=ClusterCommand)
def delete(
    context: typer.Context,
    names: GroupNames,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Delete groups without members, and their commits.

    At once and without asking.

    Example: kafkaesque group delete billing
    """
    from kafkaesque.client.groups import Groups

    report("group", Groups(connect(context)).delete(names), output)


app.command(cls=ClusterCommand)(seek)


def _print_group(group: "Group", *, is_first: bool, with_offsets: bool) -> None:
    if not is_first:
        typer.echo()
    echo_columns(
        [
            ("GROUP", group.name),
            ("COORDINATOR", group.coordinator),
            ("STATE", group.state),
            ("BALANCER", group.assignor),
            ("MEMBERS", len(group.members)),
            ("TOTAL-LAG", group.lag),
        ]
    )
    if with_offsets:
        typer.echo()
        echo_table(OFFSET_HEADS, [*map(_offset_row, group.lags), *_idle_rows(group)])


def _offset_row(lag: "Lag") -> tuple[object, ...]:
    return (
        lag.topic,
        lag.partition,
        lag.committed,
        lag.earliest,
        lag.latest,
        lag.lag,
        lag.member and lag.member.member_id,
        lag.member and lag.member.client_id,
        lag.member and lag.member.host,
    )


def _idle_rows(group: "Group") -> list[tuple[object, ...]]:
    """Members who have no partition would not be seen otherwise."""
    return [
        (*[None] * 6, member.member_id, member.client_id, member.host)
        for member in group.members
        if not member.partitions
    ]


def _group_data(group: "Group", *, with_offsets: bool) -> dict[str, object]:
    summary: dict[str, object] = {
        "name": group.name,
        "coordinator": group.coordinator,
        "state": group.state,
        "balancer": group.assignor,
        "total_lag": group.lag,
        "members": [
            {
                "member_id": member.member_id,
                "client_id": member.client_id,
                "host": member.host,
                "partitions": [place._asdict() for place in member.partitions],
            }
            for member in group.members
        ],
    }
    return summary | (
        {"offsets": [_offset_data(lag) for lag in group.lags]} if with_offsets else {}
    )


def _offset_data(lag: "Lag") -> dict[str, object]:
    return {
        "topic": lag.topic,
        "partition": lag.partition,
        "current_offset": lag.committed,
        "log_start_offset": lag.earliest,
        "log_end_offset": lag.latest,
        "lag": lag.lag,
        "member_id": lag.member and lag.member.member_id,
    }
