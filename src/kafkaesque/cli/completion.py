"""What the shell asks for at a Tab: names that the cluster knows.

Completion never complains and keeps nobody waiting: a cluster that does not answer within a second
completes nothing. Above: topic/names.py, group/names.py, txn/names.py. Below: connecting.py.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from kafkaesque.cli.connecting import connection
from kafkaesque.client.connection import ClusterError

if TYPE_CHECKING:
    from kafkaesque.client.admin import Admin

PATIENCE_S = 1.0


def complete(
    context: typer.Context, incomplete: str, ask: "Callable[[Admin], Iterable[str]]"
) -> list[str]:
    """The names that `ask` finds and that begin with what has been typed."""
    from kafkaesque.client.admin import Admin

    try:
        names = list(ask(Admin.connect(replace(connection(context), timeout_s=PATIENCE_S))))
    except (ClusterError, typer.BadParameter):
        return []
    return [name for name in names if name.startswith(incomplete)]
