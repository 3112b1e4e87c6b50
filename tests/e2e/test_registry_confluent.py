"""Every method of confluent-kafka's registry clients, blocking and asyncio, against our registry.

The last test reads this file: a method of the clients that no test asks for is a failure.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import (
    AsyncSchemaRegistryClient,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
)
from tests.registry_clients import (
    BREAKING,
    V1,
    V2,
    V3,
    Client,
    avro,
    fresh,
    running_registry,
    with_both_clients,
)
from tests.registry_metadata import metadata, rules
from tests.registry_process import RegistryProcess

pytestmark = pytest.mark.slow

WEIRD = ("a/b", "a:b", "with space", "größe-値-🦀", "a%2Fb", "a?b&c=d#e", "+", "..", "a//b/")
"""Names that are hard on paths."""


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    with running_registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


@with_both_clients
async def test_a_schema_has_one_id_under_every_subject(client: Client) -> None:
    one, other = fresh("one"), fresh("other")
    first = await client.register_schema(one, Schema(V1))
    await client.clear_caches()
    assert await client.register_schema(one, Schema(V1)) == first
    assert await client.register_schema(other, Schema(V1)) == first
    second = await client.register_schema(one, Schema(V2))
    assert second != first
    await client.clear_caches()
    full = await client.register_schema_full_response(other, Schema(V2))
    assert (full.subject, full.version, full.schema_id) == (other, 2, second)
    assert full.schema.schema_type == "AVRO"
    assert full.guid


@with_both_clients
async def test_a_schema_is_found_by_id_and_by_guid(client: Client) -> None:
    subject = fresh("found")
    full = await client.register_schema_full_response(subject, Schema(V1))
    await client.clear_caches()
    for found in (
        await client.get_schema(full.schema_id),
        await client.get_schema(full.schema_id, subject_name=subject),
        await client.get_schema(full.schema_id, subject_name=fresh("elsewhere")),
        await client.get_schema_by_guid(full.guid),
    ):
        assert (found.schema_str, found.schema_type) == (V1, "AVRO")
    assert await client.refusal("get_schema", 999_999) == 40403
    unknown = "00000000-0000-0000-0000-000000000000"
    assert await client.refusal("get_schema_by_guid", unknown) == 40403


@with_both_clients
async def test_all_three_types_are_known(client: Client) -> None:
    assert sorted(await client.get_schema_types()) == ["AVRO", "JSON", "PROTOBUF"]


@with_both_clients
async def test_an_id_tells_where_it_is_used(client: Client) -> None:
    text = avro("used:string", name=fresh("Used").replace("-", "_"))
    subjects = sorted(fresh("used") for _ in range(3))
    ids = {await client.register_schema(subject, Schema(text)) for subject in subjects}
    (schema_id,) = ids
    assert await client.get_subjects_by_schema_id(schema_id) == subjects
    assert await client.get_subjects_by_schema_id(schema_id, offset=1, limit=1) == subjects[1:2]
    places = await client.get_schema_versions(schema_id)
    assert sorted((it.subject, it.version) for it in places) == [(it, 1) for it in subjects]
    assert len(await client.get_schema_versions(schema_id, offset=2)) == 1
    await client.delete_subject(subjects[0])
    assert await client.get_subjects_by_schema_id(schema_id) == subjects[1:]
    assert await client.get_subjects_by_schema_id(schema_id, deleted=True) == subjects
    assert len(await client.get_schema_versions(schema_id, deleted=True)) == 3
    # One that is asked for in a context of its own is not there.
    elsewhere = f":.{fresh('ctx')}:s"
    refused = await client.refusal("get_schema_versions", schema_id, subject_name=elsewhere)
    assert refused == 40403


@with_both_clients
async def test_a_schema_is_looked_up_under_its_subject(client: Client) -> None:
    subject = fresh("lookup")
    assert await client.refusal("lookup_schema", subject, Schema(V1)) == 40401
    schema_id = await client.register_schema(subject, Schema(V1))
    await client.clear_caches()
    found = await client.lookup_schema(subject, Schema(V1))
    assert (found.subject, found.version, found.schema_id) == (subject, 1, schema_id)
    assert await client.refusal("lookup_schema", subject, Schema(V2)) == 40403
    assert await client.refusal("lookup_schema", subject, Schema("{")) == 42201
    wordy = Schema(
        '{"fields": [{"type": {"type": "string"}, "name": "symbol"}],'
        ' "name": "Tick", "type": "record"}'
    )
    found = await client.lookup_schema(subject, wordy, normalize_schemas=True)
    assert found.schema_id == schema_id
    await client.delete_subject(subject)
    await client.clear_caches()
    assert await client.refusal("lookup_schema", subject, Schema(V1)) == 40401
    found = await client.lookup_schema(subject, Schema(V1), deleted=True, fmt="resolved")
    assert found.version == 1


@with_both_clients
async def test_normalized_schemas_are_one(client: Client) -> None:
    subject = fresh("normal")
    texts = (
        '{"type":"record","name":"N","fields":[{"name":"a","type":"int"}]}',
        '{"name":"N","type":"record","fields":[{"type":{"type":"int"},"name":"a"}]}',
    )
    ids = [
        await client.register_schema(subject, Schema(it), normalize_schemas=True) for it in texts
    ]
    assert ids[0] == ids[1]
    assert await client.get_versions(subject) == [1]


@with_both_clients
async def test_subjects_are_listed(client: Client) -> None:
    prefix = fresh("list")
    for letter in "abc":
        await client.register_schema(f"{prefix}-{letter}", Schema(V1))
    await client.delete_subject(f"{prefix}-b")
    names = [f"{prefix}-{letter}" for letter in "abc"]
    assert await client.get_subjects(subject_prefix=prefix) == [names[0], names[2]]
    assert await client.get_subjects(subject_prefix=prefix, deleted=True) == names
    assert await client.get_subjects(subject_prefix=prefix, deleted_only=True) == [names[1]]
    assert await client.get_subjects(subject_prefix=prefix, offset=1, limit=1) == [names[2]]
    assert set(names) - set(await client.get_subjects()) == {names[1]}


@with_both_clients
async def test_versions_are_found(client: Client) -> None:
    subject = fresh("versions")
    for text in (V1, V2, V3):
        await client.register_schema(subject, Schema(text))
    assert await client.get_versions(subject) == [1, 2, 3]
    assert await client.get_versions(subject, offset=1, limit=1) == [2]
    assert (await client.get_latest_version(subject)).version == 3
    assert (await client.get_latest_version(subject, fmt="resolved")).version == 3
    assert (await client.get_version(subject)).version == 3
    second = await client.get_version(subject, 2)
    assert (second.subject, second.version) == (subject, 2)
    assert second.schema.schema_str
    assert second.guid
    assert await client.refusal("get_version", subject, 9) == 40402
    assert await client.refusal("get_version", subject, 0) == 42202
    assert await client.refusal("get_version", subject, 2**31) == 42202
    assert await client.refusal("get_versions", fresh("none")) == 40401
    assert await client.refusal("get_latest_version", fresh("none")) == 40401


@with_both_clients
async def test_a_version_is_deleted_softly_and_then_for_good(client: Client) -> None:
    subject = fresh("deleted")
    ids = [await client.register_schema(subject, Schema(text)) for text in (V1, V2)]
    assert await client.refusal("delete_version", subject, 1, permanent=True) == 40407
    assert await client.delete_version(subject, 1) == 1
    assert await client.get_versions(subject) == [2]
    assert await client.get_versions(subject, deleted=True) == [1, 2]
    assert await client.get_versions(subject, deleted_only=True) == [1]
    assert await client.refusal("get_version", subject, 1) == 40402
    assert (await client.get_version(subject, 1, deleted=True)).schema_id == ids[0]
    await client.clear_caches()
    assert await client.refusal("delete_version", subject, 1) == 40406
    assert await client.delete_version(subject, 1, permanent=True) == 1
    assert await client.get_versions(subject, deleted=True) == [2]
    assert await client.refusal("delete_version", subject, 1) == 40402
    assert await client.refusal("delete_version", fresh("none"), 1) == 40401


@with_both_clients
async def test_a_subject_is_deleted_softly_and_then_for_good(client: Client) -> None:
    subject = fresh("gone")
    text = avro("gone:string", name=fresh("Gone").replace("-", "_"))
    schema_id = await client.register_schema(subject, Schema(text))
    assert await client.refusal("delete_subject", subject, permanent=True) == 40405
    assert await client.delete_subject(subject) == [1]
    await client.clear_caches()
    assert (await client.get_schema(schema_id)).schema_str
    assert await client.refusal("delete_subject", subject) == 40404
    # What comes back is the next version of the same schema.
    await client.clear_caches()
    assert await client.register_schema(subject, Schema(text)) == schema_id
    assert await client.get_versions(subject) == [2]
    assert await client.delete_subject(subject) == [2]
    assert await client.delete_subject(subject, permanent=True) == [1, 2]
    await client.clear_caches()
    assert await client.refusal("get_schema", schema_id) == 40403
    assert await client.refusal("delete_subject", subject) == 40401
    await client.clear_caches()
    again = await client.register_schema_full_response(subject, Schema(text))
    assert again.version == 1
    assert again.schema_id > schema_id, "an id that was given is never given again"


@with_both_clients
async def test_metadata_and_rules_come_back(client: Client) -> None:
    subject = fresh("meta")
    schema = Schema(V1, metadata=metadata(owner="ada", major="1"), rule_set=rules("r"))
    schema_id = await client.register_schema(subject, schema)
    await client.clear_caches()
    found = await client.get_schema(schema_id)
    assert found.metadata == schema.metadata
    assert found.rule_set == schema.rule_set
    await client.register_schema(subject, Schema(V2, metadata=metadata(owner="bob", major="2")))
    by_owner = await client.get_latest_with_metadata(subject, {"owner": "ada", "major": "1"})
    assert by_owner.version == 1
    assert (await client.get_latest_with_metadata(subject, {}, fmt="resolved")).version == 2
    assert await client.refusal("get_latest_with_metadata", subject, {"owner": "eve"}) == 40403
    assert await client.refusal("get_latest_with_metadata", fresh("none"), {"a": "b"}) == 40401
    await client.delete_version(subject, 1)
    await client.clear_latest_caches()
    assert await client.refusal("get_latest_with_metadata", subject, {"owner": "ada"}) == 40403
    deleted = await client.get_latest_with_metadata(subject, {"owner": "ada"}, deleted=True)
    assert deleted.version == 1


@with_both_clients
async def test_references_are_resolved_and_kept(client: Client) -> None:
    inner, outer = fresh("inner"), fresh("outer")
    await client.register_schema(inner, Schema(avro("v:double", name="Price")))
    reference = SchemaReference(name="Price", subject=inner, version=1)
    schema = Schema(avro("price:Price", name="Offer"), "AVRO", [reference])
    schema_id = await client.register_schema(outer, schema)
    await client.clear_caches()
    found = await client.get_schema(schema_id, subject_name=outer)
    assert found.references == [reference]
    await client.clear_caches()
    resolved = await client.get_schema(schema_id, fmt="resolved", reference_format="")
    assert '"v"' in resolved.schema_str
    assert await client.get_referenced_by(inner, 1) == [schema_id]
    assert await client.get_referenced_by(inner) == [schema_id]
    assert await client.get_referenced_by(inner, 1, offset=1) == []
    assert await client.get_referenced_by(outer, 1) == []
    assert await client.refusal("delete_version", inner, 1) == 42206
    assert await client.refusal("delete_subject", inner) == 42206
    missing = Schema(V1, "AVRO", [SchemaReference(name="X", subject=fresh("none"), version=1)])
    assert await client.refusal("register_schema", outer, missing) == 42201
    await client.delete_subject(outer)
    assert await client.delete_subject(inner) == [1]


@with_both_clients
async def test_subjects_may_have_any_letters(client: Client) -> None:
    prefix = fresh("weird")
    for weird in WEIRD:
        subject = f"{prefix}{weird}"
        schema_id = await client.register_schema(subject, Schema(V1))
        found = await client.get_latest_version(subject)
        assert (found.subject, found.schema_id) == (subject, schema_id)
        await client.set_compatibility(subject, "NONE")
        assert await client.get_compatibility(subject) == "NONE"
        assert await client.update_mode(subject, "READWRITE") == "READWRITE"
        await client.clear_caches()
        assert (await client.lookup_schema(subject, Schema(V1))).subject == subject
        assert await client.test_compatibility(subject, Schema(BREAKING))
        assert await client.get_referenced_by(subject, 1) == []
        assert await client.get_subjects(subject_prefix=subject) == [subject]
    names = sorted(f"{prefix}{weird}" for weird in WEIRD)
    assert await client.get_subjects(subject_prefix=prefix) == names
    for weird in WEIRD:
        assert await client.delete_subject(f"{prefix}{weird}") == [1]


def test_a_method_without_a_test_is_found() -> None:
    asked = {
        node.attr if isinstance(node, ast.Attribute) else node.value
        for path in (Path(__file__), *_NEIGHBOURS)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    }
    for kind in (SchemaRegistryClient, AsyncSchemaRegistryClient):
        methods = {name for name in dir(kind) if not name.startswith("_")}
        assert methods - asked == set()


_NEIGHBOURS = (
    Path(__file__).with_name("test_registry_associations.py"),
    Path(__file__).with_name("test_registry_confluent_settings.py"),
    Path(__file__).parents[1] / "registry_clients.py",
)


@with_both_clients
async def test_a_client_can_be_made_by_its_factory(client: Client) -> None:
    conf: dict[str, Any] = {"url": client.url}
    made: Any = type(client.inner).new_client(conf)
    assert made.config() == conf
    if isinstance(made, SchemaRegistryClient):
        with made:
            assert made.get_global_mode() == "READWRITE"
    else:
        async with made:
            assert await made.get_global_mode() == "READWRITE"
