r"""`kafkaesque topic produce`: standard input becomes records.

Without a format all of the input is one message, as in the older rpk; with `-f '%v\n'` every line
is one, as in today's. Ctrl-C before the end of the one message sends nothing. With a schema, what
is typed is JSON, and what is sent is encoded by the schema.
Below: standard_input.py, record_input.py, encoding.py; client/writer.py, imported on use because it
loads librdkafka.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kafkaesque.cli.connecting import connect, connection
from kafkaesque.cli.options import Pair, parse_format_option, parse_header
from kafkaesque.cli.output import CommandError
from kafkaesque.cli.registry_options import (
    RegistryCa,
    RegistryPassword,
    RegistryToken,
    RegistryUrl,
    RegistryUser,
    registry_beside,
    registry_client,
)
from kafkaesque.cli.schema.schema_input import SchemaType
from kafkaesque.cli.stopping import INTERRUPTED
from kafkaesque.cli.topic.encoding import Encoding, SchemaChoice, chosen_encoding
from kafkaesque.cli.topic.names import TopicName, choose_partitions, partitions_of
from kafkaesque.cli.topic.record_format import Field, Literal, Piece
from kafkaesque.cli.topic.record_input import InputError, records, require_readable
from kafkaesque.cli.topic.record_print import Printer, format_printer, utc
from kafkaesque.cli.topic.standard_input import StandardInput, standard_input
from kafkaesque.client.record import UNKNOWN, Record

if TYPE_CHECKING:
    from kafkaesque.client.admin import Admin
    from kafkaesque.client.writer import Writer

PROMPT = "Reading message... Press CTRL + D to send, CTRL + C to cancel."


class Codec(StrEnum):
    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


def produce(
    context: typer.Context,
    topic: TopicName = "",
    key: Annotated[
        str, typer.Option("--key", "-k", help="Key of the records.", show_default=False)
    ] = "",
    partition: Annotated[
        int | None,
        typer.Option("--partition", "-p", min=0, help="Partition; else the key's, or any."),
    ] = None,
    header: Annotated[
        list[Pair] | None,
        typer.Option(
            "--header",
            "-H",
            parser=parse_header,
            metavar="NAME=VALUE",
            help="A header of the records. Repeatable.",
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            help="How to read records, as in '%k %v\\n'; else all of the input is one message.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output-format", "-o", help="What to print for each record, as in '%p %o\\n'."
        ),
    ] = None,
    compression: Annotated[
        Codec,
        typer.Option(
            "--compression", "-z", envvar="KAFKAESQUE_COMPRESSION", help="Codec of the batches."
        ),
    ] = Codec.SNAPPY,
    acks: Annotated[
        int,
        typer.Option(
            envvar="KAFKAESQUE_ACKS",
            min=-1,
            max=1,
            help="Wait for all replicas (-1), for the leader (1), for nobody (0).",
        ),
    ] = -1,
    tombstone: Annotated[
        bool, typer.Option("--tombstone", "-Z", help="Send an empty value as null.")
    ] = False,
    allow_auto_topic_creation: Annotated[
        bool,
        typer.Option(
            "--allow-auto-topic-creation", help="Let the cluster make a topic that is not there."
        ),
    ] = False,
    schema_id: Annotated[
        int | None,
        typer.Option(min=1, help="Encode values by the schema of this id: they are JSON then."),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|SUBJECT",
            help="The same by a subject's latest schema, or by a file, which is registered.",
        ),
    ] = None,
    key_schema_id: Annotated[
        int | None, typer.Option(min=1, help="Encode keys by the schema of this id.")
    ] = None,
    key_schema: Annotated[
        str | None,
        typer.Option(metavar="FILE|SUBJECT", help="The same by a subject, or by a file."),
    ] = None,
    schema_type: Annotated[
        SchemaType | None,
        typer.Option(
            case_sensitive=False,
            show_default="by the file's name: .avsc, .json or .proto",
            help="What a file of --schema or --key-schema has.",
        ),
    ] = None,
    registry: RegistryUrl = None,
    registry_user: RegistryUser = None,
    registry_password: RegistryPassword = None,
    registry_token: RegistryToken = None,
    registry_ca: RegistryCa = None,
) -> None:
    """Send standard input to a topic: all of it as one message, or records by a format.

    \b
    Examples:
      echo hello | kafkaesque topic produce orders -k key1
      kafkaesque topic produce orders -f '%k %v\\n' < pairs.txt
      kafkaesque topic produce orders -k key1 --tombstone < /dev/null
      kafkaesque topic produce ticks -f '%v\\n' --schema tick.avsc < ticks.jsonl
      kafkaesque topic produce ticks --schema-id 7 --registry http://127.0.0.1:8081
    """
    pieces = _input_format(form, topic)
    choices = (
        SchemaChoice("key", key_schema_id, key_schema),
        SchemaChoice("value", schema_id, schema),
    )
    client = registry_client(
        registry, registry_user, registry_password, registry_token, registry_ca
    ) or registry_beside(connection(context))
    if client is not None:
        context.call_on_close(client.close)
    printer: Printer = _sent
    if output is not None:
        printer = format_printer(parse_format_option(output, "--output-format"))
    admin = connect(context)
    if topic and not allow_auto_topic_creation:
        choose_partitions(partitions_of(admin, [topic]), [] if partition is None else [partition])
    template = Record(
        topic,
        key.encode() or None,
        b"",
        tuple((name, value.encode()) for name, value in header or []),
        UNKNOWN if partition is None else partition,
    )
    encoding = chosen_encoding(*choices, client, topic, schema_type)
    writer = _writer(admin, printer, acks, compression)
    if pieces is None:
        # A format for what is printed is for a program, which wants nothing else there.
        typer.echo(PROMPT, err=output is not None)
    with standard_input(typer.get_binary_stream("stdin")) as stream:
        found = _records(stream, pieces, template, writer, tombstone=tombstone)
        _send(writer, found if encoding is None else _encoded(encoding, found, pieces))


def _input_format(form: str | None, topic: str) -> tuple[Piece, ...] | None:
    pieces = parse_format_option(form, "--format", require_readable) if form is not None else None
    letters = {piece.letter for piece in pieces or () if isinstance(piece, Field)}
    if not topic and "t" not in letters:
        raise typer.BadParameter("name a TOPIC, or read it with %t in --format")
    return pieces


def _writer(admin: "Admin", printer: Printer, acks: int, compression: Codec) -> "Writer":
    from kafkaesque.client.writer import Writer

    return Writer(
        admin.connection,
        lambda record: typer.echo(printer(record), nl=False),
        acks=acks,
        compression_type=compression.value,
        enable_idempotence=acks == -1,
    )


def _records(
    stream: StandardInput,
    pieces: Sequence[Piece] | None,
    template: Record,
    writer: "Writer",
    *,
    tombstone: bool,
) -> Iterator[Record]:
    if pieces is None:
        found = iter([replace(template, value=stream.read())])
    else:
        found = records(stream, pieces, template, lambda: _settle(writer, stream))
    for record in found:
        yield replace(record, value=None) if tombstone and not record.value else record


def _encoded(
    encoding: Encoding, found: Iterator[Record], pieces: Sequence[Piece] | None
) -> Iterator[Record]:
    texts = [piece.text for piece in pieces or () if isinstance(piece, Literal)]
    are_lines = bool(texts) and texts[-1] == b"\n" and b"".join(texts).count(b"\n") == 1
    return encoding.encoded(found, "line" if are_lines else "record")


def _settle(writer: "Writer", stream: StandardInput) -> None:
    """Report what has been sent before waiting for somebody who types."""
    if stream.would_wait():
        writer.finish()


def _send(writer: "Writer", found: Iterator[Record]) -> None:
    """What has been read completely is sent, even if what follows it is not."""
    try:
        for record in found:
            writer.send(record)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except InputError as error:
        raise CommandError(str(error)) from None
    finally:
        writer.finish()


def _sent(record: Record) -> bytes:
    stamp = utc(record.timestamp_ms or 0)
    return (
        f"Sent record to partition {record.partition} at offset {record.offset} with timestamp "
        f"{stamp:%Y-%m-%d %H:%M:%S}.{stamp.microsecond // 1000:03} +0000 UTC.\n"
    ).encode()
