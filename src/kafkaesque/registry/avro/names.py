"""Avro's names: a simple name after an optional namespace, `shop.eu.Tick`.

Letters may be of any script, as Java takes them; the namespace of a type without one is that of the
type around it. A leading dot (`.Tick`) says that there is no namespace.
Above: parse.py, canonical.py, resolution.py. Below: nodes.py.
"""

from kafkaesque.registry.avro.nodes import PRIMITIVES
from kafkaesque.registry.schema_text import InvalidSchemaError


def checked(name: str, what: str, path: str) -> str:
    """The name, if it is a legal simple one."""
    if name.isascii() and name.isidentifier():
        return name
    if name and not (name[0].isalpha() or name[0] == "_"):
        cause = "it must start with a letter or an underscore"
    elif not all(letter.isalpha() or letter.isdecimal() or letter == "_" for letter in name):
        cause = "only letters, digits and underscores may be in it"
    elif not name:
        cause = "it is empty"
    else:
        return name
    raise InvalidSchemaError(f'"{shortened(name)}" is no legal {what}: {cause}, at {path}')


def full_name(name: str, namespace: str, what: str, path: str) -> str:
    """The legal full name: a name with a dot says its namespace itself."""
    space, dot, simple = name.rpartition(".")
    if not dot:
        space = namespace
    checked(simple, what, path)
    if space:
        for part in space.split("."):
            checked(part, "part of a namespace", path)
    elif simple in PRIMITIVES:
        raise InvalidSchemaError(
            f'"{simple}" is no legal {what}: it is a primitive type; give it a namespace, at {path}'
        )
    return f"{space}.{simple}" if space else simple


def split(full: str) -> tuple[str, str]:
    """Namespace and simple name."""
    space, _, simple = full.rpartition(".")
    return space, simple


def relative(full: str, namespace: str) -> str:
    """As short as it may be written where `namespace` is in force."""
    space, simple = split(full)
    if space == namespace and simple not in PRIMITIVES:
        return simple
    return full


def as_alias(full: str, namespace: str) -> str:
    """The alias as a type in `namespace` must write it."""
    # Java leaves the dot out when it prints, and then reads another name than it wrote.
    return f".{full}" if namespace and "." not in full else relative(full, namespace)


def shortened(text: str, most: int = 80) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
