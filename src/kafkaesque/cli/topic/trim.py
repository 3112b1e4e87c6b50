"""`kafkaesque topic trim`: delete the oldest records of a topic, up to an offset or a time.

It shows what it would do and asks. Where nobody can answer, `--no-confirm` has to say so.
Below: position_text.py, confirming.py; client/positions.py, client/admin.py.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kafkaesque.cli.confirming import NoConfirm, require_terminal, require_yes
from kafkaesque.cli.connecting import connect
from kafkaesque.cli.options import parse_numbers
from kafkaesque.cli.output import Format, OutputFormat, echo_data, echo_table
from kafkaesque.cli.topic.names import TopicName, choose_partitions, partitions_of
from kafkaesque.cli.topic.position_text import parse_position
from kafkaesque.client.positions import resolve

if TYPE_CHECKING:
    from kafkaesque.client.admin import Watermarks
    from kafkaesque.client.topics import Trimmed
    from kafkaesque.types import TopicPartition


def trim(
    context: typer.Context,
    topic: TopicName,
    offset: Annotated[
        str,
        typer.Option(
            "--offset", "-o", help="The first offset to keep: 47, end, @2021-06-30 or @-1h."
        ),
    ],
    partitions: Annotated[
        str, typer.Option("--partitions", "-p", metavar="N,...", help="Only these partitions.")
    ] = "",
    no_confirm: NoConfirm = False,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Delete the oldest records of a topic: all below an offset, or older than a time.

    \b
    Examples:
      kafkaesque topic trim orders --offset 120 --partitions 1
      kafkaesque topic trim orders -o @-7d --no-confirm
    """
    position = parse_position(offset)
    numbers = parse_numbers(partitions, "--partitions")
    admin = connect(context)
    places = choose_partitions(partitions_of(admin, [topic]), numbers)
    starts = resolve(admin, places, position)
    if not no_confirm:
        _confirm(starts, admin.watermarks_of(places))
    _report(admin.trim(starts), output)


def _confirm(
    starts: "Mapping[TopicPartition, int]", marks: "Mapping[TopicPartition, Watermarks]"
) -> None:
    require_terminal("deleting records")
    rows = [
        (place.topic, place.partition, marks[place].low, start) for place, start in starts.items()
    ]
    echo_table(("TOPIC", "PARTITION", "START-OFFSET", "NEW-START-OFFSET"), rows)
    require_yes("Delete the records before the new start?", "Nothing is deleted.")


def _report(trimmed: "Sequence[Trimmed]", output: Format) -> None:
    if output is Format.TABLE:
        rows = [(t.topic, t.partition, t.start, t.status.error and t.status) for t in trimmed]
        echo_table(("TOPIC", "PARTITION", "NEW-START-OFFSET", "ERROR"), rows)
    else:
        echo_data([_data(each) for each in trimmed], output)
    if any(each.status.error for each in trimmed):
        raise typer.Exit(1)


def _data(trimmed: "Trimmed") -> dict[str, object]:
    return {
        "topic": trimmed.topic,
        "partition": trimmed.partition,
        "start": trimmed.start,
        "error": trimmed.status.error,
        "status": str(trimmed.status),
    }
