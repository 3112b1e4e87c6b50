"""Avro's rules of schema resolution for one pair of nodes, without looking further down.

`step(reader, writer)` says what is wrong with the pair itself, which pairs below must fit, and
where the reader has a choice of branches. The rules are those of Apache Avro 1.12 for Java:

    types      the same, or promoted: int → long → float → double, string ↔ bytes
    names      the last part of the full names is equal, or the writer's full name is an alias
    record     each field of the reader is in the writer, by name or alias, or has a default
    enum       the reader has all symbols of the writer, or a default of its own
    fixed      the same size
    union      the reader reads each branch of the writer; one branch of the reader is enough

Logical types do not count: nobody checks the scale of a decimal. Like Java, a field of an enum type
that is missing in the writer is a TYPE_MISMATCH if that enum has a default: it stands in for
unknown symbols, not for the field. A field that fits several fields of the writer, by its aliases,
makes Java fail; here it is a NAME_MISMATCH.
Above: compatibility.py. Below: nodes.py.
"""

from typing import NamedTuple

from kafkaesque.registry.avro.names import as_alias, shortened, split
from kafkaesque.registry.avro.nodes import (
    NO_DEFAULT,
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    Node,
    Record,
    Union,
    described,
)

PROMOTIONS = {
    "long": ("int",),
    "float": ("int", "long"),
    "double": ("int", "long", "float"),
    "bytes": ("string",),
    "string": ("bytes",),
}
_SHOWN = 10


class Problem(NamedTuple):
    """`steps` lead from the pair to the part that is meant; `said` follows what to call it."""

    kind: str
    steps: tuple[str, ...]
    said: str
    place: str | None = None


class Below(NamedTuple):
    """A pair further down that must fit; `place` is what to call it, {} the place of this one."""

    steps: tuple[str, ...]
    place: str
    reader: Node
    writer: Node


class Choice(NamedTuple):
    """What was written as `writer` must be read by one of the branches."""

    steps: tuple[str, ...]
    reader: Union
    writer: Node


class Step(NamedTuple):
    problems: list[Problem]
    below: list[Below]
    choices: list[Choice]


def step(reader: Node, writer: Node) -> Step:
    if isinstance(reader, Union):
        if isinstance(writer, Union):
            return Step([], [], _choices(reader, writer))
        return Step([], [], [Choice((), reader, writer)])
    if isinstance(writer, Union):
        return Step([], _branches(reader, writer), [])
    match reader, writer:
        case Array(), Array():
            return _one_below("items", reader.items, writer.items)
        case Map(), Map():
            return _one_below("values", reader.values, writer.values)
        case Record(), Record():
            return _records(reader, writer)
        case Enum(), Enum():
            return Step(_names(reader, writer) + _symbols(reader, writer), [], [])
        case Fixed(), Fixed():
            return Step(_names(reader, writer) + _sizes(reader, writer), [], [])
        case _:
            return Step(_types(reader, writer), [], [])


def may_fit(reader: Node, writer: Node) -> bool:
    """A quick look, for choices: types and names only."""
    if isinstance(reader, Union) or isinstance(writer, Union):
        return True
    if isinstance(reader, Record | Enum | Fixed) and isinstance(writer, Record | Enum | Fixed):
        return reader.type == writer.type and not _names(reader, writer)
    return not _types(reader, writer)


def _choices(reader: Union, writer: Union) -> list[Choice]:
    return [Choice((str(at),), reader, branch) for at, branch in enumerate(writer.branches)]


def _branches(reader: Node, writer: Union) -> list[Below]:
    return [
        Below((str(at),), f"branch {at} of {{}}", reader, branch)
        for at, branch in enumerate(writer.branches)
    ]


def _one_below(word: str, reader: Node, writer: Node) -> Step:
    return Step([], [Below((word,), f"the {word} of {{}}", reader, writer)], [])


def _types(reader: Node, writer: Node) -> list[Problem]:
    if reader.type == writer.type or writer.type in PROMOTIONS.get(reader.type, ()):
        return []
    said = (
        f"is {described(reader)} in the reader, which cannot read the {described(writer)} written"
    )
    return [Problem("TYPE_MISMATCH", (), said)]


def _names(reader: Record | Enum | Fixed, writer: Record | Enum | Fixed) -> list[Problem]:
    if split(reader.name)[1] == split(writer.name)[1] or writer.name in reader.aliases:
        return []
    alias = as_alias(writer.name, split(reader.name)[0])
    said = (
        f"is {described(reader)} in the reader but was written as {described(writer)}:"
        f' add the alias "{alias}" to the reader, or take the old name'
    )
    return [Problem("NAME_MISMATCH", ("name",), said)]


def _symbols(reader: Enum, writer: Enum) -> list[Problem]:
    missing = [symbol for symbol in writer.symbols if symbol not in reader.symbols]
    if not missing or reader.default is not None:
        return []
    names = shortened(", ".join(missing[:_SHOWN]), 200) + (", …" if len(missing) > _SHOWN else "")
    said = (
        f"may hold {names}, which {described(reader)} of the reader lacks:"
        " add them, or give the enum a default"
    )
    return [Problem("MISSING_ENUM_SYMBOLS", ("symbols",), said)]


def _sizes(reader: Fixed, writer: Fixed) -> list[Problem]:
    if reader.size == writer.size:
        return []
    said = (
        f"has {reader.size} bytes in the reader ({reader.name}) but was written with {writer.size}"
    )
    return [Problem("FIXED_SIZE_MISMATCH", ("size",), said)]


def _records(reader: Record, writer: Record) -> Step:
    found = Step(_names(reader, writer), [], [])
    for at, field in enumerate(reader.fields.values()):
        steps = ("fields", str(at))
        place = f'field "{field.name}" of {split(reader.name)[1]}'
        sources = _sources(field, writer)
        if len(sources) > 1:
            names = ", ".join(f'"{source.name}"' for source in sources[:_SHOWN])
            said = f"matches several fields that were written, {names}: take the aliases out"
            found.problems.append(Problem("NAME_MISMATCH", steps, said, place))
        elif sources:
            found.below.append(Below((*steps, "type"), place, field.node, sources[0].node))
        elif field.default is NO_DEFAULT:
            found.problems.append(_missing(field, steps, place))
    return found


def _sources(field: Field, writer: Record) -> list[Field]:
    """The fields of the writer that the reader's field may be read from."""
    names = dict.fromkeys((field.name, *field.aliases))
    return [writer.fields[name] for name in names if name in writer.fields]


def _missing(field: Field, steps: tuple[str, ...], place: str) -> Problem:
    said = "is new in the reader and has no default: records written without it cannot be read"
    if isinstance(field.node, Enum) and field.node.default is not None:
        said += f" (the default of {field.node.name} stands for unknown symbols only)"
        return Problem("TYPE_MISMATCH", (*steps, "type"), said, place)
    return Problem("READER_FIELD_MISSING_DEFAULT_VALUE", steps, said, place)
