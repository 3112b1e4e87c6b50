"""`kafkaesque schema delete`: a subject or one version of it, softly or for good.

A registry deletes for good only what is deleted already: `--permanent` does both, one after the
other. Above: app.py. Below: cli/confirming.py, client/registry.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from kafkaesque.cli.confirming import NoConfirm, require_terminal, require_yes
from kafkaesque.cli.output import Format, OutputFormat, echo_data, echo_table
from kafkaesque.cli.schema.connecting import connect
from kafkaesque.cli.schema.listing import spans
from kafkaesque.cli.schema.names import SubjectName, Version, parse_version

if TYPE_CHECKING:
    from kafkaesque.client.registry import RegistryClient


def delete(
    context: typer.Context,
    subject: SubjectName,
    version: Annotated[
        str | None,
        typer.Option(metavar="N|latest", show_default="all", help="Only this version."),
    ] = None,
    permanent: Annotated[
        bool,
        typer.Option(
            "--permanent", help="For good: records that were written with it become unreadable."
        ),
    ] = False,
    no_confirm: NoConfirm = False,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Delete a subject, or one version of it.

    What is deleted can still be read by its id, so that old records stay readable, and comes back
    when it is registered again. With --permanent it is gone. You are shown it, and asked, before.

    \b
    Examples:
      kafkaesque schema delete orders-value
      kafkaesque schema delete orders-value --version 2
      kafkaesque schema delete orders-value --permanent --no-confirm
    """
    which = None if version is None else parse_version(version)
    with connect(context) as registry:
        chosen = _chosen(registry, subject, which, permanent)
        if not no_confirm:
            _confirm(subject, chosen, permanent)
        _delete(registry, subject, None if which is None else chosen[0], permanent)
    if output is Format.TABLE:
        status = "OK: gone for good" if permanent else "OK: deleted"
        echo_table(("SUBJECT", "VERSION", "STATUS"), [(subject, each, status) for each in chosen])
    else:
        echo_data({"subject": subject, "versions": chosen, "permanent": permanent}, output)


def _chosen(
    registry: "RegistryClient", subject: str, which: Version | None, permanent: bool
) -> list[int]:
    if which is None:
        return registry.versions(subject, deleted=permanent)
    return [registry.version(subject, which, deleted=permanent).version]


def _confirm(subject: str, versions: list[int], permanent: bool) -> None:
    require_terminal("deleting a schema")
    noun = "version" if len(versions) == 1 else "versions"
    typer.echo(f"{subject}: {noun} {spans(versions)}")
    question = "Delete for good, so that records written with it cannot be read?"
    require_yes(question if permanent else "Delete?", "Nothing is deleted.")


def _delete(registry: "RegistryClient", subject: str, version: int | None, permanent: bool) -> None:
    if version is None:
        _in_turn(lambda final: registry.delete_subject(subject, permanent=final), permanent)
    else:
        _in_turn(
            lambda final: registry.delete_version(subject, version, permanent=final), permanent
        )


def _in_turn(delete: Callable[[bool], object], permanent: bool) -> None:
    from kafkaesque.client.registry import RegistryError

    try:
        delete(False)
    except RegistryError as error:
        # It was softly deleted before.
        if not (permanent and error.is_unknown):
            raise
    if permanent:
        delete(True)
