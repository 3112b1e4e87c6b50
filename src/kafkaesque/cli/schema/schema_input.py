"""A schema that a command is given: its text from a file or stdin, its type, and its references.

The type is known by the name of the file (.avsc, .json, .proto), or said with --type.
Above: register.py, compare.py. Below: client/registry, imported on use because it loads httpx.
"""

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias

import typer

from kafkaesque.cli.output import CommandError

if TYPE_CHECKING:
    from kafkaesque.client.registry import Schema


class SchemaType(StrEnum):
    AVRO = "AVRO"
    JSON = "JSON"
    PROTOBUF = "PROTOBUF"


BY_SUFFIX = {".avsc": SchemaType.AVRO, ".json": SchemaType.JSON, ".proto": SchemaType.PROTOBUF}
STDIN = Path("-")

SchemaFile: TypeAlias = Annotated[
    Path,
    typer.Option("--file", metavar="FILE", show_default=False, help="The schema; - for stdin."),
]
MaybeFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", show_default=False, help="The schema; - for stdin."),
]
TypeOption: TypeAlias = Annotated[
    SchemaType | None,
    typer.Option(
        "--type",
        case_sensitive=False,
        show_default="by the file's name: .avsc, .json or .proto",
        help="What the file has.",
    ),
]
ReferencesOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--reference",
        metavar="NAME=SUBJECT:VERSION",
        show_default=False,
        help="A name in the schema that another subject defines; repeatable.",
    ),
]


class ReferenceText(NamedTuple):
    name: str
    subject: str
    version: int


def read_schema(path: Path, schema_type: SchemaType | None, references: Sequence[str]) -> "Schema":
    from kafkaesque.client.registry import Reference, Schema

    named = tuple(Reference(*parse_reference(each)) for each in references)
    kind = type_of(path, schema_type)
    return Schema(read_text(path), kind.value, named)


def type_of(path: Path, said: SchemaType | None) -> SchemaType:
    found = said or BY_SUFFIX.get(path.suffix.lower())
    if found is None:
        name = "stdin" if path == STDIN else str(path)
        raise typer.BadParameter(
            f"{name} does not tell what it has: say AVRO, JSON or PROTOBUF", param_hint="--type"
        )
    return found


def parse_reference(text: str) -> ReferenceText:
    name, equals, place = text.partition("=")
    subject, colon, version = place.rpartition(":")
    if not (name and equals and subject and colon and version.isascii() and version.isdigit()):
        raise typer.BadParameter(
            f"{text!r} is not NAME=SUBJECT:VERSION, as in market.Money=money-value:1",
            param_hint="--reference",
        )
    return ReferenceText(name, subject, int(version))


def read_text(path: Path) -> str:
    try:
        if path == STDIN:
            return sys.stdin.buffer.read().decode()
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise CommandError(
            f"cannot read {path} ({cause}): name a text file with a schema"
        ) from None
