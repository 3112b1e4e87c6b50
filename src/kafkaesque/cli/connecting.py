"""The options of every command that talks to a cluster, wherever they stand on the line.

As with rpk, `kafkaesque topic --brokers X list` and `kafkaesque topic list --brokers X` mean the
same; what stands nearest to the command wins, then what stands before it, then the environment.
Then comes the settings file. A command is given them by `cls=ClusterCommand`, its group by
`cls=ClusterGroup`, and reads them with `connection(context)`, or goes there at once with
`connect(context)`.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from kafkaesque.cli.options import parse_brokers
from kafkaesque.client.connection import Connection

if TYPE_CHECKING:
    from kafkaesque.client.admin import Admin

LOCAL = "127.0.0.1:9092"
SASL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

_META = "kafkaesque.connection"
_FIELDS = {"timeout": "timeout_s", "tls_insecure": "tls_verify"}
_RANKS = {"COMMANDLINE": 3, "ENVIRONMENT": 2, "DEFAULT_MAP": 1}
_MIN_TIMEOUT_S = 0.001
_MAX_TIMEOUT_S = 3600.0


class ClusterCommand(TyperCommand):
    """A command that talks to a cluster."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _options()


class ClusterGroup(TyperGroup):
    """A group of such commands: its options are its commands' too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _options()


def cluster_commands(name: str, help_text: str, example: str) -> typer.Typer:
    """A group of commands that talk to a cluster."""
    return typer.Typer(
        name=name,
        cls=ClusterGroup,
        help=help_text,
        epilog=f"Example: {example}",
        no_args_is_help=True,
        rich_markup_mode=None,
    )


def connection(context: typer.Context) -> Connection:
    given = {name: value for name, (_, value) in context.meta[_META].items()}
    return Connection(
        brokers=tuple(parse_brokers(given["brokers"])),
        user=given["user"],
        password=given["password"],
        sasl_mechanism=_mechanism(given["sasl_mechanism"]),
        enable_tls=given["enable_tls"],
        timeout_s=_timeout(given["timeout"]),
        tls_ca=Path(given["tls_ca"]) if given["tls_ca"] else None,
        tls_verify=not given["tls_insecure"],
    )


def adjusted(context: typer.Context, own: Connection) -> Connection:
    """A program's own connection, but for what is said on the line, in the environment or file."""
    asked = connection(context)
    said = [_FIELDS.get(name, name) for name, (rank, _) in context.meta[_META].items() if rank]
    return replace(own, **{field: getattr(asked, field) for field in said})


def connect(context: typer.Context) -> "Admin":
    from kafkaesque.client.admin import Admin

    return Admin.connect(connection(context))


def _mechanism(text: str) -> str:
    if text.upper() not in SASL_MECHANISMS:
        known = ", ".join(SASL_MECHANISMS)
        raise typer.BadParameter(f"{text!r} is none of {known}", param_hint="--sasl-mechanism")
    return text.upper()


def _timeout(seconds: float) -> float:
    if not _MIN_TIMEOUT_S <= seconds <= _MAX_TIMEOUT_S:
        limits = f"{_MIN_TIMEOUT_S:g} to {_MAX_TIMEOUT_S:g}"
        raise typer.BadParameter(f"{seconds:g} is not in {limits} seconds", param_hint="--timeout")
    return seconds


def _remember(context: typer.Context, parameter: Any, value: Any) -> Any:
    """Groups are asked before their commands: of two that rank the same the nearer one wins."""
    given = context.meta.setdefault(_META, {})
    source = context.get_parameter_source(parameter.name)
    rank = _RANKS.get(source.name if source else "", 0)
    if parameter.name not in given or rank >= max(given[parameter.name][0], 1):
        given[parameter.name] = rank, value
    return value


def _options() -> list[TyperOption]:
    # Made anew for each command: an option belongs to one.
    return [
        _option(
            ["--brokers", "-b"],
            str,
            LOCAL,
            "Brokers to ask.",
            envvar="KAFKAESQUE_BROKERS",
            metavar="HOST:PORT,...",
        ),
        _option(["--user"], str, None, "User, for SASL.", envvar="KAFKAESQUE_USER"),
        _option(["--password"], str, None, "Password, for SASL.", envvar="KAFKAESQUE_PASSWORD"),
        _option(
            ["--sasl-mechanism"],
            str,
            "SCRAM-SHA-256",
            "How to log in as --user: " + ", ".join(SASL_MECHANISMS) + ".",
            envvar="KAFKAESQUE_SASL_MECHANISM",
        ),
        _option(
            ["--enable-tls"],
            bool,
            False,
            "Connect with TLS.",
            is_flag=True,
            envvar="KAFKAESQUE_ENABLE_TLS",
        ),
        _option(
            ["--tls-ca"],
            str,
            None,
            "PEM file of the authorities to trust, with TLS.",
            envvar="KAFKAESQUE_TLS_CA",
            metavar="FILE",
        ),
        _option(
            ["--tls-insecure"],
            bool,
            False,
            "Take any certificate, with TLS: whoever shows it.",
            is_flag=True,
            envvar="KAFKAESQUE_TLS_INSECURE",
        ),
        _option(
            ["--timeout"],
            float,
            10.0,
            "Seconds to wait for an answer.",
            envvar="KAFKAESQUE_TIMEOUT",
            metavar="SECONDS",
        ),
    ]


def _option(names: list[str], kind: type, default: Any, text: str, **more: Any) -> TyperOption:
    return TyperOption(
        param_decls=names,
        type=kind,
        default=default,
        help=text,
        expose_value=False,
        callback=_remember,
        show_default=default is not None and kind is not bool,
        show_envvar="envvar" in more,
        **more,
    )
