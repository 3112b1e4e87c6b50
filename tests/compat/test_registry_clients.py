"""Our registry on Apache Kafka, and Confluent's Go serializers on our registry.

Java's KafkaAvroSerializer is not on Maven Central, which is where `make compat` gets its jars.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.wrappers_pb2 import StringValue
from tests import foreign
from tests.compat import tools
from tests.compat.apache_kafka import ApacheKafka
from tests.registry_clients import V1, V2, avro
from tests.registry_kills import answers_of
from tests.registry_process import RegistryProcess

from kafkaesque import Producer
from kafkaesque.client.decoder import Decoder
from kafkaesque.client.registry import RegistryClient

pytestmark = pytest.mark.compat

TICK = avro("symbol:string", "price:double")
TICK_JSON = json.dumps(
    {
        "type": "object",
        "properties": {"symbol": {"type": "string"}, "price": {"type": "number"}},
        "required": ["symbol", "price"],
    }
)


@pytest.fixture(scope="module")
def registry(
    apache_kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RegistryProcess]:
    log = tmp_path_factory.mktemp("registry") / "log"
    with RegistryProcess(apache_kafka.bootstrap, log) as running:
        yield running
        assert "Traceback" not in running.log


def test_two_registries_on_apache_kafka_agree_and_start_again(
    tmp_path: Path, apache_kafka: ApacheKafka
) -> None:
    topic = ("--topic", foreign.name("_schemas"))
    with (
        RegistryProcess(apache_kafka.bootstrap, tmp_path / "one.log", *topic) as one,
        RegistryProcess(apache_kafka.bootstrap, tmp_path / "two.log", *topic) as two,
        httpx.Client(timeout=60) as http,
    ):
        for number in range(8):
            url = (one, two)[number % 2].url
            body = {"schema": avro(f"f{number}:int=0")}
            made = http.post(f"{url}/subjects/s/versions", json=body)
            assert made.json()["id"] == number + 1, made.text
        assert http.delete(f"{one.url}/subjects/s/versions/1").json() == 1
        assert http.delete(f"{two.url}/subjects/s/versions/1?permanent=true").json() == 1
        before = answers_of(one.url)
        assert before == answers_of(two.url)
    with RegistryProcess(apache_kafka.bootstrap, tmp_path / "again.log", *topic) as again:
        assert answers_of(again.url) == before
    assert "Traceback" not in (tmp_path / "one.log").read_text()


def test_confluents_python_serializers_work_on_apache_kafka(registry: RegistryProcess) -> None:
    topic = foreign.name("ticks")
    context = SerializationContext(topic, MessageField.VALUE)
    with SchemaRegistryClient({"url": registry.url}) as client:
        data = AvroSerializer(client, TICK)({"symbol": "PY", "price": 2.5}, context)
        assert AvroDeserializer(client)(data, context) == {"symbol": "PY", "price": 2.5}


@pytest.mark.parametrize("kind", ["avro", "json", "protobuf"])
def test_what_go_writes_python_reads(
    kind: str, apache_kafka: ApacheKafka, registry: RegistryProcess
) -> None:
    topic = foreign.create_topic(apache_kafka.bootstrap)
    data = bytes.fromhex(_go(registry.url, "write", kind, topic))
    foreign.produce(apache_kafka.bootstrap, topic, [data])
    (message,) = foreign.read(apache_kafka.bootstrap, topic, 1)
    with RegistryClient(registry.url) as client:
        decoder = Decoder(client)
        decoder.learn(decoder.missing([message.value()]))
        found = decoder.document(message.value() or b"")
    assert found == ("GO" if kind == "protobuf" else {"symbol": "GO", "price": 1.5})


@pytest.mark.parametrize("kind", ["avro", "json", "protobuf"])
def test_what_python_writes_go_reads(
    kind: str, apache_kafka: ApacheKafka, registry: RegistryProcess
) -> None:
    topic = foreign.create_topic(apache_kafka.bootstrap)
    schema: Any = {"avro": TICK, "json": TICK_JSON, "protobuf": StringValue}[kind]
    value: Any = {"symbol": "PY", "price": 2.5}
    if kind == "protobuf":
        value = StringValue(value="PY")
    with Producer(
        apache_kafka.bootstrap, topic, value=kind, schema=schema, registry=registry.url
    ) as producer:
        producer.send(value=value)
    (message,) = foreign.read(apache_kafka.bootstrap, topic, 1)
    found = json.loads(_go(registry.url, "read", kind, topic, (message.value() or b"").hex()))
    assert found["symbol"] == "PY"
    assert found["price"] == (0 if kind == "protobuf" else 2.5)


def test_a_schema_that_go_registered_is_checked_like_any_other(registry: RegistryProcess) -> None:
    topic = foreign.name("checked")
    _go(registry.url, "write", "avro", topic)
    with httpx.Client(base_url=registry.url, timeout=60) as http:
        path = f"/subjects/{topic}-value/versions"
        assert http.post(path, json={"schema": V2}).status_code == 200
        assert http.post(path, json={"schema": V1}).status_code == 200
        refused = http.post(path, json={"schema": avro("symbol:string", "new:int")})
        assert refused.json()["error_code"] == 40901


def _go(url: str, *arguments: str) -> str:
    *words, digits = arguments if arguments[0] == "read" else (*arguments, "")
    tool = tools.go_registry_client()
    finished = subprocess.run(
        [*tool.command, url, *words],
        env=tool.full_environment(),
        input=digits,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.strip()
