"""The options of `schema` commands, wherever they stand on the line, and the way to a registry.

`kafkaesque schema --registry X list` and `kafkaesque schema list --registry X` are the same, as
with the options of a cluster (cli/connecting.py). A command is given them by `cls=RegistryCommand`,
and goes there with `connect(context)`. What a registry refuses ends the command, in words of
failures.py. Below: cli/registry_options.py.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from kafkaesque.cli.registry_options import (
    LOCAL,
    RegistryCa,
    RegistryPassword,
    RegistryToken,
    RegistryUrl,
    RegistryUser,
    connected,
    registry_address,
)
from kafkaesque.cli.schema.failures import in_our_words

if TYPE_CHECKING:
    from kafkaesque.client.registry import RegistryClient

_META = "kafkaesque.registry"
_RANKS = {"COMMANDLINE": 3, "ENVIRONMENT": 2, "DEFAULT_MAP": 1}
_OPTIONS: dict[str, Any] = {
    "registry": RegistryUrl,
    "registry-user": RegistryUser,
    "registry-password": RegistryPassword,
    "registry-token": RegistryToken,
    "registry-ca": RegistryCa,
}


class RegistryCommand(TyperCommand):
    """A command that asks a registry."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _options()

    def invoke(self, ctx: Any) -> Any:
        with in_our_words():
            return super().invoke(ctx)


class RegistryGroup(TyperGroup):
    """A group of such commands: its options are its commands' too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _options()


def connect(context: typer.Context, timeout_s: float | None = None) -> "RegistryClient":
    """The client that the options ask for. Nothing is asked yet."""
    given = {name: value for name, (_, value) in context.meta[_META].items()}
    ca = given["registry_ca"]
    address = registry_address(
        given["registry"] or LOCAL,
        given["registry_user"],
        given["registry_password"],
        given["registry_token"],
        Path(ca) if ca else None,
    )
    assert address is not None
    timed = replace(address, timeout_s=given["timeout"] if timeout_s is None else timeout_s)
    return connected(timed)


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
    return [*(_option(name, alias) for name, alias in _OPTIONS.items()), _timeout()]


def _option(name: str, alias: Any) -> TyperOption:
    (info,) = alias.__metadata__
    return TyperOption(
        param_decls=[f"--{name}"],
        type=str,
        default=None,
        help=info.help,
        envvar=info.envvar,
        metavar=info.metavar,
        show_default=LOCAL if name == "registry" else False,
        show_envvar=True,
        expose_value=False,
        callback=_remember,
    )


def _timeout() -> TyperOption:
    return TyperOption(
        param_decls=["--timeout"],
        type=float,
        default=10.0,
        help="Seconds to wait for an answer.",
        envvar="KAFKAESQUE_TIMEOUT",
        metavar="SECONDS",
        show_default=True,
        show_envvar=True,
        expose_value=False,
        callback=_remember,
    )
