"""Topics in Spark over TLS and with a login: tasks, planning and group commits alike.

Our broker has neither; a proxy before it does.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.certificates import Certificate, make_certificate
from tests.guarded_proxy import GuardedProxy
from tests.wire.client import RawClient
from tests.wire.requests import batch, create_topic, produce, produce_answer

from kafkaesque.protocol.messages.create_topics import CreateTopicsResponse

pytestmark = pytest.mark.slow

PASSWORD = "sesame"
LOGIN = {
    "kafka.sasl.mechanism": "SCRAM-SHA-256",
    "kafka.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
    f'username="eve" password="{PASSWORD}";',
}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(params=["SSL", "SASL_PLAINTEXT"])
def cluster(
    request: pytest.FixtureRequest, certificate: Certificate, tmp_path: Path
) -> Iterator[dict[str, str]]:
    """The options that a user gives; the topic `orders` has three records."""
    protocol: str = request.param
    guarded = GuardedProxy(
        certificate if protocol.endswith("SSL") else None,
        PASSWORD if protocol.startswith("SASL") else None,
    )
    options = {"kafka.security.protocol": protocol, "kafka.bootstrap.servers": guarded.address}
    if protocol.startswith("SASL"):
        options |= LOGIN
    if protocol.endswith("SSL"):
        options["kafka.ssl.truststore.type"] = "PEM"
        options["kafka.ssl.truststore.location"] = str(certificate.certificate)
    with guarded, BrokerProcess(tmp_path / "data", "--advertise", guarded.address) as broker:
        guarded.forward_to(broker.port)
        # Past the proxy, with a client that follows no advertised address.
        with RawClient(broker.bootstrap) as raw:
            raw.call(create_topic("orders", 1), CreateTopicsResponse, 7)
            raw.send(produce("orders", 0, batch([b'{"n":1}', b'{"n":2}', b"?"])), 9)
            assert produce_answer(raw.receive()).error_code == 0
        yield options


def test_a_stream_reads_commits_and_sends_letters_over_it(
    spark: SparkSession, cluster: dict[str, str], tmp_path: Path
) -> None:
    more = {"subscribe": "orders", "startingOffsets": "earliest", "groupId": "readers"}
    decode = {"decode": "json", "valueSchema": "n INT", "deadLetterTopic": "dead"}
    frame = spark.readStream.format("kafkaesque").options(**cluster | more | decode).load()
    numbers: list[int] = []

    def keep(rows: DataFrame, _: int) -> None:
        numbers.extend(row.value.n for row in rows.collect())

    placed = frame.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path / "c"))
    query = placed.trigger(availableNow=True).start()
    query.awaitTermination(100)
    query.stop()
    assert numbers == [1, 2]
    secured = {
        "security_protocol": cluster["kafka.security.protocol"],
        "ssl_ca_location": cluster.get("kafka.ssl.truststore.location"),
    }
    if "kafka.sasl.mechanism" in cluster:
        secured |= {"sasl_mechanism": "SCRAM-SHA-256"}
        secured |= {"sasl_username": "eve", "sasl_password": PASSWORD}
    settings: dict[str, Any] = {name: value for name, value in secured.items() if value}
    (letter,) = foreign.read(cluster["kafka.bootstrap.servers"], "dead", 1, **settings)
    assert letter.value() == b"?"
    reader = foreign.consumer(cluster["kafka.bootstrap.servers"], "readers", **settings)
    (place,) = reader.committed([TopicPartition("orders", 0)], foreign.TIMEOUT_S)
    reader.close()
    assert place.offset == 3


@pytest.mark.parametrize("cluster", ["SASL_SSL"], indirect=True)
def test_a_wrong_password_is_told_at_once(spark: SparkSession, cluster: dict[str, str]) -> None:
    login = cluster["kafka.sasl.jaas.config"].replace(PASSWORD, "guess")
    options = cluster | {"kafka.sasl.jaas.config": login, "subscribe": "orders"}
    with pytest.raises(PySparkException, match=r"(?i)password|login|user"):
        spark.read.format("kafkaesque").options(**options).load().collect()
