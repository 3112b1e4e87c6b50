"""The options of every command that asks a schema registry: where it is, and how to log in.

A command takes those that it wants as parameters, and makes an address or a client of them:

    def consume(…, registry: RegistryUrl = None, registry_user: RegistryUser = None, …) -> None:
        client = registry_client(registry, registry_user, …)    # None: nobody has named one

Below: client/registry_address.py.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from kafkaesque.cli.output import CommandError
from kafkaesque.client.connection import Connection
from kafkaesque.client.registry_address import RegistryAddress

if TYPE_CHECKING:
    from kafkaesque.client.registry import RegistryClient

LOCAL = "http://127.0.0.1:8081"
_UP_HOSTS = ("127.0.0.1", "localhost", "::1")
_UP_PORTS = (9092, 19092)

RegistryUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--registry",
        envvar="KAFKAESQUE_REGISTRY",
        metavar="URL",
        show_default="none",
        help=f"Schema registry, as in {LOCAL}; several, separated by commas, stand in for "
        "each other.",
    ),
]
RegistryUser: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--registry-user", envvar="KAFKAESQUE_REGISTRY_USER", help="User, for the registry."
    ),
]
RegistryPassword: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--registry-password",
        envvar="KAFKAESQUE_REGISTRY_PASSWORD",
        help="Password, for the registry.",
    ),
]
RegistryToken: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--registry-token",
        envvar="KAFKAESQUE_REGISTRY_TOKEN",
        help="Bearer token, for the registry, in place of a user.",
    ),
]
RegistryCa: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--registry-ca",
        envvar="KAFKAESQUE_REGISTRY_CA",
        metavar="FILE",
        show_default="the system's",
        help="PEM file of the authorities to trust, with an https registry.",
    ),
]


def registry_address(
    url: str | None,
    user: str | None = None,
    password: str | None = None,
    token: str | None = None,
    tls_ca: Path | None = None,
) -> RegistryAddress | None:
    """None if no registry is named. What cannot be one is a usage error."""
    if not url:
        return None
    for each in url.split(","):
        if not each.strip().startswith(("http://", "https://")):
            raise typer.BadParameter(
                f"{each.strip()!r} is no URL: write it as in {LOCAL}", param_hint="--registry"
            )
    if token is not None and user is not None:
        raise typer.BadParameter(
            "give --registry-token or --registry-user, not both", param_hint="--registry-token"
        )
    if password is not None and user is None:
        raise typer.BadParameter(
            "a password needs a user: add --registry-user", param_hint="--registry-password"
        )
    return RegistryAddress(url, user, password, token, tls_ca)


def registry_client(
    url: str | None,
    user: str | None = None,
    password: str | None = None,
    token: str | None = None,
    tls_ca: Path | None = None,
) -> "RegistryClient | None":
    """None if no registry is named. Nothing is asked yet."""
    address = registry_address(url, user, password, token, tls_ca)
    return None if address is None else connected(address)


def registry_beside(cluster: Connection) -> "RegistryClient | None":
    """That of `kafkaesque up`, for a cluster that is where `kafkaesque up` has its broker."""
    is_up = all(host in _UP_HOSTS and port in _UP_PORTS for host, port in cluster.brokers)
    return RegistryAddress(LOCAL).connect() if is_up and find_spec("httpx") else None


def connected(address: RegistryAddress) -> "RegistryClient":
    require_registry_library(address)
    return address.connect()


def require_registry_library(address: RegistryAddress | None) -> None:
    """Say what is not installed before anything else is done."""
    if address is not None and find_spec("httpx") is None:
        raise CommandError(
            "a schema registry needs httpx, which is not installed: "
            "pip install 'kafkaesque-broker[schemas]'"
        )
