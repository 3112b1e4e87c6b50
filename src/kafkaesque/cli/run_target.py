"""MODULE:APP on a command line: the App that it names, and what a Tab offers.

Modules are looked for in the working directory first. A file's name will do as well; what it
imports may lie beside it. Above: run.py. Below: client/app/, imported on use.
"""

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from kafkaesque.cli.output import CommandError

if TYPE_CHECKING:
    from kafkaesque.client.app import App

DEFAULT_NAME = "app"
_MADE = re.compile(r"^(\w+)(?:\s*:[^=\n]+)?\s*=\s*(?:\w+\.)*App\(", re.MULTILINE)


def load(target: str) -> "App":
    """Raises CommandError."""
    where, _, name = target.partition(":")
    from kafkaesque.client.app import App, HandlerError

    try:
        module = _module(where)
    except HandlerError as error:
        raise CommandError(f"{where}: {error}") from None
    found = getattr(module, name or DEFAULT_NAME, None)
    if isinstance(found, App):
        return found
    apps = [key for key, value in vars(module).items() if isinstance(value, App)]
    cure = (
        f"run {' or '.join(f'{where}:{key}' for key in apps)}"
        if apps
        else "make one with `from kafkaesque import App; app = App()`"
    )
    what = "nothing" if found is None else "no App"
    raise CommandError(f"{where} has {what} of the name {name or DEFAULT_NAME}: {cure}")


def complete_targets(incomplete: str) -> list[str]:
    """The Apps that files of the working directory, and of directories in it, seem to make."""
    files = [*Path().glob("*.py"), *Path().glob("[!.]*/*.py")]
    names = [
        f"{'.'.join(file.with_suffix('').parts)}:{name}"
        for file in sorted(files)
        for name in _MADE.findall(file.read_text(errors="replace"))
    ]
    return [name for name in names if name.startswith(incomplete)]


def _module(where: str) -> ModuleType:
    path = Path(where)
    if path.suffix == ".py":
        if not path.is_file():
            raise CommandError(f"there is no file {where}: correct the name")
        name, home = path.stem, path.parent
    else:
        name, home = where, Path()
        if not all(part.isidentifier() for part in name.split(".")):
            raise CommandError(f"{where!r} is no module: name one, as in orders:app")
    sys.path.insert(0, str(home.resolve()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # One that the module imports: the traceback shows where.
        raise CommandError(
            f"there is no module {error.name} here or among those that are installed: "
            "name a module as in orders:app, or a file as in orders.py"
        ) from None
