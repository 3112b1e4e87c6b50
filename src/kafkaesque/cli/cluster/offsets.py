"""`kafkaesque cluster offsets`: how far groups are behind, one line per partition.

The layout is the one rpk had when it had this command. Unlike that one it does not need a consumer
that runs: what a group has committed is enough. Above: app.py. Below: client/groups.py,
imported on use because it loads librdkafka.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from kafkaesque.cli.connecting import connect
from kafkaesque.cli.group.names import complete_groups
from kafkaesque.cli.output import Format, OutputFormat, echo_data, echo_grid
from kafkaesque.cli.reports import complain_of_groups

if TYPE_CHECKING:
    from kafkaesque.client.groups import Lag

HEADS = (
    "GROUP",
    "TOPIC",
    "PARTITION",
    "LAG",
    "LAG %",
    "COMMITTED",
    "LATEST",
    "CONSUMER",
    "CLIENT-HOST",
    "CLIENT-ID",
)


def offsets(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", show_default=False, autocompletion=complete_groups),
    ] = None,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Show how far groups are behind.

    All groups, if none is named. One whose consumers have left is shown too, as long as its
    commits are kept.

    \b
    Examples:
      kafkaesque cluster offsets
      kafkaesque cluster offsets group2 --format json
    """
    from kafkaesque.client.groups import Groups

    found = Groups(connect(context)).describe(names or None)
    lags = [lag for group in found for lag in group.lags]
    if output is Format.TABLE:
        echo_grid([HEADS, *(_row(lag) for lag in lags)])
    else:
        echo_data([_data(lag) for lag in lags], output)
    complain_of_groups(found)


def _row(lag: "Lag") -> tuple[object, ...]:
    percent = _lag_percent(lag)
    return (
        lag.group,
        lag.topic,
        lag.partition,
        lag.lag,
        None if percent is None else f"{percent:.2f}",
        lag.committed,
        lag.latest,
        lag.member and lag.member.member_id,
        lag.member and lag.member.host,
        lag.member and lag.member.client_id,
    )


def _data(lag: "Lag") -> dict[str, object]:
    return {
        "group": lag.group,
        "topic": lag.topic,
        "partition": lag.partition,
        "lag": lag.lag,
        "lag_percent": _lag_percent(lag),
        "committed": lag.committed,
        "latest": lag.latest,
        "consumer": lag.member and lag.member.member_id,
        "client_host": lag.member and lag.member.host,
        "client_id": lag.member and lag.member.client_id,
    }


def _lag_percent(lag: "Lag") -> float | None:
    """How much of what has ever been written is still unread."""
    if lag.lag is None or lag.latest is None:
        return None
    return round(100 * lag.lag / lag.latest, 2) if lag.latest else 0.0
