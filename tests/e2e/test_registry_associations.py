"""Subjects that belong to topics: confluent-kafka's associations, on our registry."""

from collections.abc import Iterator

import pytest
from confluent_kafka.schema_registry import Schema
from confluent_kafka.schema_registry.common.schema_registry_client import (
    AssociationCreateOrUpdateInfo as Info,
)
from confluent_kafka.schema_registry.common.schema_registry_client import (
    AssociationCreateOrUpdateRequest as Request,
)
from tests.registry_clients import V1, V2, Client, fresh, running_registry, with_both_clients
from tests.registry_process import RegistryProcess

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    with running_registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


def request(topic: str, *infos: Info, resource_id: str = "") -> Request:
    return Request(
        resource_name=topic,
        resource_namespace="lkc-1",
        resource_id=resource_id or f"id-{topic}",
        resource_type="topic",
        associations=list(infos),
    )


def info(subject: str, kind: str = "value", lifecycle: str = "STRONG", text: str = V1) -> Info:
    return Info(subject=subject, association_type=kind, lifecycle=lifecycle, schema=Schema(text))


@with_both_clients
async def test_a_topic_is_associated_with_the_subjects_of_its_keys_and_values(
    client: Client,
) -> None:
    topic = fresh("topic")
    wish = request(topic, info(f"{topic}-v"), info(f"{topic}-k", "key", "WEAK", V2))
    made = await client.create_association(wish)
    assert (made.resource_name, made.resource_namespace) == (topic, "lkc-1")
    assert [(it.subject, it.association_type, it.lifecycle) for it in made.associations] == [
        (f"{topic}-v", "value", "STRONG"),
        (f"{topic}-k", "key", "WEAK"),
    ]
    assert await client.get_versions(f"{topic}-v") == [1]
    found = await client.get_associations_by_resource_name(topic, "lkc-1")
    assert {it.subject for it in found} == {f"{topic}-v", f"{topic}-k"}
    assert all(it.guid and it.resource_id == f"id-{topic}" for it in found)
    anywhere = await client.get_associations_by_resource_name(topic, "-", resource_type="topic")
    assert len(anywhere) == 2
    keys = await client.get_associations_by_resource_name(topic, "-", association_types=["key"])
    assert [it.subject for it in keys] == [f"{topic}-k"]
    page = await client.get_associations_by_resource_name(topic, "-", offset=1, limit=1)
    assert len(page) == 1
    assert await client.get_associations_by_resource_name(topic, "-", resource_type="x") == []
    assert await client.get_associations_by_resource_name(fresh("none"), "-") == []


@with_both_clients
async def test_asking_again_changes_nothing(client: Client) -> None:
    topic = fresh("topic")
    wish = request(topic, info(f"{topic}-v"))
    assert await client.create_association(wish) == await client.create_association(wish)
    assert len(await client.get_associations_by_resource_name(topic, "-")) == 1


@with_both_clients
async def test_conflicts_are_refused(client: Client) -> None:
    topic, other = fresh("topic"), fresh("other")
    bare = Info(subject=fresh("none"), association_type="value")
    assert await client.refusal("create_association", request(topic, bare)) == 40907
    await client.create_association(request(topic, info(f"{topic}-v")))
    second = request(topic, info(f"{topic}-second"))
    assert await client.refusal("create_association", second) == 40903
    stolen = request(other, info(f"{topic}-v"))
    assert await client.refusal("create_association", stolen) == 40905
    await client.create_association(request(topic, info(f"{topic}-k", "key", "WEAK")))
    strong = request(other, info(f"{topic}-k", "key", "STRONG"))
    assert await client.refusal("create_association", strong) == 40904
    nameless = request(topic, Info(association_type="value"))
    assert await client.refusal("create_association", nameless) == 42212
    assert await client.refusal("create_association", Request(resource_name=topic)) == 42212
    assert await client.refusal("create_association", request(topic)) == 42212


@with_both_clients
async def test_a_frozen_association_stays_as_it_is(client: Client) -> None:
    topic = fresh("topic")
    frozen = info(f"{topic}-v")
    frozen.frozen = True
    await client.create_association(request(topic, frozen))
    weak = info(f"{topic}-v", lifecycle="WEAK")
    assert await client.refusal("create_association", request(topic, weak)) == 40908
    assert await client.refusal("delete_associations", f"id-{topic}") == 40908
    await client.delete_associations(f"id-{topic}", cascade_lifecycle=True)
    assert await client.get_associations_by_resource_name(topic, "-") == []


@with_both_clients
async def test_strong_subjects_go_with_their_topic(client: Client) -> None:
    topic = fresh("topic")
    wish = request(topic, info(f"{topic}-v"), info(f"{topic}-k", "key", "WEAK"))
    await client.create_association(wish)
    await client.delete_associations(f"id-{topic}", "topic", ["key"])
    left = await client.get_associations_by_resource_name(topic, "-")
    assert [it.subject for it in left] == [f"{topic}-v"]
    await client.create_association(wish)
    await client.delete_associations(f"id-{topic}", resource_type="topic", cascade_lifecycle=True)
    assert await client.get_associations_by_resource_name(topic, "-") == []
    assert await client.refusal("get_versions", f"{topic}-v") == 40401
    assert await client.get_versions(f"{topic}-k") == [1]
