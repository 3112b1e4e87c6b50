"""What follows from requests: to register, import, delete, configure, associate."""

from typing import Any

import pytest
from tests.registry_clients import BREAKING, V1, V2, V3, avro

from kafkaesque.registry import changes as to
from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.decisions import Decide, Decision
from kafkaesque.registry.decisions.associating import Wish, associate, dissociate
from kafkaesque.registry.decisions.configuring import (
    delete_config,
    delete_mode,
    set_config,
    set_mode,
)
from kafkaesque.registry.decisions.deleting import delete_context, delete_subject, delete_version
from kafkaesque.registry.decisions.registering import Registration, register
from kafkaesque.registry.entries import JsonObject, Reference, Resource, Schema, Version
from kafkaesque.registry.problems import ProblemError
from kafkaesque.registry.schema_text import SchemaType

_TOPIC = Resource("t", "ns", "topic", "value")


class Registry:
    """A catalog that decisions are made on, one after another."""

    def __init__(self) -> None:
        self.catalog = Catalog()

    def decide(self, decide: Any, *arguments: Any, **named: Any) -> Decision:
        decision: Decision = decide(self.catalog, *arguments, **named)
        for change in decision.changes:
            self.catalog.apply(change)
        return decision

    def refusal(self, decide: Any, *arguments: Any, **named: Any) -> int:
        with pytest.raises(ProblemError) as caught:
            decide(self.catalog, *arguments, **named)
        return caught.value.code

    def register(self, subject: str, text: str, *references: Reference, **fields: Any) -> Version:
        version: Version = self.decide(
            register, request(subject, text, *references, **fields)
        ).answer
        return version


def request(
    subject: str,
    text: str,
    *references: Reference,
    metadata: JsonObject | None = None,
    rule_set: JsonObject | None = None,
    **fields: Any,
) -> Registration:
    schema = Schema(SchemaType.AVRO, text, references, metadata, rule_set)
    return Registration(subject, schema, **fields)


@pytest.fixture
def registry() -> Registry:
    return Registry()


def place(version: Version) -> tuple[int, int]:
    return version.version, version.id


def test_registering_again_changes_nothing(registry: Registry) -> None:
    assert place(registry.register("s", V1)) == (1, 1)
    assert registry.decide(register, request("s", V1)).changes == ()
    assert place(registry.register("s", V2)) == (2, 2)
    assert place(registry.register("t", V2)) == (1, 2)
    assert registry.refusal(register, request("s", avro("new:int"))) == 40901
    assert registry.refusal(register, request("s", "{")) == 42201
    assert registry.refusal(register, request("a\0", V1)) == 42208


def test_ids_and_versions_of_outside_are_for_import_mode(registry: Registry) -> None:
    registry.register("s", V1)
    assert registry.decide(register, request("s", V1, id=1)).changes == ()
    assert registry.refusal(register, request("s", V1, id=9)) == 42207
    assert registry.refusal(register, request("s", V2, id=9)) == 42205
    assert registry.refusal(register, request("s", V2, version=9)) == 42202
    assert place(registry.register("s", V2, version=2)) == (2, 2)
    registry.decide(set_mode, "s", "IMPORT", force=True)
    assert place(registry.register("s", V3, id=40, version=7)) == (7, 40)
    assert place(registry.register("s", BREAKING)) == (8, 41)
    assert registry.refusal(register, request("s", avro("z:int"), id=40)) == 42205
    assert registry.refusal(register, request("s", avro("z:int"), version=7)) == 42205
    assert registry.decide(register, request("s", V3, id=40, version=7)).changes == ()


def test_a_deleted_version_comes_back_as_the_next_one(registry: Registry) -> None:
    registry.register("s", V1)
    registry.decide(delete_subject, "s", permanent=False)
    assert place(registry.register("s", V1)) == (2, 1)


def test_latest_references_are_fixed_when_registered(registry: Registry) -> None:
    registry.register("inner", avro(name="I"))
    version = registry.register("s", avro("i:I"), Reference("I", "inner", -1))
    assert version.schema.references == (Reference("I", "inner", 1),)
    missing = request("s", avro("i:I"), Reference("I", "none", 1))
    assert registry.refusal(register, missing) == 42201


def test_metadata_is_inherited_defaulted_and_overridden(registry: Registry) -> None:
    own, default = {"properties": {"a": "1"}}, {"properties": {"d": "1"}}
    registry.register("s", V1, metadata=own)
    assert registry.register("s", V2).schema.metadata == own, "of the version before"
    registry.decide(set_config, "s", {"defaultMetadata": default})
    assert registry.register("s", V3).schema.metadata == default
    over = {"properties": {"a": "9", "b": "2"}, "sensitive": ["a"]}
    registry.decide(set_config, "s", {"overrideMetadata": over})
    last = registry.register("s", avro("symbol:string", "x:int=1"), metadata=own)
    assert last.schema.metadata == over


def test_rules_are_overridden_by_name(registry: Registry) -> None:
    def rule(name: str, expression: str) -> dict[str, str]:
        return {"name": name, "expr": expression}

    override = {"domainRules": [rule("b", "2"), rule("c", "2")]}
    registry.decide(set_config, "s", {"overrideRuleSet": override})
    own = {"domainRules": [rule("a", "1"), rule("b", "1")], "migrationRules": []}
    stored = registry.register("s", V1, rule_set=own).schema.rule_set
    assert stored == {
        "domainRules": [rule("a", "1"), rule("b", "2"), rule("c", "2")],
        "migrationRules": [],
    }


def test_deleting_goes_by_two_steps(registry: Registry) -> None:
    registry.register("s", V1)
    registry.register("s", V2)
    assert registry.refusal(delete_subject, "s", permanent=True) == 40405
    assert registry.refusal(delete_version, "s", 1, permanent=True) == 40407
    assert registry.decide(delete_version, "s", None, permanent=False).answer == 2
    assert registry.refusal(delete_version, "s", 2, permanent=False) == 40406
    assert registry.decide(delete_subject, "s", permanent=False).answer == [1]
    assert registry.refusal(delete_subject, "s", permanent=False) == 40404
    assert registry.decide(delete_subject, "s", permanent=True).answer == [1, 2]
    assert registry.refusal(delete_subject, "s", permanent=True) == 40401
    assert registry.refusal(delete_version, "s", 1, permanent=False) == 40401
    assert place(registry.register("s", V1)) == (1, 3)


def test_what_is_referred_to_stays(registry: Registry) -> None:
    registry.register("inner", avro(name="I"))
    registry.register("s", avro("i:I"), Reference("I", "inner", 1))
    assert registry.refusal(delete_subject, "inner", permanent=False) == 42206
    assert registry.refusal(delete_version, "inner", 1, permanent=False) == 42206
    registry.decide(delete_subject, "s", permanent=False)
    assert registry.decide(delete_subject, "inner", permanent=False).answer == [1]


def test_the_highest_ids_of_all_contexts_are_kept_when_something_is_removed(
    registry: Registry,
) -> None:
    registry.register(":.eu:s", V1)
    registry.register("s", V1)
    registry.register("s", V2)
    registry.decide(delete_subject, "s", permanent=False)
    changes = registry.decide(delete_subject, "s", permanent=True).changes
    assert changes[0] == to.HighestIds({".": 2, ".eu": 1})


def test_a_subject_is_deleted_with_its_config_and_mode(registry: Registry) -> None:
    registry.register("s", V1)
    registry.decide(set_config, "s", {"compatibility": "none"})
    registry.decide(set_mode, "s", "readwrite", force=False)
    registry.decide(delete_subject, "s", permanent=False)
    assert (registry.catalog.configs, registry.catalog.modes) == ({}, {})


def test_only_an_empty_context_can_be_deleted(registry: Registry) -> None:
    registry.register(":.eu:s", V1)
    registry.decide(set_config, ":.eu:", {"compatibility": "NONE"})
    assert registry.refusal(delete_context, ".eu") == 42211
    assert registry.refusal(delete_context, ".") == 42211
    registry.decide(delete_subject, ":.eu:s", permanent=False)
    registry.decide(delete_subject, ":.eu:s", permanent=True)
    registry.decide(delete_context, ".eu")
    assert registry.catalog.configs == {}


def test_config_fields_are_merged_and_removed(registry: Registry) -> None:
    body = {"compatibility": "full", "normalize": True}
    assert registry.decide(set_config, "s", body).answer == body
    registry.decide(set_config, "s", {"compatibilityGroup": "g", "normalize": None})
    assert registry.catalog.configs["s"] == {
        "compatibilityLevel": "FULL",
        "compatibilityGroup": "g",
    }
    assert registry.decide(delete_config, "s").answer["compatibilityLevel"] == "FULL"
    assert registry.refusal(delete_config, "s") == 40401
    assert registry.decide(delete_config, None).changes == ()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, 42203),
        ({"compatibility": None}, 42203),
        ({"compatibility": "SIDEWAYS"}, 42203),
        ({"compatibility": ["FULL"]}, 42203),
        ({"alias": 7}, 400),
        ({"normalize": "yes"}, 400),
        ({"defaultMetadata": []}, 400),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(
    registry: Registry, body: JsonObject, code: int
) -> None:
    assert registry.refusal(set_config, "s", body) == code


def test_modes_guard_what_is_written(registry: Registry) -> None:
    registry.register("s", V1)
    assert registry.refusal(set_mode, "s", "IMPORT", force=False) == 42205
    assert registry.refusal(set_mode, None, "IMPORT", force=False) == 42205
    assert registry.refusal(set_mode, "s", None, force=False) == 42204
    assert registry.decide(set_mode, "new", "import", force=False).answer == {"mode": "IMPORT"}
    registry.decide(set_mode, None, "READONLY", force=False)
    refused: list[tuple[Decide | Any, tuple[Any, ...], dict[str, Any]]] = [
        (register, (request("t", V1),), {}),
        (delete_subject, ("s",), {"permanent": False}),
        (delete_version, ("s", 1), {"permanent": False}),
        (set_config, ("s", {"compatibility": "NONE"}), {}),
        (delete_config, (None,), {}),
    ]
    for decide, arguments, named in refused:
        assert registry.refusal(decide, *arguments, **named) == 42205
    registry.decide(set_mode, "t", "READWRITE", force=False)
    assert registry.register("t", V1)
    registry.decide(set_mode, None, "READONLY_OVERRIDE", force=False)
    assert registry.refusal(register, request("t", V2)) == 42205
    assert registry.refusal(delete_mode, "none") == 40401
    assert registry.decide(delete_mode, "t").answer == {"mode": "READWRITE"}


def test_a_resource_has_one_subject_of_a_kind(registry: Registry) -> None:
    wish = Wish(_TOPIC, "id", "s", True)
    assert registry.refusal(associate, [wish]) == 40907
    registry.register("s", V1)
    registry.register("t", V1)
    ((association, version),) = registry.decide(associate, [wish]).answer
    assert (association.subject, association.lifecycle, version) == ("s", "STRONG", None)
    assert registry.decide(associate, [wish]).changes == ()
    assert registry.refusal(associate, [Wish(_TOPIC, "id", "t")]) == 40903
    assert registry.refusal(associate, [Wish(_TOPIC._replace(name="u"), "id", "s")]) == 40905
    weak = _TOPIC._replace(name="u")
    registry.decide(associate, [Wish(weak, "u", "t", False)])
    assert registry.refusal(associate, [Wish(weak._replace(name="v"), "v", "t", True)]) == 40904


def test_a_wish_is_granted_with_all_others_or_not_at_all(registry: Registry) -> None:
    new = Wish(_TOPIC, "id", "s", True, None, request("s", V1))
    bad = Wish(_TOPIC._replace(association_type="key"), "id", "none")
    assert registry.refusal(associate, [new, bad]) == 40907
    assert registry.catalog.subjects() == []
    assert len(registry.decide(associate, [new]).changes) == 2


def test_a_frozen_association_stays_until_its_resource_goes(registry: Registry) -> None:
    registry.register("s", V1)
    registry.decide(associate, [Wish(_TOPIC, "id", "s", True, True)])
    assert registry.refusal(associate, [Wish(_TOPIC, "id", "s", False)]) == 40908
    assert registry.refusal(dissociate, "id", None, (), cascade=False) == 40908
    registry.decide(dissociate, "id", "topic", ("value",), cascade=True)
    assert registry.catalog.associations == {}
    assert registry.catalog.versions("s") == []
