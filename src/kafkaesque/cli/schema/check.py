"""`kafkaesque schema check`: whether a schema may become a subject's next version, and why not.

Exit code 1 if it may not. Above: app.py. Below: schema_input.py, client/registry.
"""

from typing import Annotated

import typer

from kafkaesque.cli.output import Format, OutputFormat, echo_data
from kafkaesque.cli.schema.connecting import connect
from kafkaesque.cli.schema.names import LATEST, SubjectName, parse_version
from kafkaesque.cli.schema.schema_input import (
    ReferencesOption,
    SchemaFile,
    TypeOption,
    read_schema,
)

_PLACES: dict[object, str] = {None: "the versions", LATEST: "the latest version"}


def check(
    context: typer.Context,
    subject: SubjectName,
    file: SchemaFile,
    schema_type: TypeOption = None,
    references: ReferencesOption = None,
    version: Annotated[
        str | None,
        typer.Option(metavar="N|latest", show_default=LATEST, help="Compare with this version."),
    ] = None,
    every: Annotated[
        bool,
        typer.Option("--all", help="Compare with all versions that the subject's level speaks of."),
    ] = False,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Check whether a schema is compatible with a subject, as the subject's level demands.

    Nothing is registered. Every reason against it is printed, and the exit code is then 1.

    \b
    Examples:
      kafkaesque schema check orders-value --file order.avsc
      kafkaesque schema check orders-value --file order.avsc --version 2
      kafkaesque schema check orders-value --file order.avsc --all --format json
    """
    if every and version is not None:
        raise typer.BadParameter("give --version or --all, not both")
    which = None if every else parse_version(version or LATEST)
    schema = read_schema(file, schema_type, references or ())
    from kafkaesque.client.subjects import level

    with connect(context) as registry:
        reasons = registry.check(subject, schema, which)
        held = level(registry.config(subject))
    if output is Format.TABLE:
        place = _PLACES.get(which, f"version {which}")
        verdict = "NOT compatible" if reasons else "Compatible"
        typer.echo(f"{verdict} with {place} of {subject} ({held})")
        for reason in reasons:
            typer.echo(f"- {reason}")
    else:
        told = {"subject": subject, "version": which, "level": held}
        echo_data(told | {"compatible": not reasons, "reasons": reasons}, output)
    if reasons:
        raise typer.Exit(1)
