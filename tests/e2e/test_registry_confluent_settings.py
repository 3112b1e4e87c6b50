"""Compatibility, config, modes and contexts by confluent-kafka's clients, against our registry."""

from collections.abc import Iterator

import pytest
from confluent_kafka.schema_registry import (
    ConfigCompatibilityLevel,
    Schema,
    SchemaRegistryClient,
    ServerConfig,
)
from tests.registry_clients import (
    BREAKING,
    V1,
    V2,
    Client,
    fresh,
    running_registry,
    with_both_clients,
)
from tests.registry_metadata import metadata, rules
from tests.registry_process import RegistryProcess

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    with running_registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


@with_both_clients
async def test_compatibility_is_checked_by_level(client: Client) -> None:
    subject = fresh("compat")
    assert await client.get_compatibility() == "BACKWARD"
    assert await client.refusal("get_compatibility", subject) == 40408
    await client.register_schema(subject, Schema(V1))
    assert await client.test_compatibility(subject, Schema(V2))
    assert not await client.test_compatibility(subject, Schema(BREAKING), verbose=True)
    assert not await client.test_compatibility(subject, Schema(BREAKING), version=1)
    assert not await client.test_compatibility_all_versions(subject, Schema(BREAKING))
    assert await client.test_compatibility_all_versions(subject, Schema(V2), normalize=True)
    assert await client.refusal("register_schema", subject, Schema(BREAKING)) == 40901
    await client.set_compatibility(subject, "none")
    assert await client.get_compatibility(subject) == "NONE"
    assert await client.register_schema(subject, Schema(BREAKING))
    assert await client.refusal("set_compatibility", subject, "sideways") == 42203
    assert await client.refusal("test_compatibility", subject, Schema(V1), version=7) == 40402
    assert await client.refusal("test_compatibility", fresh("none"), Schema(V1)) == 40401
    # There is nothing yet that it could break.
    assert await client.test_compatibility_all_versions(fresh("none"), Schema(V1))


@with_both_clients
async def test_the_global_level_holds_for_those_without_one(client: Client) -> None:
    subject = fresh("global")
    await client.register_schema(subject, Schema(V1))
    try:
        await client.set_compatibility(level="FORWARD")
        assert await client.get_compatibility() == "FORWARD"
        assert await client.test_compatibility(subject, Schema(BREAKING))
        await client.set_config(config=ServerConfig(compatibility=ConfigCompatibilityLevel.FULL))
        assert not await client.test_compatibility(subject, Schema(BREAKING))
        assert (await client.get_config()).compatibility_level == "FULL"
    finally:
        await client.delete_config()
    assert await client.get_compatibility() == "BACKWARD"


@with_both_clients
async def test_a_subjects_config_is_set_and_deleted(client: Client) -> None:
    subject = fresh("config")
    assert await client.refusal("get_config", subject) == 40408
    config = ServerConfig(
        compatibility=ConfigCompatibilityLevel.FULL_TRANSITIVE,
        compatibility_group="major",
        default_metadata=metadata(owner="ada"),
        override_rule_set=rules("over"),
    )
    await client.set_config(subject, config)
    found = await client.get_config(subject)
    assert found.compatibility_level == "FULL_TRANSITIVE"
    assert found.compatibility_group == "major"
    assert found.default_metadata == config.default_metadata
    assert found.override_rule_set == config.override_rule_set
    await client.register_schema(subject, Schema(V1))
    stored = (await client.get_latest_version(subject)).schema
    assert stored.metadata == config.default_metadata
    assert stored.rule_set == config.override_rule_set
    assert (await client.delete_config(subject)).compatibility_level == "FULL_TRANSITIVE"
    assert await client.refusal("delete_config", subject) == 40401


@with_both_clients
async def test_modes_are_set_and_deleted(client: Client) -> None:
    subject = fresh("mode")
    assert await client.get_global_mode() == "READWRITE"
    assert await client.refusal("get_mode", subject) == 40409
    assert await client.update_mode(subject, "READONLY") == "READONLY"
    assert await client.get_mode(subject) == "READONLY"
    assert await client.refusal("register_schema", subject, Schema(V1)) == 42205
    assert await client.delete_mode(subject) == "READONLY"
    assert await client.refusal("delete_mode", subject) == 40401
    assert await client.register_schema(subject, Schema(V1))
    assert await client.refusal("update_mode", subject, "SIDEWAYS") == 42204
    assert await client.refusal("update_mode", subject, "IMPORT") == 42205
    assert await client.update_mode(subject, "IMPORT", force=True) == "IMPORT"
    try:
        assert await client.update_global_mode("READONLY") == "READONLY"
        assert await client.refusal("register_schema", fresh("mode"), Schema(V1)) == 42205
        assert await client.refusal("update_global_mode", "IMPORT") == 42205
    finally:
        assert await client.update_global_mode("READWRITE", force=True) == "READWRITE"


@with_both_clients
async def test_contexts_have_ids_of_their_own(client: Client) -> None:
    context = f".{fresh('ctx')}"
    subject = f":{context}:ticks-value"
    schema_id = await client.register_schema(subject, Schema(V1))
    assert schema_id == 1
    contexts = await client.get_contexts()
    assert {".", context} <= set(contexts)
    assert await client.get_contexts(offset=1, limit=1) == contexts[1:2]
    assert await client.get_subjects(subject_prefix=f":{context}:") == [subject]
    await client.clear_caches()
    found = await client.get_schema(1, subject_name=subject)
    assert found.schema_str == (await client.get_latest_version(subject)).schema.schema_str
    inside = Client(_kind(client), f"{client.url}/contexts/{context}")
    try:
        assert await inside.get_subjects() == ["ticks-value"]
        assert await inside.register_schema("ticks-value", Schema(V2)) == 2
    finally:
        await inside.end()
    assert await client.get_versions(subject) == [1, 2]


def _kind(client: Client) -> str:
    return "sync" if isinstance(client.inner, SchemaRegistryClient) else "async"
