"""The HTTP gateway with a schema registry: decoded events out, JSON in that a schema encodes."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from httpx_sse import connect_sse
from tests import decoded_ticks, foreign
from tests.decoded_ticks import FORMS, tick
from tests.gateway_process import GatewayProcess
from tests.in_process import InProcessBroker
from tests.registry_process import RegistryProcess

pytestmark = pytest.mark.slow

AT = "1970-01-01T00:00:00Z"


@dataclass
class World:
    bootstrap: str
    schemas: SchemaRegistryClient
    client: httpx.Client

    def written(self, form: str, count: int = 6) -> tuple[str, list[bytes]]:
        """A topic with so many ticks, and their bytes."""
        topic = foreign.create_topic(self.bootstrap)
        serialize = decoded_ticks.serializer(self.schemas, form)
        values = [serialize(tick(number), topic) for number in range(count)]
        decoded_ticks.write(self.bootstrap, topic, values)
        return topic, values


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("decode")
    with (
        InProcessBroker(None) as broker,
        RegistryProcess(broker.bootstrap, directory / "registry.log") as registry,
        SchemaRegistryClient({"url": registry.url}) as schemas,
        GatewayProcess(
            broker.bootstrap, directory / "gateway.log", "--registry", registry.url
        ) as gateway,
        httpx.Client(base_url=gateway.url, timeout=foreign.TIMEOUT_S) as client,
    ):
        yield World(broker.bootstrap, schemas, client)
        assert gateway.stop() == 0
        assert gateway.log == ""


@pytest.mark.parametrize("form", FORMS)
def test_pages_have_decoded_values_and_filters_see_them(world: World, form: str) -> None:
    topic, values = world.written(form)
    query = {"decode": "json", "where": "value.price > 2"}
    page = world.client.get(f"/topics/{topic}/events", params=query).json()
    assert [event["value"]["price"] for event in page["events"]] == [3.0, 4.0, 5.0]
    assert page["events"][0]["value_schema_id"] == int.from_bytes(values[0][1:5], "big")
    assert "decode=json" in page["next"]
    plain = world.client.get(f"/topics/{topic}/events", params={"where": query["where"]}).json()
    assert [event["offset"] for event in plain["events"]] == [3, 4, 5]
    assert "value_schema_id" not in plain["events"][0]


@pytest.mark.parametrize("form", ["avro", "json"])
def test_a_filter_finds_the_few_among_many(world: World, form: str) -> None:
    """So many that they are looked at together."""
    topic, _ = world.written(form, 3000)
    plain = [json.dumps(tick(number)).encode() for number in range(3000)]
    decoded_ticks.write(world.bootstrap, topic, plain)
    query = {"where": 'value.price >= 2995 and value.ticker == "GOOG"', "limit": "100"}
    page = world.client.get(f"/topics/{topic}/events", params=query).json()
    wanted = [2995, 2997, 2999, 5995, 5997, 5999]
    assert [event["offset"] for event in page["events"]] == wanted


def test_streams_and_one_event_are_decoded_too(world: World) -> None:
    topic, _ = world.written("avro", 2)
    path = f"/topics/{topic}/events?decode=json&until=end"
    said = [{**tick(number), "at": AT} for number in range(2)]
    lines = world.client.get(path, headers={"accept": "application/x-ndjson"}).text.splitlines()
    assert [json.loads(line)["value"] for line in lines] == said
    with connect_sse(world.client, "GET", path) as source:
        found = [json.loads(event.data)["value"] for event in source.iter_sse() if event.data[2:]]
    assert found == said
    place = f"/topics/{topic}/partitions/0/events/1"
    assert world.client.get(place, params={"decode": "json"}).json()["value"] == said[1]
    assert "value_schema_id" not in world.client.get(place).json()


def read_by_confluent(world: World, topic: str, form: str) -> list[Any]:
    deserialize: Any
    if form == "avro":
        deserialize = AvroDeserializer(world.schemas)
    elif form == "json":
        deserialize = JSONDeserializer(json.dumps(decoded_ticks.JSON))
    else:
        options = {"use.deprecated.format": False}
        deserialize = ProtobufDeserializer(decoded_ticks.tick_class(), options)
    context = SerializationContext(topic, MessageField.VALUE)
    found = [
        deserialize(message.value(), context) for message in foreign.read(world.bootstrap, topic, 3)
    ]
    if form == "protobuf":
        return [{"ticker": each.ticker, "price": each.price} for each in found]
    return [{name: each[name] for name in ("ticker", "price")} for each in found]


@pytest.mark.parametrize("form", FORMS)
def test_json_is_encoded_by_a_schema_for_foreign_readers(world: World, form: str) -> None:
    elsewhere, _ = world.written(form, 1)
    topic = foreign.create_topic(world.bootstrap)
    subject = f"{elsewhere}-value"
    schema_id = world.schemas.get_latest_version(subject).schema_id
    ticks = [tick(number) for number in range(3)]
    one = world.client.post(
        f"/topics/{topic}/events?value_schema_id={schema_id}", json={"value": ticks[0]}
    )
    assert one.json() == {"partition": 0, "offset": 0}
    many = world.client.post(
        f"/topics/{topic}/events", json={"value_schema": subject, "events": [{"value": ticks[1]}]}
    )
    assert many.json()["failed"] == 0
    line = json.dumps({"value": ticks[2]})
    lines = world.client.post(
        f"/topics/{topic}/events?schema={subject}",
        content=line,
        headers={"content-type": "application/x-ndjson"},
    )
    assert lines.status_code == 200
    assert read_by_confluent(world, topic, form) == ticks


@pytest.mark.parametrize("form", FORMS)
def test_what_a_schema_does_not_take_is_refused_with_its_field(world: World, form: str) -> None:
    topic, _ = world.written(form, 1)
    path = f"/topics/{topic}/events?value_schema={topic}-value"
    wrong = {"value": {"ticker": "AMZN", "price": "dear"}}
    answer = world.client.post(path, json=wrong)
    assert answer.status_code == 400
    assert answer.json()["error"] == "INVALID_RECORD"
    assert answer.json()["field"] == "price"
    assert f"{topic}-value" in answer.json()["message"]
    many = world.client.post(path, json=[{"value": tick(1)}, wrong])
    assert (many.status_code, many.json()["event"], many.json()["field"]) == (400, 1, "price")
    lines = "\n".join(map(json.dumps, [{"value": tick(1)}, wrong]))
    mixed = world.client.post(path, content=lines, headers={"content-type": "application/x-ndjson"})
    assert mixed.status_code == 207
    assert [json.loads(line).get("field") for line in mixed.text.splitlines()] == [None, "price"]
    offsets = [message.offset() for message in foreign.read(world.bootstrap, topic, 2)]
    assert offsets == [0, 1]


def test_keys_have_schemas_of_their_own(world: World) -> None:
    topic, _ = world.written("avro", 1)
    schema = Schema('"string"', "AVRO")
    schema_id = world.schemas.register_schema(f"{topic}-key", schema)
    path = f"/topics/{topic}/events?key_schema_id={schema_id}&schema={topic}-value"
    body = json.dumps(tick(1))
    headers = {"content-type": "text/plain", "Kafkaesque-Key": "AMZN"}
    assert world.client.post(path, content=body, headers=headers).status_code == 200
    page = world.client.get(f"/topics/{topic}/events?decode=json&from=1").json()
    (event,) = page["events"]
    assert (event["key"], event["key_schema_id"]) == ("AMZN", schema_id)
    assert event["value"]["price"] == 1.0
    # A tombstone is one with a schema, too.
    assert world.client.post(path, json={"key": "AMZN", "value": None}).status_code == 200


@pytest.mark.parametrize(
    ("query", "status", "word"),
    [
        ("value_schema_id=999999", 404, "UNKNOWN_SCHEMA"),
        ("schema=nobody-value", 404, "UNKNOWN_SCHEMA"),
        ("schema_id=0", 400, "INVALID_PARAMETER"),
        ("schema_id=1&schema=a", 400, "INVALID_PARAMETER"),
    ],
)
def test_schemas_that_are_not_there(world: World, query: str, status: int, word: str) -> None:
    topic = foreign.create_topic(world.bootstrap)
    answer = world.client.post(f"/topics/{topic}/events?{query}", json={"value": {}})
    assert (answer.status_code, answer.json()["error"]) == (status, word)
