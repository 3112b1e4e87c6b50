"""Events over HTTP with Apache Kafka behind the gateway: written, streamed, cut, resumed."""

from collections.abc import Iterator

import httpx
import pytest
from confluent_kafka import TopicPartition
from httpx_sse import connect_sse
from tests import foreign
from tests.compat.apache_kafka import ApacheKafka
from tests.cutting_proxy import CuttingProxy
from tests.gateway_process import GatewayProcess

from kafkaesque.client.http import HttpConsumer, HttpProducer

pytestmark = pytest.mark.compat


@pytest.fixture(scope="module")
def gateway(
    apache_kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    log = tmp_path_factory.mktemp("gateway") / "log"
    with GatewayProcess(apache_kafka.bootstrap, log) as gateway:
        yield gateway
        assert gateway.stop() == 0
        assert gateway.log == ""


def test_topics_and_events_go_in_and_come_out(gateway: GatewayProcess) -> None:
    topic = foreign.name("ticks")
    with httpx.Client(base_url=gateway.url, timeout=30) as client:
        assert client.get("/health").status_code == 200
        made = client.post("/topics", json={"name": topic, "partitions": 3, "replicas": 1})
        assert made.status_code == 201, made.text
        path = f"/topics/{topic}/events"
        foreign.until(lambda: client.get(path).status_code == 200)
        event = {"key": "key1", "value": {"price": 1}, "headers": [["a", "b"]]}
        assert client.post(path, json=event).json() == {"partition": 2, "offset": 0}
        many = client.post(path, json=[event, event | {"partition": 9}])
        assert many.status_code == 207
        lines = b'{"key":"key1","value":"x"}\noops\n'
        headers = {"content-type": "application/x-ndjson"}
        assert client.post(path, content=lines, headers=headers).status_code == 207
        assert client.post(f"{path}-none", json=event).status_code == 404
        page = client.get(f"{path}?limit=2").json()
        assert page["position"] == "0:0,1:0,2:2"
        assert len(client.get(page["next"]).json()["events"]) == 1
        one = client.get(f"/topics/{topic}/partitions/2/events/0").json()
        assert (one["value"], one["headers"]) == ('{"price":1}', [["a", "b"]])
        assert client.get(f"/topics/{topic}/partitions/2/events/9").status_code == 404
        with connect_sse(client, "GET", f"{path}?from=@1700000000000") as source:
            first = next(message for message in source.iter_sse() if message.data)
            assert first.id == "0:0,1:0,2:1"


def test_what_retention_has_removed_is_told_as_a_gap(
    apache_kafka: ApacheKafka, gateway: GatewayProcess
) -> None:
    topic = foreign.create_topic(apache_kafka.bootstrap)
    foreign.produce(apache_kafka.bootstrap, topic, ["0", "1", "2"])
    place = TopicPartition(topic, 0, 2)
    foreign.admin(apache_kafka.bootstrap).delete_records([place])[place].result(20)
    page = httpx.get(f"{gateway.url}/topics/{topic}/events?from=0:1", timeout=30).json()
    assert [gap["reason"] for gap in page["gaps"]] == ["expired"]
    assert [event["offset"] for event in page["events"]] == [2]


def test_groups_are_described_and_moved(apache_kafka: ApacheKafka, gateway: GatewayProcess) -> None:
    topic = foreign.create_topic(apache_kafka.bootstrap)
    foreign.produce(apache_kafka.bootstrap, topic, ["0", "1", "2"])
    group = foreign.name("group")
    path = f"{gateway.url}/groups/{group}"
    foreign.commit(apache_kafka.bootstrap, group, TopicPartition(topic, 0, 2))
    assert httpx.get(path, timeout=30).json()["lag"] == 1
    httpx.post(f"{path}/offsets", json={"to": "earliest"}, timeout=30).raise_for_status()
    assert httpx.get(path, timeout=30).json()["lag"] == 3


def test_a_stream_that_is_cut_is_whole(apache_kafka: ApacheKafka, gateway: GatewayProcess) -> None:
    topic = foreign.create_topic(apache_kafka.bootstrap, partitions=3)
    with HttpProducer(gateway.url, topic) as producer:
        producer.send_many(None, range(500), key=str)
    with CuttingProxy(gateway.port, 20, 4000, seed=7) as proxy:
        found = []
        for event in HttpConsumer(topic, proxy.url):
            found.append(event.value)
            if len(found) == 500:
                break
        assert proxy.cut >= 10
    assert sorted(found) == list(range(500))
