"""The seven levels of compatibility, groups of versions, and graphs of references."""

import json
from collections.abc import Iterable
from contextlib import suppress

import pytest
from tests.registry_clients import avro

from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.changes import ConfigSet, VersionSet
from kafkaesque.registry.compatibility import Level, level_named, reasons
from kafkaesque.registry.entries import Reference, Schema, Version
from kafkaesque.registry.parsing import MAX_REFERENCES, formatted, parsed
from kafkaesque.registry.problems import ProblemError
from kafkaesque.registry.schema_text import SchemaType

OLD = avro("a:int")
MIDDLE = avro("a:int", "b:int=0")
WIDER = avro("a:int", "c:int=0")
"""Reads both; OLD reads it too."""
MORE = avro("a:int", "b:int=0", "d:int")
"""What it wrote all can read; what they wrote it cannot."""
LESS = avro()
"""It can read all; what it writes nobody can."""


def catalog(level: str, *texts: str, group: str | None = None) -> Catalog:
    found = Catalog()
    config = {"compatibilityLevel": level}
    found.apply(ConfigSet("s", {**config, "compatibilityGroup": group} if group else config))
    for number, text in enumerate(texts, 1):
        found.apply(VersionSet(Version("s", number, number, Schema(SchemaType.AVRO, text))))
    return found


def fits(level: str, new: str, *olds: str) -> bool:
    return not reasons(catalog(level, *olds), "s", Schema(SchemaType.AVRO, new))


@pytest.mark.parametrize(
    ("level", "wider", "more", "less"),
    [
        ("NONE", True, True, True),
        ("BACKWARD", True, False, True),
        ("BACKWARD_TRANSITIVE", True, False, True),
        ("FORWARD", True, True, False),
        ("FORWARD_TRANSITIVE", True, True, False),
        ("FULL", True, False, False),
        ("FULL_TRANSITIVE", True, False, False),
    ],
)
def test_each_level_asks_who_can_read_whom(level: str, wider: bool, more: bool, less: bool) -> None:
    olds = (OLD, MIDDLE)
    assert [fits(level, new, *olds) for new in (WIDER, MORE, LESS)] == [wider, more, less]


def test_transitive_levels_look_at_every_version() -> None:
    # The first wrote a text; the second does not have the field.
    olds, new = (avro("a:string"), avro()), avro("a:int=0")
    assert fits("BACKWARD", new, *olds)
    assert not fits("BACKWARD_TRANSITIVE", new, *olds)
    assert fits("FORWARD", new, *olds)
    assert not fits("FORWARD_TRANSITIVE", new, *olds)
    assert fits("FULL", new, *olds)
    assert not fits("FULL_TRANSITIVE", new, *olds)


def test_reasons_name_the_version_and_the_field() -> None:
    (why,) = reasons(
        catalog("BACKWARD", OLD), "s", Schema(SchemaType.AVRO, MORE.replace("b", "a2"))
    )
    assert "version 1" in why
    assert '"d"' in why


def test_reasons_are_not_endless() -> None:
    many = avro(*(f"f{it}:int" for it in range(500)))
    found = reasons(catalog("BACKWARD", OLD), "s", Schema(SchemaType.AVRO, many))
    assert len(found) == 51
    assert "more" in found[-1]


def test_deleted_versions_and_other_groups_are_not_asked() -> None:
    asked = catalog("BACKWARD", OLD, group="major")
    first, second = ({"properties": {"major": it}} for it in "12")
    new = Schema(SchemaType.AVRO, MORE, metadata=second)
    asked.apply(VersionSet(Version("s", 2, 2, Schema(SchemaType.AVRO, OLD, metadata=first))))
    assert reasons(asked, "s", new) == []
    asked.apply(VersionSet(Version("s", 3, 3, Schema(SchemaType.AVRO, OLD, metadata=second))))
    assert reasons(asked, "s", new)
    gone = Version("s", 3, 3, Schema(SchemaType.AVRO, OLD, metadata=second), deleted=True)
    asked.apply(VersionSet(gone))
    assert reasons(asked, "s", new) == []


def test_schemas_of_different_types_never_fit() -> None:
    new = Schema(SchemaType.JSON, '{"type":"object"}')
    (why,) = reasons(catalog("FULL", OLD), "s", new)
    assert "JSON" in why
    assert reasons(catalog("NONE", OLD), "s", new) == []


@pytest.mark.parametrize("name", [None, "", "SIDEWAYS", 7, ["FULL"]])
def test_there_are_seven_levels(name: object) -> None:
    assert len(Level) == 7
    assert level_named("full_transitive") is Level.FULL_TRANSITIVE
    with pytest.raises(ProblemError) as caught:
        level_named(name)
    assert caught.value.code == 42203


def _avro(name: str, below: Iterable[str]) -> str:
    return avro(*(f"f{it}:{it}" for it in below), name=name)


def _json(_name: str, below: Iterable[str]) -> str:
    return json.dumps({"type": "object", "properties": {it: {"$ref": it} for it in below}})


def _proto(name: str, below: Iterable[str]) -> str:
    imports = "".join(f'import "{it}"; ' for it in below)
    fields = "".join(f"{it} f{index} = {index + 1}; " for index, it in enumerate(below))
    return f'syntax = "proto3"; {imports} message {name} {{ {fields} }}'


_WRITERS = {SchemaType.AVRO: _avro, SchemaType.JSON: _json, SchemaType.PROTOBUF: _proto}


def diamonds(kind: SchemaType, depth: int) -> tuple[Catalog, Schema]:
    """Both schemas of a level refer to both below it: small as a graph, 2^depth as a tree."""
    found, below, last = Catalog(), list[str](), Schema(kind, "")
    for level in range(depth):
        names = [f"N{level}{side}" for side in "ab"]
        references = tuple(Reference(it, it, 1) for it in below)
        for number, name in enumerate(names, 2 * level + 1):
            last = Schema(kind, _WRITERS[kind](name, below), references)
            found.apply(VersionSet(Version(name, 1, number, last)))
        below = names
    return found, last


@pytest.mark.parametrize("kind", SchemaType)
def test_a_graph_of_references_is_not_walked_as_a_tree(kind: SchemaType) -> None:
    """Which would not end."""
    found, top = diamonds(kind, 40)
    schema = parsed(found, "top", top)
    assert schema.canonical
    assert schema.normalized()
    assert reasons(found, "N39b", top) == []
    for form in ("resolved", "serialized"):
        with suppress(ProblemError):
            formatted(found, "top", top, form)


@pytest.mark.parametrize("kind", SchemaType)
def test_references_that_come_back_are_refused(kind: SchemaType) -> None:
    found = Catalog()
    for number, (name, other) in enumerate((("A", "B"), ("B", "A")), 1):
        schema = Schema(kind, _WRITERS[kind](name, [other]), (Reference(other, other, 1),))
        found.apply(VersionSet(Version(name, 1, number, schema)))
    with pytest.raises(ProblemError, match="come back") as caught:
        parsed(found, "A", schema)
    assert caught.value.code == 42201


def test_references_are_counted() -> None:
    found = Catalog()
    names = [f"N{it}" for it in range(MAX_REFERENCES + 1)]
    for number, name in enumerate(names, 1):
        schema = Schema(SchemaType.AVRO, avro(name=name))
        found.apply(VersionSet(Version(name, 1, number, schema)))
    many = Schema(SchemaType.AVRO, avro(), tuple(Reference(it, it, 1) for it in names))
    with pytest.raises(ProblemError, match="more than"):
        parsed(found, "s", many)


def test_a_long_chain_of_references_does_not_overflow() -> None:
    found, schema = Catalog(), Schema(SchemaType.AVRO, avro(name="N0"))
    for number in range(400):
        found.apply(VersionSet(Version(f"N{number}", 1, number + 1, schema)))
        below = f"N{number}"
        text = avro(f"f:{below}", name=f"N{number + 1}")
        schema = Schema(SchemaType.AVRO, text, (Reference(below, below, 1),))
    with suppress(ProblemError):
        assert parsed(found, "s", schema).canonical
