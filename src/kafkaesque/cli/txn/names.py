"""Transactional ids on the command line, and their completion by asking the cluster.

Above: app.py, abort.py. Below: completion.py.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from kafkaesque.cli.completion import complete
from kafkaesque.client.transaction import ONGOING

if TYPE_CHECKING:
    from kafkaesque.client.admin import Admin


def complete_ids(context: typer.Context, incomplete: str) -> list[str]:
    return complete(context, incomplete, lambda admin: _ids(admin, ()))


def complete_ongoing(context: typer.Context, incomplete: str) -> list[str]:
    """Only of those there is something to abort."""
    return complete(context, incomplete, lambda admin: _ids(admin, (ONGOING,)))


def _ids(admin: "Admin", states: tuple[str, ...]) -> Iterable[str]:
    from kafkaesque.client.transactions import Transactions

    return (each.transactional_id for each in Transactions.of(admin).list(states))


TransactionalIds: TypeAlias = Annotated[
    list[str], typer.Argument(metavar="TXN_ID...", show_default=False, autocompletion=complete_ids)
]
OngoingIds: TypeAlias = Annotated[
    list[str],
    typer.Argument(metavar="TXN_ID...", show_default=False, autocompletion=complete_ongoing),
]
