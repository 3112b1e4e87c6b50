"""`kafkaesque.toml`: defaults for options, in the working directory or where --config says.

    brokers = "127.0.0.1:19092"     # for every command: KAFKAESQUE_BROKERS in lower case
    [broker]
    data-dir = "/var/lib/kafkaesque"
    [topic.consume]                 # [topic] concerns every command of that group
    offset = "-10"

A key above all tables is an environment variable without KAFKAESQUE_; it concerns every command
that has it. A table is a command, and has that command's options. The command line wins over the
environment, and that over the file. A key that means nothing is an error, not a silence.
Above: main.py, which puts the result into the context as its `default_map`.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kafkaesque.cli.output import CommandError

DEFAULT_FILE = Path("kafkaesque.toml")
_PREFIX = "KAFKAESQUE_"


def read_settings(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise CommandError(
            f"cannot read {path} ({error.strerror}): correct --config or KAFKAESQUE_CONFIG"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} is not TOML ({error}): correct it") from None


def defaults(root: Any, settings: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """What the settings mean to all commands: a `default_map`. Raises CommandError."""
    shared, tables = {}, {}
    for key, value in settings.items():
        if isinstance(value, dict) and key in _commands(root):
            tables[key] = value
        else:
            shared[_variable(key)] = value
    known = set(_variables(root))
    for variable in shared:
        if variable not in known:
            raise CommandError(_no_key(path, "above its tables", _key(variable), map(_key, known)))
    return _defaults(root, shared, tables, path, "")


def _defaults(
    command: Any, shared: Mapping[str, Any], table: Mapping[str, Any], path: Path, name: str
) -> dict[str, Any]:
    found = {
        option.name: _value(option, shared[variable])
        for option in _options(command)
        for variable in _variables_of(option)
        if variable in shared
    }
    own = {_spelling(option): option for option in _options(command)}
    below = _commands(command)
    for key, value in table.items():
        if isinstance(value, dict) and key in below:
            continue
        if key.replace("_", "-") not in own:
            raise CommandError(_no_key(path, f"in [{name}]", key, [*own, *below]))
        option = own[key.replace("_", "-")]
        found[option.name] = _value(option, value)
        shared = {**shared, **dict.fromkeys(_variables_of(option), value)}
    for key, subcommand in below.items():
        subname = f"{name}.{key}" if name else key
        found[key] = _defaults(subcommand, shared, table.get(key, {}), path, subname)
    return found


def _value(option: Any, value: Any) -> Any:
    return [value] if option.multiple and not isinstance(value, list) else value


def _no_key(path: Path, where: str, key: str, known: "Iterator[str] | list[str]") -> str:
    return f"{path} has an unknown key {key!r} {where}: there are {', '.join(sorted(known))}"


def _commands(command: Any) -> dict[str, Any]:
    return getattr(command, "commands", {})


def _options(command: Any) -> list[Any]:
    return [
        parameter
        for parameter in command.params
        if parameter.param_type_name == "option" and not parameter.is_eager
    ]


def _variables(command: Any) -> Iterator[str]:
    for option in _options(command):
        yield from _variables_of(option)
    for subcommand in _commands(command).values():
        yield from _variables(subcommand)


def _variables_of(option: Any) -> list[str]:
    return [option.envvar] if isinstance(option.envvar, str) else list(option.envvar or ())


def _spelling(option: Any) -> str:
    """The long name, without its dashes."""
    spelling: str = max(option.opts, key=len)
    return spelling.lstrip("-")


def _variable(key: str) -> str:
    return _PREFIX + key.upper().replace("-", "_")


def _key(variable: str) -> str:
    return variable.removeprefix(_PREFIX).lower().replace("_", "-")
