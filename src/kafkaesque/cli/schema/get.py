"""`kafkaesque schema get`: one schema, by its subject, its id or its guid.

What is printed is the text as the registry has it, so that a file of it can be registered again;
at a terminal JSON is indented. Above: app.py. Below: client/registry.
"""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from kafkaesque.cli.output import Format, OutputFormat, echo_columns, echo_data
from kafkaesque.cli.schema.connecting import connect
from kafkaesque.cli.schema.names import complete_subjects, parse_place

if TYPE_CHECKING:
    from kafkaesque.client.registry import RegistryClient, Schema


@dataclass(frozen=True, slots=True)
class Found:
    """A schema, and what is known of it by the way it was asked for."""

    schema: "Schema"
    subject: str | None = None
    version: int | None = None
    id: int | None = None
    guid: str | None = None


def get(
    context: typer.Context,
    place: Annotated[
        str | None,
        typer.Argument(
            metavar="[SUBJECT[:VERSION]]", show_default=False, autocompletion=complete_subjects
        ),
    ] = None,
    schema_id: Annotated[
        int | None, typer.Option("--id", min=0, show_default=False, help="The schema of this id.")
    ] = None,
    guid: Annotated[
        str | None, typer.Option("--guid", show_default=False, help="The schema of this guid.")
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Also print where it is, and what it refers to.")
    ] = False,
    serialized: Annotated[
        bool,
        typer.Option("--serialized", help="Protobuf as a base64 FileDescriptorProto."),
    ] = False,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Avro with all that it refers to in one text.")
    ] = False,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Print a schema: the latest of a subject, another version of it, or that of an id.

    The id is what a record begins with: a zero byte, and the id in the next four.

    \b
    Examples:
      kafkaesque schema get stock_avro_topic-value
      kafkaesque schema get stock_avro_topic-value:1 > tick.avsc
      kafkaesque schema get --id 3 --details
    """
    if [place, schema_id, guid].count(None) != 2:
        raise typer.BadParameter("say which: give one of SUBJECT, --id and --guid")
    if serialized and resolved:
        raise typer.BadParameter("give --serialized or --resolved, not both")
    form = "serialized" if serialized else "resolved" if resolved else None
    with connect(context) as registry:
        found = _find(registry, place, schema_id, guid, form)
        told = _told(registry, found) if details or output is not Format.TABLE else {}
    if output is not Format.TABLE:
        echo_data(told | {"schema": found.schema.text}, output)
        return
    if details:
        echo_columns([(name.upper().replace("_", "-"), _cell(told[name])) for name in told])
        typer.echo()
    typer.echo(_text(found.schema, is_as_stored=form is not None))


def _find(
    registry: "RegistryClient",
    place: str | None,
    schema_id: int | None,
    guid: str | None,
    form: str | None,
) -> Found:
    if schema_id is not None:
        return Found(registry.schema(schema_id, format=form), id=schema_id)
    if guid is not None:
        return Found(registry.schema_by_guid(guid, form), guid=guid)
    subject, version = parse_place(str(place))
    made = registry.version(subject, version, format=form)
    return Found(made.schema, made.subject, made.version, made.id, made.guid)


def _told(registry: "RegistryClient", found: Found) -> dict[str, object]:
    schema = found.schema
    places = [] if found.id is None else registry.places(found.id)
    referring = (
        []
        if found.subject is None or found.version is None
        else registry.referenced_by(found.subject, found.version)
    )
    return {
        "subject": found.subject,
        "version": found.version,
        "id": found.id,
        "guid": found.guid,
        "type": schema.type,
        "places": [f"{subject}:{version}" for subject, version in places],
        "references": [f"{each.name}={each.subject}:{each.version}" for each in schema.references],
        "referenced_by": referring,
        "metadata": schema.metadata,
        "rule_set": schema.rule_set,
    }


def _cell(value: object) -> object:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or None
    if isinstance(value, dict):
        import json

        return json.dumps(value, ensure_ascii=False)
    return value


def _text(schema: "Schema", *, is_as_stored: bool) -> str:
    from kafkaesque.client.schema_diff import readable

    if is_as_stored or not sys.stdout.isatty():
        return schema.text
    return readable(schema.type, schema.text)
