"""What the catalog answers after changes; ids, contexts, fallbacks, aliases."""

from dataclasses import replace

import pytest

from kafkaesque.registry import changes as to
from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.entries import Reference, Schema, Version
from kafkaesque.registry.problems import ProblemError
from kafkaesque.registry.schema_text import SchemaType


def schema(text: str, *references: Reference, **fields: object) -> Schema:
    return Schema(SchemaType.AVRO, text, references, **fields)  # type: ignore[arg-type]


def version(subject: str, number: int, schema_id: int, text: str = "", **fields: object) -> Version:
    return Version(subject, number, schema_id, schema(text or f'"{schema_id}"'), **fields)  # type: ignore[arg-type]


def filled(*versions: Version) -> Catalog:
    catalog = Catalog()
    for it in versions:
        catalog.apply(to.VersionSet(it))
    return catalog


def refusal_of(catalog: Catalog, subject: str, number: int | None) -> int:
    with pytest.raises(ProblemError) as caught:
        catalog.version(subject, number)
    return caught.value.code


def test_versions_are_found_in_order() -> None:
    catalog = filled(version("s", 2, 2), version("s", 1, 1), version("t", 1, 1))
    assert [it.version for it in catalog.versions("s")] == [1, 2]
    assert catalog.version("s", None).version == 2
    assert catalog.version("s", 1).id == 1
    assert catalog.subjects() == ["s", "t"]
    assert catalog.subjects("t") == ["t"]
    assert refusal_of(catalog, "none", None) == 40401
    assert refusal_of(catalog, "s", 3) == 40402
    assert len(catalog) == 2


def test_what_is_deleted_softly_is_found_by_id_only() -> None:
    catalog = filled(version("s", 1, 1), version("s", 2, 2))
    catalog.apply(to.SubjectDeleted("s", 1))
    assert [it.version for it in catalog.versions("s")] == [2]
    assert [it.version for it in catalog.versions("s", deleted=True)] == [1, 2]
    assert catalog.schema(".", 1) is not None
    catalog.apply(to.SubjectDeleted("s", 2))
    assert catalog.subjects() == []
    assert catalog.subjects(deleted=True) == ["s"]
    assert catalog.last_number("s") == 2


def test_an_id_is_never_given_again() -> None:
    catalog = filled(version("s", 1, 7))
    catalog.apply(to.VersionRemoved("s", 1))
    assert catalog.schema(".", 7) is None
    assert catalog.ids_of(version("s", 1, 7).schema.guid) == []
    assert catalog.highest_id(".") == 7
    catalog.apply(to.HighestIds({".": 5, ".eu": 9}))
    assert (catalog.highest_id("."), catalog.highest_id(".eu")) == (7, 9)
    catalog.apply(to.VersionRemoved("s", 1))


def test_an_id_lasts_while_any_subject_has_it() -> None:
    one = version("s", 1, 1)
    catalog = filled(one, replace(one, subject="t"))
    catalog.apply(to.VersionRemoved("s", 1))
    assert catalog.id_of(".", one.schema) == 1
    assert [it.subject for it in catalog.places(".", 1)] == ["t"]
    catalog.apply(to.VersionRemoved("t", 1))
    assert catalog.id_of(".", one.schema) is None


def test_a_version_that_is_set_again_replaces_the_old_one() -> None:
    catalog = filled(version("s", 1, 1, '"a"'), version("s", 1, 2, '"b"'))
    assert catalog.places(".", 1) == []
    assert catalog.version("s", 1).id == 2


def test_contexts_have_ids_of_their_own() -> None:
    catalog = filled(version("s", 1, 1, '"a"'), version(":.eu:s", 1, 1, '"b"'))
    assert catalog.contexts() == [".", ".eu"]
    inside = catalog.schema(".eu", 1)
    assert inside is not None
    assert inside.text == '"b"'
    assert catalog.id_of(".eu", schema('"a"')) is None
    assert catalog.ids_of(schema('"b"').guid) == [(".eu", 1)]


def test_a_schema_without_metadata_is_found_whatever_the_others_are() -> None:
    rich = Schema(SchemaType.AVRO, '"a"', metadata={"properties": {"a": "1"}})
    catalog = filled(Version("s", 1, 1, rich))
    assert catalog.find("s", schema('"a"')) is not None
    assert catalog.find("s", rich) is not None
    other = Schema(SchemaType.AVRO, '"a"', metadata={"properties": {"a": "2"}})
    assert catalog.find("s", other) is None
    assert catalog.find("t", rich) is None
    assert rich.guid != rich.bare == schema('"a"').guid


def test_referrers_are_those_that_are_not_deleted() -> None:
    inner = version("inner", 1, 1)
    outer = Version("outer", 1, 2, schema('"o"', Reference("I", "inner", 1)))
    catalog = filled(inner, outer)
    assert catalog.referrers("inner", 1) == [outer]
    assert catalog.referred("outer", Reference("I", "inner", -1)) == inner
    catalog.apply(to.VersionSet(replace(outer, deleted=True)))
    assert catalog.referrers("inner", 1) == []
    catalog.apply(to.VersionRemoved("outer", 1))
    assert catalog.referrers("inner", 1) == []


def test_references_stay_in_their_context() -> None:
    outer = Version(":.eu:outer", 1, 2, schema('"o"', Reference("I", "inner", 1)))
    catalog = filled(version("inner", 1, 1), version(":.eu:inner", 1, 1), outer)
    assert catalog.referrers(":.eu:inner", 1) == [outer]
    assert catalog.referrers("inner", 1) == []


def test_config_and_mode_come_from_where_they_are_set_nearest() -> None:
    catalog = Catalog()
    assert catalog.config("s") == {"compatibilityLevel": "BACKWARD"}
    assert catalog.mode("s") == "READWRITE"
    catalog.apply(to.ConfigSet(":.__GLOBAL:", {"compatibilityLevel": "NONE"}))
    assert catalog.config("s")["compatibilityLevel"] == "NONE"
    catalog.apply(to.ConfigSet(None, {"compatibilityLevel": "FULL", "normalize": True}))
    catalog.apply(to.ConfigSet(":.eu:", {"compatibilityLevel": "FORWARD"}))
    catalog.apply(to.ConfigSet(":.eu:s", {"compatibilityGroup": "major"}))
    assert catalog.config("s")["compatibilityLevel"] == "FULL"
    assert catalog.config(":.eu:s") == {
        "compatibilityLevel": "FORWARD",
        "normalize": True,
        "compatibilityGroup": "major",
    }
    catalog.apply(to.ModeSet(None, "READONLY"))
    catalog.apply(to.ModeSet(":.eu:", "IMPORT"))
    assert [catalog.mode(it) for it in ("s", ":.eu:s", ":.eu:")] == ["READONLY", "IMPORT", "IMPORT"]
    catalog.apply(to.ModeSet(":.eu:", None))
    assert catalog.mode(":.eu:s") == "READONLY"


def test_an_alias_is_in_the_context_of_its_name() -> None:
    catalog = Catalog()
    catalog.apply(to.ConfigSet(":.eu:a", {"alias": "b"}))
    assert catalog.alias_of(":.eu:a") == ":.eu:b"
    assert catalog.alias_of("a") == "a"


def test_a_copy_changes_by_itself() -> None:
    catalog = filled(version("s", 1, 1))
    twin = catalog.copy()
    twin.apply(to.VersionSet(version("s", 2, 2)))
    twin.apply(to.VersionRemoved("s", 1))
    twin.apply(to.ConfigSet(None, {"compatibilityLevel": "NONE"}))
    twin.apply(to.ModeSet("s", "READONLY"))
    assert [it.version for it in catalog.versions("s")] == [1]
    assert (catalog.configs, catalog.modes, catalog.highest_id(".")) == ({}, {}, 1)
    assert catalog.places(".", 2) == []
