"""The options of the Spark source: what is understood, and what is refused in plain words."""

from pathlib import Path

import pytest

from kafkaesque.client.connection import Address
from kafkaesque.client.list_offsets import EARLIEST, LATEST
from kafkaesque.pipelines.source.options import (
    batch_options,
    decode_options,
    includes_headers,
    stream_options,
)
from kafkaesque.pipelines.source.security import OptionsError
from kafkaesque.types import TopicPartition

LEAST = {"kafka.bootstrap.servers": "a:1,b", "subscribe": "ticks"}
SASL = LEAST | {"kafka.security.protocol": "SASL_SSL"}
JAAS = (
    "org.apache.kafka.common.security.scram.ScramLoginModule required "
    'username="al\\"ice" password="p;w=1";'
)


def test_the_least_that_must_be_given_has_the_official_defaults() -> None:
    stream, batch = stream_options(LEAST), batch_options(LEAST)
    assert stream.connection.brokers == (Address("a", 1), Address("b", 9092))
    assert (stream.start, batch.start, batch.end) == (LATEST, EARLIEST, LATEST)
    assert stream.fail_on_data_loss
    assert stream.read_committed
    assert not stream.include_headers
    assert (stream.max_rows, stream.group, stream.min_partitions) == (None, None, 1)


def test_names_are_understood_in_any_case() -> None:
    options = {name.lower(): value for name, value in LEAST.items()}
    found = stream_options(options | {"maxoffsetspertrigger": "7", "groupid": "g"})
    assert (found.max_rows, found.group) == (7, "g")
    assert includes_headers(options | {"INCLUDEHEADERS": "True"})


def test_topics_are_chosen_by_name_by_pattern_or_by_partition() -> None:
    least = {"kafka.bootstrap.servers": "a:1"}
    named = stream_options(least | {"subscribe": "b, a,,b"}).selection
    assert named.topics == ("a", "b")
    assert stream_options(least | {"subscribePattern": "t.*"}).selection.pattern == "t.*"
    placed = stream_options(least | {"assign": '{"b": [1, 0], "a": [2]}'}).selection
    assert placed.places == (
        TopicPartition("a", 2),
        TopicPartition("b", 0),
        TopicPartition("b", 1),
    )


def test_values_are_decoded_by_a_subject_or_by_columns() -> None:
    registry = {"schema.registry.url": "http://r"}
    assert decode_options(LEAST) is None
    found = decode_options(LEAST | registry | {"decode": "Avro"})
    assert found is not None
    assert (found.form, found.subject, found.registry) == ("avro", "ticks-value", "http://r")
    chosen = {"subscribe": "a,b", "decode": "json", "subject": "s", "deadLetterTopic": "dead"}
    found = decode_options(LEAST | registry | chosen)
    assert found is not None
    assert (found.subject, found.dead_letter_topic) == ("s", "dead")
    # The columns of the user's own win over the registry's.
    found = decode_options(LEAST | registry | {"decode": "json", "valueSchema": "n INT"})
    assert found is not None
    assert (found.columns, found.subject) == ("n INT", None)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"decode": "xml"}, "decode is 'xml': use one of json, avro, protobuf"),
        ({"decode": "json"}, "give schema.registry.url or the columns as valueSchema"),
        ({"decode": "protobuf"}, "decode=protobuf needs a schema: give schema.registry.url$"),
        ({"decode": "avro", "valueSchema": "n INT"}, "valueSchema is for decode=json"),
        ({"valueSchema": "n INT"}, "valueSchema is for decode alone"),
        ({"deadLetterTopic": "dead"}, "deadLetterTopic is for decode alone"),
        (
            {"decode": "avro", "schema.registry.url": "http://r", "subscribe": "a,b"},
            "the topics do not name one subject: give subject",
        ),
    ],
)
def test_what_cannot_be_decoded_is_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(OptionsError, match=words):
        decode_options(LEAST | options)


def test_bounds_are_ends_moments_or_offsets() -> None:
    start = {"startingOffsets": '{"ticks": {"0": 12, "1": -2}}'}
    found = batch_options(LEAST | start | {"endingTimestamp": "99"})
    assert found.start == {TopicPartition("ticks", 0): 12, TopicPartition("ticks", 1): EARLIEST}
    assert found.end == 99
    assert stream_options(LEAST | {"startingTimestamp": "0"}).start == 0
    assert stream_options(LEAST | {"startingOffsets": "Earliest"}).start == EARLIEST


def test_the_login_is_taken_from_java_s_options_and_from_librdkafka_s() -> None:
    java = stream_options(
        SASL
        | {
            "kafka.sasl.jaas.config": JAAS,
            "kafka.sasl.mechanism": "SCRAM-SHA-512",
            "kafka.ssl.truststore.location": "ca.pem",
            "kafka.ssl.truststore.type": "PEM",
        }
    ).connection
    assert (java.user, java.password, java.sasl_mechanism) == (
        'al"ice',
        "p;w=1",
        "SCRAM-SHA-512",
    )
    assert java.enable_tls
    assert java.tls_verify
    assert java.tls_ca == Path("ca.pem")
    other = stream_options(
        SASL
        | {
            "kafka.sasl.username": "bob",
            "kafka.sasl.password": "",
            "kafka.enable.ssl.certificate.verification": "false",
        }
    ).connection
    assert (other.user, other.password, other.tls_verify) == ("bob", "", False)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"maxOffsetPerTrigger": "1"}, "no option maxOffsetPerTrigger: did you mean"),
        ({"kafka.bootstrap.servers": ""}, "give kafka.bootstrap.servers"),
        ({"kafka.bootstrap.servers": "a:b"}, "is not HOST:PORT"),
        ({"subscribe": ""}, "no topic is named: give one of subscribe"),
        ({"assign": '{"ticks": [0]}'}, "subscribe and assign are both given"),
        ({"subscribe": "", "assign": '{"ticks": 0}'}, "needs a list of partitions"),
        ({"subscribe": "", "subscribePattern": "("}, "correct it"),
        ({"startingOffsets": "first"}, "it is not JSON"),
        ({"startingOffsets": '{"ticks": {"0": -3}}'}, "ticks-0 cannot be at -3"),
        ({"startingOffsets": '{"ticks": [3]}'}, "an offset for each partition"),
        ({"startingOffsets": "earliest", "startingTimestamp": "1"}, "leave one out"),
        ({"endingOffsets": "latest"}, "for a batch"),
        ({"maxOffsetsPerTrigger": "0"}, "whole number from 1 on"),
        ({"minPartitions": "some"}, "whole number from 1 on"),
        ({"failOnDataLoss": "maybe"}, "give true or false"),
        ({"kafka.isolation.level": "none"}, "use read_committed or read_uncommitted"),
        ({"groupId": "a", "kafka.group.id": "b"}, "name two groups"),
        ({"kafka.security.protocol": "TLS"}, "use one of PLAINTEXT"),
        ({"kafka.sasl.username": "a"}, "make it SASL_PLAINTEXT or SASL_SSL"),
        ({"kafka.ssl.ca.location": "a"}, "make it SSL or SASL_SSL"),
        (SASL, "SASL needs a user and a password"),
        (SASL | {"kafka.sasl.mechanism": "GSSAPI"}, "use one of PLAIN"),
        (SASL | {"kafka.sasl.jaas.config": JAAS, "kafka.sasl.username": "a"}, "leave one out"),
        (
            {"kafka.security.protocol": "SSL", "kafka.ssl.truststore.location": "a.jks"},
            "export its certificates as PEM",
        ),
    ],
)
def test_what_cannot_be_followed_is_refused(more: dict[str, str], words: str) -> None:
    with pytest.raises(OptionsError, match=words):
        stream_options(LEAST | more)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"maxOffsetsPerTrigger": "5"}, "for a stream"),
        ({"groupId": "g"}, "for a stream"),
        ({"startingOffsets": "latest"}, "cannot start at latest"),
        ({"startingOffsets": '{"ticks": {"0": -1}}'}, "cannot start at latest"),
        ({"endingOffsets": "earliest"}, "cannot end at earliest"),
    ],
)
def test_a_batch_has_a_beginning_and_an_end(more: dict[str, str], words: str) -> None:
    with pytest.raises(OptionsError, match=words):
        batch_options(LEAST | more)
