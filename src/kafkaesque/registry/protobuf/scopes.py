"""Which declaration a name means, by protobuf's scoping.

A file sees its own names, those of its imports, and those of the files that these import publicly.
A name with a leading dot is full. Any other is looked for from the innermost scope outwards, by its
FIRST part: once a scope has that part as something with members, the rest must be there too, and no
outer scope is asked any more.

Above: resolving.py, printing.py. Below: walking.py.
"""

from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FileDescriptorProto

from kafkaesque.registry.protobuf.walking import enums, inside, messages
from kafkaesque.registry.schema_text import InvalidSchemaError


class Kind(Enum):
    PACKAGE = auto()
    MESSAGE = auto()
    ENUM = auto()
    SERVICE = auto()
    EXTENSION = auto()
    OTHER = auto()


_TYPES = frozenset({Kind.MESSAGE, Kind.ENUM})
_WITH_MEMBERS = frozenset({Kind.PACKAGE, Kind.MESSAGE, Kind.ENUM, Kind.SERVICE})


class Declaration(NamedTuple):
    full_name: str
    kind: Kind


def packages(package: str) -> Iterator[str]:
    """`a.b.c` opens three scopes: a, a.b and a.b.c."""
    parts = package.split(".") if package else []
    for length in range(1, len(parts) + 1):
        yield ".".join(parts[:length])


def declarations(file: FileDescriptorProto) -> Iterator[Declaration]:
    """All that a file declares, in its order; a name twice if it is declared twice."""
    for message in file.message_type:
        yield from _of_message(file.package, message)
    for enum in file.enum_type:
        yield from _of_enum(file.package, enum)
    for extension in file.extension:
        yield Declaration(inside(file.package, extension.name), Kind.EXTENSION)
    for service in file.service:
        full_name = inside(file.package, service.name)
        yield Declaration(full_name, Kind.SERVICE)
        for method in service.method:
            yield Declaration(inside(full_name, method.name), Kind.OTHER)


def _of_message(scope: str, message: DescriptorProto) -> Iterator[Declaration]:
    full_name = inside(scope, message.name)
    yield Declaration(full_name, Kind.MESSAGE)
    for field in message.field:
        yield Declaration(inside(full_name, field.name), Kind.OTHER)
    for oneof in message.oneof_decl:
        yield Declaration(inside(full_name, oneof.name), Kind.OTHER)
    for nested in message.nested_type:
        yield from _of_message(full_name, nested)
    for enum in message.enum_type:
        yield from _of_enum(full_name, enum)
    for extension in message.extension:
        yield Declaration(inside(full_name, extension.name), Kind.EXTENSION)


def _of_enum(scope: str, enum: EnumDescriptorProto) -> Iterator[Declaration]:
    yield Declaration(inside(scope, enum.name), Kind.ENUM)
    # As in C, the values stand beside their enum, not inside it.
    for value in enum.value:
        yield Declaration(inside(scope, value.name), Kind.OTHER)


class Table:
    """All that a file and its imports declare, seen or not: a full name means one thing in them."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[Kind, str]] = {}
        """Full names to what they are and which file declares them."""
        self.packages: dict[str, set[str]] = {}
        self.enums: dict[str, set[str]] = {}
        self.extension_ranges: dict[str, list[tuple[int, int]]] = {}

    def add(self, file: FileDescriptorProto) -> None:
        for full_name, kind in declarations(file):
            _, other = self.files.setdefault(full_name, (kind, file.name))
            if other != file.name:
                raise InvalidSchemaError(
                    f'"{full_name}" is declared by the imported "{other[:200]}" already'
                )
        for package in packages(file.package):
            self.packages.setdefault(package, set()).add(file.name)
        for full_name, enum in enums(file):
            self.enums[full_name] = {value.name for value in enum.value}
        for full_name, message in messages(file, file.package):
            self.extension_ranges[full_name] = sorted(
                (offered.start, offered.end) for offered in message.extension_range
            )


class Names:
    """The names that one file can use: those of the files that it sees."""

    def __init__(self, table: Table, visible: frozenset[str]) -> None:
        self._table = table
        self._visible = visible

    def kind(self, full_name: str) -> Kind | None:
        kind, file = self._table.files.get(full_name, (None, ""))
        if file in self._visible:
            return kind
        packages_of = self._table.packages.get(full_name)
        if packages_of is None or packages_of.isdisjoint(self._visible):
            return None
        return Kind.PACKAGE

    def resolved_type(self, name: str, scope: str) -> str | None:
        return self._resolved(name, scope, _TYPES)

    def resolved_extension(self, name: str, scope: str) -> str | None:
        return self._resolved(name, scope, frozenset({Kind.EXTENSION}))

    def shortest(self, full_name: str, scope: str) -> str:
        """The shortest way to write a type from inside a scope."""
        for outer in _outwards(scope):
            if full_name.startswith(outer + "." if outer else ""):
                short = full_name[len(outer) + 1 if outer else 0 :]
                if self.resolved_type(short, scope) == full_name:
                    return short
        return "." + full_name

    def _resolved(self, name: str, scope: str, wanted: frozenset[Kind]) -> str | None:
        if name.startswith("."):
            return name[1:] if self.kind(name[1:]) in wanted else None
        first = name.partition(".")[0]
        for outer in _outwards(scope):
            kind = self.kind(inside(outer, first))
            if kind is None:
                continue
            found = inside(outer, name)
            if first == name:
                if kind in wanted:
                    return found
            elif kind in _WITH_MEMBERS:
                return found if self.kind(found) in wanted else None
        return None


def _outwards(scope: str) -> Iterator[str]:
    while scope:
        yield scope
        scope = scope.rpartition(".")[0]
    yield ""
