"""`kafkaesque topic consume`: print records as they come, until Ctrl-C or until there are enough.

Without a group it reads partitions from where it is told and keeps nothing. In a group it shares
the partitions with the other members and commits what it has printed, or searched. Every record
is flushed. With a registry, values are decoded by their schemas.
Below: position_text.py, record_print.py, decoding.py, search.py; client/reader.py, imported on use.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias, Union

import typer

from kafkaesque.cli.connecting import connect, connection
from kafkaesque.cli.options import parse_format_option, parse_numbers
from kafkaesque.cli.output import CommandError, tell
from kafkaesque.cli.registry_options import (
    RegistryCa,
    RegistryPassword,
    RegistryToken,
    RegistryUrl,
    RegistryUser,
    registry_beside,
    registry_client,
)
from kafkaesque.cli.stopping import StopRequest
from kafkaesque.cli.topic.names import TopicNames, choose_partitions, partitions_of
from kafkaesque.cli.topic.position_text import Span, parse_span
from kafkaesque.cli.topic.record_print import Printer, format_printer, json_printer
from kafkaesque.client.positions import END, START, resolve, within

if TYPE_CHECKING:
    from kafkaesque.cli.topic.decoding import Decoding
    from kafkaesque.cli.topic.search import Search
    from kafkaesque.client.admin import Admin
    from kafkaesque.client.reader import GroupReader, PartitionReader
    from kafkaesque.client.record import Record
    from kafkaesque.client.registry import RegistryClient
    from kafkaesque.types import TopicPartition

Reader: TypeAlias = Union["PartitionReader", "GroupReader"]
Offsets: TypeAlias = "Mapping[TopicPartition, int]"

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
    where: Annotated[
        str | None,
        typer.Option(metavar="FILTER", help="Only records that match, as in 'value.price > 100'."),
    ] = None,
    decode: Annotated[
        bool,
        typer.Option(
            "--decode/--no-decode", help="Decode keys and values, if there is a registry."
        ),
    ] = True,
    registry: RegistryUrl = None,
    registry_user: RegistryUser = None,
    registry_password: RegistryPassword = None,
    registry_token: RegistryToken = None,
    registry_ca: RegistryCa = None,
) -> None:
    """Print records as they come, until Ctrl-C or until there are enough.

    \b
    Examples:
      kafkaesque topic consume orders
      kafkaesque topic consume orders -g billing -n 10
      kafkaesque topic consume orders -o -5 -f '%p %o %k %v\\n'
      kafkaesque topic consume orders -o @2021-06-30:end
      kafkaesque topic consume ticks --registry http://127.0.0.1:8081
      kafkaesque topic consume ticks -o :end --where 'value.price > 100' -n 10
    """
    span, numbers = parse_span(offset), parse_numbers(partitions, "--partitions")
    isolation = "read_committed" if read_committed else "read_uncommitted"
    if group is not None:
        _require_group_can(span, numbers)
    client = registry_client(
        registry, registry_user, registry_password, registry_token, registry_ca
    )
    # Of a registry that nobody has named it is no news that it is not there.
    complain = tell if client is not None else _say_nothing
    if client is None and decode:
        client = registry_beside(connection(context))
    if client is not None:
        context.call_on_close(client.close)
    decoding = _decoding(client, complain) if client is not None and decode else None
    search = None if where is None else _search(where, decoding, client)
    printer = _printer(form, with_topic=regex or len(topics) > 1, pretty=pretty_print)
    show = Show(printer, num, decoding)
    admin = connect(context)
    names = _matching(admin, topics) if regex else list(dict.fromkeys(topics))
    places = choose_partitions(partitions_of(admin, names), numbers)
    if group is not None:
        _print(_group_reader(admin, group, names, span, isolation), show, search)
        return
    starts = within(admin, resolve(admin, places, span.start))
    # A range is of what is there now: the command ends in any case.
    ends = None if span.end is None else within(admin, resolve(admin, places, span.end))
    if search is None:
        _print(_partition_reader(admin, starts, ends, isolation), show, None)
    else:
        search.run(admin.connection, starts, ends, show, read_committed=read_committed)


class Show:
    """Prints records, and counts them."""

    def __init__(self, printer: Printer, limit: int, decoding: "Decoding | None") -> None:
        self._printer = printer
        self._limit = limit
        self._decoding = decoding
        self._printed = 0

    @property
    def is_enough(self) -> bool:
        return 0 < self._limit <= self._printed

    def __call__(self, record: "Record") -> None:
        shown = record if self._decoding is None else self._decoding.decoded(record)
        typer.echo(self._printer(shown), nl=False)
        self._printed += 1


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
    admin: "Admin", starts: "Offsets", ends: "Offsets | None", isolation: str
) -> Reader:
    from kafkaesque.client.reader import PartitionReader

    return PartitionReader(admin.connection, starts, ends, tell, isolation_level=isolation)


def _group_reader(
    admin: "Admin", group: str, names: Sequence[str], span: Span, isolation: str
) -> Reader:
    from kafkaesque.client.reader import GroupReader

    reset = _RESETS[span.start]
    return GroupReader(admin.connection, group, names, reset, tell, isolation_level=isolation)


def _say_nothing(_sentence: str) -> None:
    pass


def _decoding(client: "RegistryClient", complain: Callable[[str], None]) -> "Decoding":
    from kafkaesque.cli.topic.decoding import Decoding
    from kafkaesque.client.decoder import Decoder

    return Decoding(Decoder(client), complain)


def _search(where: str, decoding: "Decoding | None", client: "RegistryClient | None") -> "Search":
    from kafkaesque.cli.topic.search import Search, parse_where

    return Search(parse_where(where), decoding, client)


def _print(reader: Reader, show: Show, search: "Search | None") -> None:
    stop = StopRequest().listen()
    try:
        while not (stop.asked or reader.is_done or show.is_enough):
            record = reader.poll(_POLL_S)
            if record is None:
                continue
            if search is None or search.matches(record):
                show(record)
            reader.accept(record)
    finally:
        if search is not None:
            search.progress.clear()
        reader.close()
        stop.end()
