"""`RegistryClient` against `kafkaesque registry`: every question and command that it has."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.foreign import name
from tests.schema_world import SchemaWorld, schema_world

from kafkaesque.client.registry import (
    Reference,
    RegistryAwayError,
    RegistryClient,
    RegistryError,
    Schema,
)
from kafkaesque.client.registry.errors import INVALID_SCHEMA, SUBJECT_NOT_FOUND

pytestmark = pytest.mark.slow

TICK = Schema('{"type":"record","name":"Tick","fields":[{"name":"price","type":"double"}]}')
WIDER = Schema(
    '{"type":"record","name":"Tick","fields":[{"name":"price","type":"double"},'
    '{"name":"note","type":["null","string"],"default":null}]}'
)
OTHER = Schema('{"type":"record","name":"Tick","fields":[{"name":"symbol","type":"string"}]}')


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaWorld]:
    with schema_world(tmp_path_factory.mktemp("registry")) as world:
        yield world


@pytest.fixture
def registry(world: SchemaWorld) -> Iterator[RegistryClient]:
    with RegistryClient(world.url) as client:
        yield client


def test_a_schema_has_an_id_and_a_place(registry: RegistryClient) -> None:
    subject = name("ticks")
    first = registry.register(subject, TICK)
    assert (first.subject, first.schema.text) == (subject, TICK.text)
    assert registry.register(subject, TICK).id == first.id
    second = registry.register(subject, WIDER)
    assert second.id != first.id
    assert registry.versions(subject) == [1, 2]
    assert registry.version(subject).version == 2
    assert registry.version(subject, 1).id == first.id
    assert registry.lookup(subject, WIDER).version == 2
    assert registry.schema(first.id) == TICK
    assert registry.schema(first.id) is registry.schema(first.id)
    assert (subject, 1) in registry.places(first.id)
    found = registry.version(subject, 1).guid
    if found is not None:
        assert registry.schema_by_guid(found) == TICK
    assert subject in registry.subjects()
    assert registry.subjects(prefix=subject) == [subject]


def test_subjects_of_any_name(registry: RegistryClient) -> None:
    subject = name("a/b c%2F?ü#")
    registry.register(subject, TICK)
    assert registry.versions(subject) == [1]
    assert subject in registry.subjects()


def test_what_is_not_there(registry: RegistryClient) -> None:
    with pytest.raises(RegistryError) as raised:
        registry.versions("no-such-subject")
    assert (raised.value.code, raised.value.status) == (SUBJECT_NOT_FOUND, 404)
    assert raised.value.is_unknown
    with pytest.raises(RegistryError):
        registry.schema(999_999)
    with pytest.raises(RegistryError) as raised:
        registry.register(name("bad"), Schema("{"))
    assert raised.value.code == INVALID_SCHEMA


def test_compatibility_is_checked_and_configured(registry: RegistryClient) -> None:
    subject = name("ticks")
    registry.register(subject, TICK)
    assert registry.check(subject, WIDER) == []
    reasons = registry.check(subject, OTHER)
    assert reasons
    assert "symbol" in " ".join(reasons)
    assert registry.check(subject, OTHER, None)
    with pytest.raises(RegistryError) as raised:
        registry.register(subject, OTHER)
    assert raised.value.status == 409
    registry.set_config(subject, compatibility="NONE")
    assert registry.config(subject)["compatibilityLevel"] == "NONE"
    assert registry.check(subject, OTHER) == []
    registry.delete_config(subject)
    assert registry.config(subject) == registry.config()


def test_modes(registry: RegistryClient) -> None:
    subject = name("ticks")
    assert registry.mode() == "READWRITE"
    registry.register(subject, TICK)
    assert registry.set_mode(subject, "READONLY") == "READONLY"
    with pytest.raises(RegistryError):
        registry.register(subject, WIDER)
    registry.delete_mode(subject)
    assert registry.mode(subject) == "READWRITE"


def test_deleting(registry: RegistryClient) -> None:
    subject = name("ticks")
    place = registry.register(subject, TICK)
    registry.register(subject, WIDER)
    assert registry.delete_version(subject, 2) == 2
    assert registry.versions(subject) == [1]
    assert registry.versions(subject, deleted=True) == [1, 2]
    assert registry.delete_subject(subject) == [1]
    assert subject not in registry.subjects()
    assert subject in registry.subjects(deleted=True)
    assert registry.lookup(subject, TICK, deleted=True).id == place.id
    registry.delete_subject(subject, permanent=True)
    assert subject not in registry.subjects(deleted=True)


def test_references(registry: RegistryClient) -> None:
    subject, user = name("ticks"), name("user")
    registry.register(subject, TICK)
    text = '{"type":"record","name":"Page","fields":[{"name":"tick","type":"Tick"}]}'
    schema = Schema(text, "AVRO", (Reference("Tick", subject, 1),))
    place = registry.register(user, schema)
    assert registry.version(user).schema.references == schema.references
    assert registry.referenced_by(subject, 1) == [place.id]


def test_what_it_knows(registry: RegistryClient) -> None:
    assert set(registry.types()) == {"AVRO", "JSON", "PROTOBUF"}
    assert "." in registry.contexts()


def test_the_next_address_is_asked_when_one_is_away(world: SchemaWorld) -> None:
    with RegistryClient(f"http://127.0.0.1:1, {world.url}/") as client:
        assert isinstance(client.subjects(), list)


def test_nobody_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKAESQUE_REGISTRY", "http://user:secret@127.0.0.1:1")
    with RegistryClient() as client:
        assert repr(client) == "<RegistryClient of http://127.0.0.1:1>"
        with pytest.raises(RegistryAwayError) as raised:
            client.subjects()
    assert "secret" not in str(raised.value)


def test_something_else_is_there(world: SchemaWorld) -> None:
    with (
        RegistryClient(f"{world.url}/nowhere") as client,
        pytest.raises(RegistryError) as raised,
    ):
        client.subjects()
    assert raised.value.status == 404


def test_many_threads_ask_one_client(registry: RegistryClient) -> None:
    subject = name("ticks")
    found: list[Any] = []

    def ask() -> None:
        place = registry.register(subject, TICK)
        found.append((place.id, registry.schema(place.id)))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
