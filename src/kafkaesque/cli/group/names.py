"""Names of groups on the command line, and their completion by asking the cluster.

Above: app.py, seek.py, cluster/offsets.py. Below: completion.py.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from kafkaesque.cli.completion import complete

if TYPE_CHECKING:
    from kafkaesque.client.admin import Admin


def complete_groups(context: typer.Context, incomplete: str) -> list[str]:
    return complete(context, incomplete, _names)


def _names(admin: "Admin") -> Iterable[str]:
    from kafkaesque.client.groups import Groups

    return (group.name for group in Groups(admin).list())


GroupName: TypeAlias = Annotated[
    str, typer.Argument(metavar="NAME", show_default=False, autocompletion=complete_groups)
]
GroupNames: TypeAlias = Annotated[
    list[str], typer.Argument(metavar="NAME", show_default=False, autocompletion=complete_groups)
]
