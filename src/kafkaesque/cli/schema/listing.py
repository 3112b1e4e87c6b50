"""`kafkaesque schema list`: the subjects. Above: app.py. Below: client/subjects.py."""

from collections.abc import Sequence
from typing import Annotated

import typer

from kafkaesque.cli.output import Format, OutputFormat, echo_data, echo_table
from kafkaesque.cli.schema.connecting import connect
from kafkaesque.cli.schema.names import complete_subjects

HEADS = ("SUBJECT", "VERSIONS", "LATEST-ID", "TYPE", "COMPATIBILITY")


def list_subjects(
    context: typer.Context,
    prefix: Annotated[
        str,
        typer.Argument(metavar="[PREFIX]", show_default=False, autocompletion=complete_subjects),
    ] = "",
    deleted: Annotated[
        bool, typer.Option("--deleted", help="Also what is deleted, but not for good.")
    ] = False,
    output: OutputFormat = Format.TABLE,
) -> None:
    """List subjects: their versions, the latest id, the type, and the compatibility that holds.

    \b
    Examples:
      kafkaesque schema list
      kafkaesque schema list orders-
      kafkaesque schema list --deleted --format json
    """
    from kafkaesque.client.subjects import subjects

    with connect(context) as registry:
        found = subjects(registry, prefix, deleted=deleted)
    if output is Format.TABLE:
        rows = [
            (each.name, _cell(each.versions), each.latest_id, each.schema_type, each.compatibility)
            + ((_cell(each.deleted),) if deleted else ())
            for each in found
        ]
        echo_table((*HEADS, *(["DELETED"] if deleted else [])), rows)
    else:
        told = [
            {
                "subject": each.name,
                "versions": list(each.versions),
                "latest_id": each.latest_id,
                "type": each.schema_type,
                "compatibility": each.compatibility,
                "deleted": list(each.deleted),
            }
            for each in found
        ]
        echo_data(told, output)


def _cell(versions: Sequence[int]) -> str | None:
    return spans(versions) or None


def spans(versions: Sequence[int]) -> str:
    """`1-3,5`: versions that follow each other are written as one."""
    found: list[list[int]] = []
    for version in sorted(versions):
        if found and found[-1][1] == version - 1:
            found[-1][1] = version
        else:
            found.append([version, version])
    return ",".join(f"{low}-{high}" if high > low else str(low) for low, high in found)
