"""Three ways to write the names of types and of custom options in a printed text.

    AsGiven   as the descriptor has them
    Short     as short as the scope allows: what people write
    Full      types with a leading dot, from the outermost scope: the same for all who mean the same

Above: schema.py, printing.py. Below: scopes.py.
"""

from typing import Protocol

from kafkaesque.registry.protobuf.scopes import Names


class Spelling(Protocol):
    def type_name(self, name: str, scope: str) -> str: ...

    def extension_name(self, full_name: str, scope: str) -> str: ...


class AsGiven:
    def type_name(self, name: str, scope: str) -> str:
        return name

    def extension_name(self, full_name: str, scope: str) -> str:
        return "." + full_name


class Short:
    def __init__(self, names: Names) -> None:
        self._names = names

    def type_name(self, name: str, scope: str) -> str:
        return self._names.shortest(name.removeprefix("."), scope)

    def extension_name(self, full_name: str, scope: str) -> str:
        plain = self._names.resolved_extension(full_name, scope) == full_name
        return full_name if plain else "." + full_name


class Full(Short):
    def type_name(self, name: str, scope: str) -> str:
        return name
