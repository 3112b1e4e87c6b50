"""`kafkaesque schema mode` and `kafkaesque schema config`: what a registry, or a subject, allows.

Both show what holds, and set it or take it away. Above: app.py. Below: client/registry.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kafkaesque.cli.output import Format, OutputFormat, echo_data, echo_table
from kafkaesque.cli.schema.connecting import connect
from kafkaesque.cli.schema.names import MaybeSubject

if TYPE_CHECKING:
    from kafkaesque.client.registry import RegistryClient

GLOBAL = "(global)"
NOT_SET = (40408, 40409)
"""The subject has no level, or no mode, of its own."""


class Level(StrEnum):
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"
    NONE = "NONE"


class Mode(StrEnum):
    READWRITE = "READWRITE"
    READONLY = "READONLY"
    READONLY_OVERRIDE = "READONLY_OVERRIDE"
    IMPORT = "IMPORT"
    FORWARD = "FORWARD"


Unset = Annotated[
    bool, typer.Option("--unset", help="Take the subject's own away: the global one holds again.")
]


def config(
    context: typer.Context,
    subject: MaybeSubject = None,
    level: Annotated[
        Level | None,
        typer.Option(
            "--set", metavar="LEVEL", case_sensitive=False, show_default=False, help="Set it."
        ),
    ] = None,
    unset: Unset = False,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Show or set the compatibility level: of a subject, or the global one.

    It says which schemas may become the next version.

    \b
    BACKWARD             the new one reads what the last one wrote: upgrade readers first
    BACKWARD_TRANSITIVE  the new one reads what any before it wrote
    FORWARD              the last one reads what the new one writes: upgrade writers first
    FORWARD_TRANSITIVE   any before it reads what the new one writes
    FULL                 both, with the last one: upgrade in any order
    FULL_TRANSITIVE      both, with all before it
    NONE                 anything may come

    \b
    Examples:
      kafkaesque schema config
      kafkaesque schema config orders-value --set FULL
      kafkaesque schema config orders-value --unset
    """
    from kafkaesque.client.subjects import level as level_in

    _refuse_both(level, unset)
    with connect(context) as registry:
        if level is not None:
            registry.set_config(subject, compatibility=level.value)
        elif unset:
            _unset(lambda: registry.delete_config(subject))
        told = _told(
            subject,
            "compatibility",
            lambda own: level_in(registry.config(subject, default_to_global=not own)),
        )
    _report(told, "compatibility", output)


def mode(
    context: typer.Context,
    subject: MaybeSubject = None,
    chosen: Annotated[
        Mode | None,
        typer.Option(
            "--set", metavar="MODE", case_sensitive=False, show_default=False, help="Set it."
        ),
    ] = None,
    unset: Unset = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="With IMPORT: even though there are schemas already."),
    ] = False,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Show or set the mode: of a subject, or the global one.

    It says what may be changed.

    \b
    READWRITE          schemas may be registered and deleted
    READONLY           nothing may be changed
    READONLY_OVERRIDE  nothing may be changed, whatever subjects say of themselves
    IMPORT             schemas come with their ids and versions, from another registry
    FORWARD            changes are for another registry, which this one asks

    \b
    Examples:
      kafkaesque schema mode
      kafkaesque schema mode --set READONLY
      kafkaesque schema mode orders-value --unset
    """
    _refuse_both(chosen, unset)
    if unset and subject is None:
        raise typer.BadParameter("the global mode is always set: give a SUBJECT, or use --set")
    with connect(context) as registry:
        if chosen is not None:
            registry.set_mode(subject, chosen.value, force=force)
        elif unset:
            _unset(lambda: _delete_mode(registry, subject))
        told = _told(subject, "mode", lambda own: registry.mode(subject, default_to_global=not own))
    _report(told, "mode", output)


def _refuse_both(value: object, unset: bool) -> None:
    if value is not None and unset:
        raise typer.BadParameter("give --set or --unset, not both")


def _delete_mode(registry: "RegistryClient", subject: str | None) -> object:
    assert subject is not None
    return registry.delete_mode(subject)


def _unset(take_away: Callable[[], object]) -> None:
    """What is not there need not be taken away."""
    from kafkaesque.client.registry import RegistryError

    try:
        take_away()
    except RegistryError as error:
        if not error.is_unknown:
            raise


def _told(subject: str | None, noun: str, ask: Callable[[bool], str]) -> dict[str, object]:
    """`ask(True)` is the subject's own value, if it has one."""
    from kafkaesque.client.registry import RegistryError

    if subject is None:
        return {"subject": None, noun: ask(False), "source": "global"}
    try:
        return {"subject": subject, noun: ask(True), "source": "subject"}
    except RegistryError as error:
        if error.code not in NOT_SET:
            raise
    return {"subject": subject, noun: ask(False), "source": "global"}


def _report(told: dict[str, object], noun: str, output: Format) -> None:
    if output is Format.TABLE:
        row = (told["subject"] or GLOBAL, told[noun], told["source"])
        echo_table(("SUBJECT", noun.upper(), "SOURCE"), [row])
    else:
        echo_data(told, output)
