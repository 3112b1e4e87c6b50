"""An App on Apache Kafka itself. What it does on our broker is in tests/e2e/ and tests/crash/."""

from pathlib import Path
from typing import Any

import pytest
from tests import foreign
from tests.compat.apache_kafka import ApacheKafka
from tests.crash.app_kills import play
from tests.kafka_python import KafkaConsumer, KafkaProducer
from tests.running_app import RunningApp

from kafkaesque.client.app import App, State
from kafkaesque.event import Event

pytestmark = pytest.mark.compat

# A member that comes back under the same name takes its own place at once.
STATIC = {"group.instance.id": "app-1", "session.timeout.ms": 6000}


@pytest.mark.parametrize(
    "settings",
    [{}, {"partition.assignment.strategy": "range"}, {"group.protocol": "consumer"}],
    ids=["cooperative", "range", "consumer-protocol"],
)
def test_handlers_retries_dead_letters_and_stops(
    apache_kafka: ApacheKafka, settings: dict[str, Any]
) -> None:
    bootstrap = apache_kafka.bootstrap
    topic = foreign.create_topic(bootstrap, partitions=2)
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for number in range(40):
        value = b"poison" if number == 10 else b"%d" % number
        producer.send(topic, value, b"key", [("source", b"web")], partition=number % 2)
    producer.flush()
    producer.close()
    app = App(bootstrap, settings=settings, commit_interval_s=0.1)
    single, fussy = foreign.name("single"), foreign.name("fussy")
    handled: list[int] = []
    quick: dict[str, Any] = {"retries": 1, "backoff_s": 0.01}

    @app.handle(topic, group=single, value="str", **quick)
    async def number_of(event: Event) -> None:
        handled.append(int(event.value))

    @app.handle(topic, group=fussy, value="str", batch=8, on_failure="stop", **quick)
    def numbers_of(events: list[Event]) -> None:
        for event in events:
            int(event.value)

    def places(group: str) -> list[int]:
        return [foreign.committed(bootstrap, group, topic, number).offset for number in range(2)]

    with RunningApp(app):
        foreign.until(lambda: places(single) == [20, 20])
        foreign.until(lambda: places(fussy) == [5, 20])
        stopped = [it for it in app.status if it.state is State.STOPPED]
        assert [(it.group, it.partition, it.position) for it in stopped] == [(fussy, 0, 5)]
    assert sorted(handled) == [number for number in range(40) if number != 10]
    reader = KafkaConsumer(
        f"{topic}.dead", bootstrap_servers=bootstrap, auto_offset_reset="earliest"
    )
    letter = next(reader)
    reader.close()
    assert (letter.key, letter.value, letter.headers[0]) == (b"key", b"poison", ("source", b"web"))
    assert b"invalid literal for int" in dict(letter.headers)["kafkaesque.error"]


@pytest.mark.timeout(300)
def test_a_killed_app_skips_nothing(apache_kafka: ApacheKafka, tmp_path: Path) -> None:
    play(apache_kafka.bootstrap, tmp_path, rounds=10, kind="batch", seed=11, settings=STATIC)
