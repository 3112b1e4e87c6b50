"""`kafkaesque schema diff`: what has changed between two versions, and who can still read whom.

The verdicts are of the registry's own checkers, run here: the REST API compares only as a subject's
level says, and a difference has two directions. Above: app.py. Below: verdicts.py,
client/schema_diff.py.
"""

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kafkaesque.cli.output import CommandError, Format, OutputFormat, echo_data
from kafkaesque.cli.schema.connecting import connect
from kafkaesque.cli.schema.names import LATEST, SubjectName, Version, parse_version
from kafkaesque.cli.schema.schema_input import (
    MaybeFile,
    ReferencesOption,
    TypeOption,
    read_schema,
)

if TYPE_CHECKING:
    from kafkaesque.client.registry import RegistryClient, Schema
    from kafkaesque.client.schema_diff import SchemaDiff, Verdict


class Side(NamedTuple):
    label: str
    schema: "Schema"


VersionArgument = Annotated[
    str | None, typer.Argument(metavar="[VERSION]", show_default=False, help="N or latest.")
]


def diff(
    context: typer.Context,
    subject: SubjectName,
    first: VersionArgument = None,
    second: VersionArgument = None,
    file: MaybeFile = None,
    schema_type: TypeOption = None,
    references: ReferencesOption = None,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Show what has changed between two versions, or between one and a file.

    Field by field for Avro and JSON Schema: + is new, - is gone, ~ has changed. Then line by line,
    and at last whether the new one can read what the old one wrote, and the other way round.
    Without versions the last two are compared; with one, that and the latest, or that and the file.

    \b
    Examples:
      kafkaesque schema diff orders-value
      kafkaesque schema diff orders-value 1 3
      kafkaesque schema diff orders-value --file order.avsc
    """
    from kafkaesque.cli.schema.verdicts import verdicts
    from kafkaesque.client.schema_diff import Version as Labelled
    from kafkaesque.client.schema_diff import schema_diff

    if file is not None and second is not None:
        raise typer.BadParameter("with --file one version is enough")
    with connect(context) as registry:
        if file is not None:
            old = _side(registry, subject, parse_version(first or LATEST))
            new = Side(str(file), read_schema(file, schema_type, references or ()))
        else:
            old, new = _two(registry, subject, first, second)
        found = schema_diff(
            *(Labelled(side.label, side.schema.type, side.schema.text) for side in (old, new))
        )
        told = verdicts(registry, old.schema, new.schema)
    if output is Format.TABLE:
        _print(old, new, found, told)
    else:
        echo_data(_data(subject, old, new, found, told), output)


def _two(
    registry: "RegistryClient", subject: str, first: str | None, second: str | None
) -> tuple[Side, Side]:
    if first is not None:
        return (
            _side(registry, subject, parse_version(first)),
            _side(registry, subject, parse_version(second or LATEST)),
        )
    versions = sorted(registry.versions(subject))
    if len(versions) < 2:
        raise CommandError(
            f"{subject} has one version alone: compare it with a file, with --file FILE"
        )
    return _side(registry, subject, versions[-2]), _side(registry, subject, versions[-1])


def _side(registry: "RegistryClient", subject: str, version: Version) -> Side:
    made = registry.version(subject, version)
    return Side(f"{subject} version {made.version}", made.schema)


def _print(old: Side, new: Side, found: "SchemaDiff", told: "list[Verdict]") -> None:
    if not found.lines and old.schema == new.schema:
        typer.echo(f"{old.label} and {new.label} are the same.")
        return
    if found.changes:
        for change in found.changes:
            typer.echo(str(change))
        typer.echo()
    for line in found.lines:
        typer.echo(line)
    if found.lines:
        typer.echo()
    for verdict in told:
        typer.echo(f"{verdict.direction}: {verdict.sentence}")
        for reason in verdict.reasons:
            typer.echo(f"- {reason}")


def _data(
    subject: str, old: Side, new: Side, found: "SchemaDiff", told: "list[Verdict]"
) -> dict[str, object]:
    return {
        "subject": subject,
        "old": old.label,
        "new": new.label,
        "changes": None
        if found.changes is None
        else [{"change": c.kind, "field": c.path, "text": c.text} for c in found.changes],
        "lines": list(found.lines),
        **{
            each.direction: {"compatible": each.is_compatible, "reasons": list(each.reasons)}
            for each in told
        },
    }
