"""`kafkaesque group seek`: move a group, as `--to`, `--to-group` or `--to-file` says.

A file has one line per partition, TOPIC PARTITION OFFSET, with blanks between; empty lines are
passed over. As with rpk, `--to` moves all partitions of topics that the group has committed, while
the other two move exactly the partitions that they list, and need no --allow-new-topics.
Above: app.py. Below: moments.py; client/seek.py, imported on use because it loads librdkafka.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kafkaesque.cli.connecting import connect
from kafkaesque.cli.group.names import GroupName, complete_groups
from kafkaesque.cli.moments import parse_moment
from kafkaesque.cli.output import CommandError, Format, OutputFormat, echo_data, echo_table
from kafkaesque.types import TopicPartition

if TYPE_CHECKING:
    from kafkaesque.client.seek import Moved, Target


def seek(
    context: typer.Context,
    name: GroupName,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="start|end|TIME",
            show_default=False,
            help="Move to the start, the end or a time: seconds, milliseconds or RFC 3339.",
        ),
    ] = None,
    to_group: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            autocompletion=complete_groups,
            help="Move to what another group has committed.",
        ),
    ] = None,
    to_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Move to the offsets in a file, with lines of TOPIC PARTITION OFFSET.",
        ),
    ] = None,
    topics: Annotated[
        str | None,
        typer.Option(metavar="TOPIC,...", show_default=False, help="Move only in these topics."),
    ] = None,
    allow_new_topics: Annotated[
        bool,
        typer.Option(
            "--allow-new-topics", help="With --to, begin in --topics that were never committed."
        ),
    ] = False,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Move a group that has no members.

    Forward, back, or to where another group is.

    \b
    Examples:
      kafkaesque group seek billing --to start
      kafkaesque group seek billing --to 2021-06-30T10:43:49Z --topics orders
      kafkaesque group seek billing --to-group shipping
      kafkaesque group seek billing --to-file offsets.txt
    """
    if [to, to_group, to_file].count(None) != 2:
        raise typer.BadParameter("say where to: give one of --to, --to-group and --to-file")
    chosen = parse_topics(topics)
    if to is not None:
        moved = _seek_to(context, name, parse_target(to), chosen, allow_new_topics)
    elif to_file is not None:
        moved = _seek_to_offsets(context, name, read_offsets(to_file), chosen)
    else:
        moved = _seek_to_offsets(context, name, _committed(context, str(to_group)), chosen)
    _report(moved, output)


def parse_target(text: str) -> "Target":
    from kafkaesque.client.seek import End, Moment

    ends = {end.value: end for end in End}
    return ends[text] if text in ends else Moment(parse_moment(text))


def parse_topics(text: str | None) -> set[str] | None:
    """TOPIC,…; None if all are meant."""
    if text is None:
        return None
    topics = {topic.strip() for topic in text.split(",")} - {""}
    if not topics:
        raise typer.BadParameter("--topics names none: write them as in orders,prices")
    return topics


def read_offsets(path: Path) -> dict[TopicPartition, int]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(
            f"cannot read {path} ({error}): name a text file with lines of TOPIC PARTITION OFFSET"
        ) from None
    numbered = [(number, line.split()) for number, line in enumerate(lines, 1)]
    return dict(_offset(path, number, words) for number, words in numbered if words)


def _offset(path: Path, number: int, words: list[str]) -> tuple[TopicPartition, int]:
    if len(words) != 3 or not all(word.isascii() and word.isdigit() for word in words[1:]):
        raise CommandError(
            f"{path}, line {number}: {' '.join(words)!r} is not TOPIC PARTITION OFFSET, "
            "as in: orders 0 12"
        )
    topic, partition, offset = words
    return TopicPartition(topic, int(partition)), int(offset)


def _seek_to(
    context: typer.Context,
    name: str,
    target: "Target",
    topics: set[str] | None,
    allow_new_topics: bool,
) -> "list[Moved]":
    from kafkaesque.client.seek import seek

    return seek(connect(context), name, target, topics, allow_new_topics=allow_new_topics)


def _seek_to_offsets(
    context: typer.Context,
    name: str,
    offsets: Mapping[TopicPartition, int],
    topics: set[str] | None,
) -> "list[Moved]":
    from kafkaesque.client.seek import seek_to_offsets

    return seek_to_offsets(connect(context), name, offsets, topics)


def _committed(context: typer.Context, group: str) -> dict[TopicPartition, int]:
    from kafkaesque.client.groups import Groups

    committed = Groups(connect(context)).committed(group)
    if not committed:
        raise CommandError(
            f"group {group} has committed nothing to move to: "
            "see which groups there are with `kafkaesque group list`"
        )
    return committed


def _report(moved: "Sequence[Moved]", output: Format) -> None:
    if output is Format.TABLE:
        echo_table(
            ("TOPIC", "PARTITION", "PRIOR-OFFSET", "CURRENT-OFFSET", "ERROR"),
            [
                (move.topic, move.partition, move.prior, move.current, _error(move) or "")
                for move in moved
            ],
        )
    else:
        echo_data([_move_data(move) for move in moved], output)
    if any(move.status.error for move in moved):
        raise typer.Exit(1)


def _move_data(move: "Moved") -> dict[str, object]:
    return {
        "topic": move.topic,
        "partition": move.partition,
        "prior_offset": move.prior,
        "current_offset": move.current,
        "error": _error(move),
    }


def _error(move: "Moved") -> str | None:
    return str(move.status) if move.status.error else None
