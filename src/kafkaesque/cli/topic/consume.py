"""`kafkaesque topic consume`: print records as they come, until Ctrl-C or until there are enough.

Without a group it reads partitions from where it is told and keeps nothing. In a group it shares
the partitions with the other members and commits what it has printed. Every record is flushed.
Below: position_text.py, record_print.py; client/reader.py, imported on use.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias, Union

import typer

from kafkaesque.cli.connecting import connect
from kafkaesque.cli.options import parse_format_option, parse_numbers
from kafkaesque.cli.output import CommandError, tell
from kafkaesque.cli.stopping import StopRequest
from kafkaesque.cli.topic.names import TopicNames, choose_partitions, partitions_of
from kafkaesque.cli.topic.position_text import Span, parse_span
from kafkaesque.cli.topic.record_print import Printer, format_printer, json_printer
from kafkaesque.client.positions import END, START, resolve, within

if TYPE_CHECKING:
    from kafkaesque.client.admin import Admin
    from kafkaesque.client.reader import GroupReader, PartitionReader
    from kafkaesque.types import TopicPartition

Reader: TypeAlias = Union["PartitionReader", "GroupReader"]

_POLL_S = 0.2
_RESETS = {START: "earliest", END: "latest"}


def consume(
    context: typer.Context,
    topics: TopicNames,
    group: Annotated[
        str | None, typer.Option("--group", "-g", help="Read as a member of this group.")
    ] = None,
    offset: Annotated[
        str,
        typer.Option(
            "--offset",
            "-o",
            help="Where to start, and to end: start, end, 47, +2, -2, 10:20, :end, @-1h.",
        ),
    ] = "start",
    num: Annotated[
        int, typer.Option("--num", "-n", min=0, help="End after so many records; 0: never.")
    ] = 0,
    partitions: Annotated[
        str, typer.Option("--partitions", "-p", metavar="N,...", help="Only these partitions.")
    ] = "",
    form: Annotated[
        str, typer.Option("--format", "-f", help="What to print: json, or as in '%k %v\\n'.")
    ] = "json",
    regex: Annotated[
        bool, typer.Option("--regex", "-r", help="TOPIC is a regular expression.")
    ] = False,
    pretty_print: Annotated[
        bool, typer.Option(help="Spread the JSON of a record over several lines.")
    ] = True,
    read_committed: Annotated[
        bool, typer.Option("--read-committed", help="Skip what a transaction has not committed.")
    ] = False,
) -> None:
    """Print records as they come, until Ctrl-C or until there are enough.

    \b
    Examples:
      kafkaesque topic consume orders
      kafkaesque topic consume orders -g billing -n 10
      kafkaesque topic consume orders -o -5 -f '%p %o %k %v\\n'
      kafkaesque topic consume orders -o @2021-06-30:end
    """
    span, numbers = parse_span(offset), parse_numbers(partitions, "--partitions")
    isolation = "read_committed" if read_committed else "read_uncommitted"
    if group is not None:
        _require_group_can(span, numbers)
    printer = _printer(form, with_topic=regex or len(topics) > 1, pretty=pretty_print)
    admin = connect(context)
    names = _matching(admin, topics) if regex else list(dict.fromkeys(topics))
    places = choose_partitions(partitions_of(admin, names), numbers)
    reader: Reader
    if group is None:
        reader = _partition_reader(admin, places, span, isolation)
    else:
        reader = _group_reader(admin, group, names, span, isolation)
    _print(reader, printer, num)


def _require_group_can(span: Span, numbers: Sequence[int]) -> None:
    if numbers:
        raise typer.BadParameter("a group shares the partitions out: give --group or --partitions")
    if span.end is not None or span.start not in _RESETS:
        raise typer.BadParameter(
            "a group starts where it has committed; --offset start or end says where if it has not."
            " Move it with `kafkaesque group seek`"
        )


def _printer(form: str, *, with_topic: bool, pretty: bool) -> Printer:
    if form == "json":
        return json_printer(with_topic=with_topic, pretty=pretty)
    return format_printer(parse_format_option(form, "--format"))


def _matching(admin: "Admin", expressions: Sequence[str]) -> list[str]:
    """The topics there are now that an expression matches."""
    try:
        patterns = [re.compile(expression) for expression in expressions]
    except re.error as error:
        raise typer.BadParameter(f"not a regular expression: {error}") from None
    names = [
        topic.name
        for topic in admin.topics()
        if any(pattern.search(topic.name) for pattern in patterns)
    ]
    if not names:
        raise CommandError("no topic matches: see which there are with `kafkaesque topic list -i`")
    return names


def _partition_reader(
    admin: "Admin", places: "list[TopicPartition]", span: Span, isolation: str
) -> Reader:
    from kafkaesque.client.reader import PartitionReader

    starts = within(admin, resolve(admin, places, span.start))
    # A range is of what is there now: the command ends in any case.
    ends = None if span.end is None else within(admin, resolve(admin, places, span.end))
    return PartitionReader(admin.connection, starts, ends, tell, isolation_level=isolation)


def _group_reader(
    admin: "Admin", group: str, names: Sequence[str], span: Span, isolation: str
) -> Reader:
    from kafkaesque.client.reader import GroupReader

    reset = _RESETS[span.start]
    return GroupReader(admin.connection, group, names, reset, tell, isolation_level=isolation)


def _print(reader: Reader, printer: Printer, limit: int) -> None:
    stop = StopRequest().listen()
    printed = 0
    try:
        while not (stop.asked or reader.is_done or 0 < limit <= printed):
            record = reader.poll(_POLL_S)
            if record is not None:
                typer.echo(printer(record), nl=False)
                reader.accept(record)
                printed += 1
    finally:
        reader.close()
        stop.end()
