"""`kafkaesque schema …`: the list of commands.

They need the extra [schemas], and load none of it before they ask. Below: a file per command.
"""

import typer

from kafkaesque.cli.schema.check import check
from kafkaesque.cli.schema.connecting import RegistryCommand, RegistryGroup
from kafkaesque.cli.schema.delete import delete
from kafkaesque.cli.schema.diff import diff
from kafkaesque.cli.schema.get import get
from kafkaesque.cli.schema.listing import list_subjects
from kafkaesque.cli.schema.register import register
from kafkaesque.cli.schema.settings import config, mode

app = typer.Typer(
    name="schema",
    cls=RegistryGroup,
    help="Register, compare and look up the schemas of a registry.",
    epilog="Example: kafkaesque schema register orders-value --file order.avsc "
    "&& kafkaesque schema list",
    no_args_is_help=True,
    rich_markup_mode=None,
)

app.command(cls=RegistryCommand)(register)
app.command("list", cls=RegistryCommand)(list_subjects)
app.command(cls=RegistryCommand)(get)
app.command(cls=RegistryCommand)(delete)
app.command(cls=RegistryCommand)(check)
app.command(cls=RegistryCommand)(diff)
app.command(cls=RegistryCommand)(config)
app.command(cls=RegistryCommand)(mode)
