"""Several registries on one topic agree, whoever is killed, restarted or cut off in between."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer
from tests import foreign
from tests.broker_process import BrokerProcess, free_port
from tests.registry_clients import V1, V2, avro
from tests.registry_kills import Registrar, answers_of, at_work, play_kills
from tests.registry_process import PatientRegistryProcess, RegistryProcess

pytestmark = pytest.mark.slow

TOPIC = "_schemas"


@pytest.fixture
def pair(tmp_path: Path, broker: BrokerProcess) -> Iterator[list[RegistryProcess]]:
    """Two registries of one broker."""
    with (
        RegistryProcess(broker.bootstrap, tmp_path / "one.log") as one,
        RegistryProcess(broker.bootstrap, tmp_path / "two.log") as two,
    ):
        yield [one, two]


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    """One for all: each client loads the certificates of the world, which takes a while."""
    limits = httpx.Limits(max_connections=None)
    with httpx.Client(timeout=60, limits=limits) as client:
        yield client


def post(http: httpx.Client, url: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = http.post(f"{url}{path}", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_concurrent_registrations_give_unique_and_stable_ids(
    tmp_path: Path, http: httpx.Client, broker: BrokerProcess, pair: list[RegistryProcess]
) -> None:
    def register(number: int) -> tuple[str, int]:
        text = avro(f"f{number % 25}:string") if number < 50 else V1
        url = pair[number % 2].url
        answer = post(http, url, f"/subjects/s{number}/versions", {"schema": text})
        return text, answer["id"]

    # Fifty of 25 schemas, each through both registries, and fifty of the same one.
    with ThreadPoolExecutor(50) as threads:
        known = list(threads.map(register, range(100)))
    ids = dict(known)
    assert len(set(known)) == len(ids) == 26, "a schema has one id, wherever it was registered"
    assert sorted(ids.values()) == list(range(1, 27))
    before = [answers_of(it.url) for it in pair]
    assert before[0] == before[1]
    for running in pair:
        running.stop()
    broker.stop()
    broker.start()
    with (
        RegistryProcess(broker.bootstrap, tmp_path / "again.log") as one,
        RegistryProcess(broker.bootstrap, tmp_path / "too.log") as two,
    ):
        assert answers_of(one.url) == answers_of(two.url) == before[0]
        new = post(http, two.url, "/subjects/new/versions", {"schema": avro("new:int")})
        assert new["id"] == 27
        assert http.get(f"{one.url}/schemas/ids/27").status_code == 200


def test_what_one_registry_writes_the_other_knows_at_once(
    http: httpx.Client, pair: list[RegistryProcess]
) -> None:
    one, two = (it.url for it in pair)
    for number in range(10):
        made = post(http, one, "/subjects/a/versions", {"schema": avro(f"x{number}:int=0")})
        assert http.get(f"{two}/schemas/ids/{made['id']}").status_code == 200
        one, two = two, one
    assert http.put(f"{one}/config/a", json={"compatibility": "NONE"}).status_code == 200
    assert post(http, two, "/subjects/a/versions", {"schema": avro("x:string")})["id"]
    assert http.delete(f"{two}/subjects/a").status_code == 200
    refused = http.delete(f"{one}/subjects/a").json()
    assert refused["error_code"] == 40404


def test_a_refusal_is_not_made_on_old_knowledge(
    http: httpx.Client, pair: list[RegistryProcess]
) -> None:
    """Whoever wrote last is not asked whether it still knows all: it must find out by itself."""
    one, two = (it.url for it in pair)
    for number in range(10):
        subject = f"/subjects/s{number}"
        post(http, two, f"{subject}/versions", {"schema": V1})
        assert http.delete(f"{one}{subject}").json() == [1]
        gone = http.delete(f"{two}{subject}", params={"permanent": "true"})
        assert gone.json() == [1]


def test_kills_in_the_middle_lose_nothing(tmp_path: Path, broker: BrokerProcess) -> None:
    play_kills(tmp_path, broker, rounds=3)


def test_a_topic_that_confluents_registry_wrote_is_read_right(
    tmp_path: Path, http: httpx.Client, broker: BrokerProcess
) -> None:
    foreign.create_topic(broker.bootstrap, TOPIC, configs={"cleanup.policy": "compact"})
    _write(broker.bootstrap, _CONFLUENTS)
    with RegistryProcess(broker.bootstrap, tmp_path / "registry.log") as registry:
        url = registry.url
        assert http.get(f"{url}/subjects").json() == [":.eu:ticks", "ticks-value"]
        assert http.get(f"{url}/subjects/ticks-value/versions").json() == [2, 3]
        every = {"deleted": "true"}
        assert http.get(f"{url}/subjects", params=every).json() == [
            ":.eu:ticks",
            "gone",
            "ticks-value",
        ]
        third = http.get(f"{url}/subjects/ticks-value/versions/3").json()
        assert third["id"] == 9
        assert third["metadata"] == {"properties": {"owner": "ada"}}
        assert third["references"] == [{"name": "Price", "subject": "gone", "version": 1}]
        assert http.get(f"{url}/config").json()["compatibilityLevel"] == "FULL"
        assert http.get(f"{url}/config/ticks-value").json() == {"compatibilityLevel": "NONE"}
        assert http.get(f"{url}/config/was-set").status_code == 404
        assert http.get(f"{url}/mode").json() == {"mode": "READWRITE"}
        assert http.get(f"{url}/mode/gone").json() == {"mode": "READONLY"}
        assert http.get(f"{url}/contexts").json() == [".", ".eu"]
        assert http.get(f"{url}/schemas/ids/1").status_code == 404, "a tombstone removes"
        assert http.get(f"{url}/contexts/.eu/schemas/ids/1").status_code == 200
        left_out = [line for line in registry.log.splitlines() if "left out" in line]
        assert len(left_out) == 3
        # A Confluent registry goes on beside it, and ids go on from the highest.
        _write(broker.bootstrap, [_schema("ticks-value", 4, 20, avro("late:int"))])
        assert http.get(f"{url}/schemas/ids/20").status_code == 200
        assert post(http, url, "/subjects/new/versions", {"schema": avro("n:int")})["id"] == 21
        assert "Traceback" not in registry.log


def test_what_is_written_is_in_confluents_form(
    tmp_path: Path, http: httpx.Client, broker: BrokerProcess
) -> None:
    with RegistryProcess(broker.bootstrap, tmp_path / "registry.log") as registry:
        url = registry.url
        post(http, url, "/subjects/a/versions", {"schema": V1})
        post(http, url, "/subjects/a/versions", {"schema": V2})
        http.put(f"{url}/config", json={"compatibility": "FULL"})
        http.put(f"{url}/config/a", json={"compatibility": "NONE"})
        http.put(f"{url}/mode/a", json={"mode": "READWRITE"})
        http.delete(f"{url}/subjects/a/versions/1")
        http.delete(f"{url}/subjects/a/versions/1", params={"permanent": "true"})
        http.delete(f"{url}/subjects/a")
    _, end = foreign.watermarks(broker.bootstrap, TOPIC)
    # Of the offsets some are the markers of transactions.
    records = foreign.read(broker.bootstrap, TOPIC, 11, isolation_level="read_committed")
    keys = [(it.key() or b"").decode() for it in records]
    assert keys == [
        '{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}',
        '{"keytype":"SCHEMA","subject":"a","version":2,"magic":1}',
        '{"keytype":"CONFIG","subject":null,"magic":0}',
        '{"keytype":"CONFIG","subject":"a","magic":0}',
        '{"keytype":"MODE","subject":"a","magic":0}',
        '{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}',
        '{"keytype":"NOOP","magic":0}',
        '{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}',
        '{"keytype":"DELETE_SUBJECT","subject":"a","magic":0}',
        '{"keytype":"MODE","subject":"a","magic":0}',
        '{"keytype":"CONFIG","subject":"a","magic":0}',
    ]
    values = [it.value() for it in records]
    first = json.loads(values[0] or b"")
    assert first.keys() >= {"subject", "version", "id", "schema", "deleted"}
    assert (first["id"], first["deleted"]) == (1, False)
    assert "schemaType" not in first, "Avro is what a schema is that says nothing"
    assert json.loads(values[2] or b"")["compatibilityLevel"] == "FULL"
    assert json.loads(values[4] or b"")["mode"] == "READWRITE"
    assert json.loads(values[5] or b"")["deleted"] is True
    assert values[7] is values[9] is values[10] is None
    assert json.loads(values[8] or b"") == {"subject": "a", "version": 2}
    assert end > len(keys)


def test_records_of_an_aborted_transaction_never_show(
    tmp_path: Path, http: httpx.Client, broker: BrokerProcess
) -> None:
    with RegistryProcess(broker.bootstrap, tmp_path / "registry.log") as registry:
        producer = Producer(
            {"bootstrap.servers": broker.bootstrap, "transactional.id": "x", "log_level": 0}
        )
        producer.init_transactions(20)
        producer.begin_transaction()
        key, value = _schema("aborted", 1, 1, V1)
        producer.produce(TOPIC, value, key, partition=0)
        producer.flush(20)
        # A registration is not kept waiting by somebody else's open transaction for ever.
        producer.abort_transaction(20)
        assert post(http, registry.url, "/subjects/kept/versions", {"schema": V2})["id"] == 1
        assert http.get(f"{registry.url}/subjects").json() == ["kept"]


def test_a_registry_outlives_its_broker(
    tmp_path: Path, http: httpx.Client, broker: BrokerProcess
) -> None:
    log = tmp_path / "registry.log"
    with PatientRegistryProcess(broker.bootstrap, log, "--timeout", "2") as registry:
        url = registry.url
        post(http, url, "/subjects/a/versions", {"schema": V1})
        broker.kill()
        known = http.get(f"{url}/schemas/ids/1")
        assert known.status_code == 200, "what is known is answered without the broker"
        with ThreadPoolExecutor(3) as threads:
            unknown = threads.submit(http.get, f"{url}/schemas/ids/2")
            health = threads.submit(http.get, f"{url}/health")
            waiting = threads.submit(post, http, url, "/subjects/a/versions", {"schema": V2})
            assert unknown.result().json()["error_code"] == 50002
            assert health.result().status_code == 503
            broker.start()
            assert waiting.result()["id"] == 2, "who is patient is served when it is back"
        assert http.get(f"{url}/subjects/a/versions").json() == [1, 2]
        foreign.until(lambda: http.get(f"{url}/health").status_code == 200)
        assert "Traceback" not in registry.log


def test_a_registry_without_a_broker_says_so(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="did not start") as caught:
        RegistryProcess(f"127.0.0.1:{free_port()}", tmp_path / "registry.log")
    assert "Traceback" not in str(caught.value)
    assert "kafkaesque" in str(caught.value)


def test_registering_goes_on_while_the_other_is_stopped(
    tmp_path: Path, http: httpx.Client, broker: BrokerProcess
) -> None:
    with (
        RegistryProcess(broker.bootstrap, tmp_path / "one.log") as one,
        RegistryProcess(broker.bootstrap, tmp_path / "two.log") as two,
    ):
        registrar = Registrar([two.url, one.url], "Stop")
        http.put(f"{one.url}/config", json={"compatibility": "NONE"})
        with at_work([registrar]):
            time.sleep(0.5)
            two.stop()
            seen = len(registrar.acknowledged)
            foreign.until(lambda: len(registrar.acknowledged) > seen + 5)
        registrar.check(answers_of(one.url)["schemas"])


Record = tuple[str, str | None]


def _schema(subject: str, version: int, schema_id: int, text: str, **fields: Any) -> Record:
    key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
    value = {
        "subject": subject,
        "version": version,
        "id": schema_id,
        "md5": "AAAAAAAAAAAAAAAAAAAAAA==",
        "schema": text,
        "deleted": False,
        **fields,
    }
    return _compact(key), _compact(value)


def _compact(content: Any) -> str:
    return json.dumps(content, separators=(",", ":"))


def _key(kind: str, subject: str | None = None, **fields: Any) -> str:
    return _compact({"keytype": kind, "subject": subject, "magic": 0, **fields})


_PRICE = {"name": "Price", "subject": "gone", "version": 1}
_CONFLUENTS: list[Record] = [
    (_compact({"keytype": "NOOP", "magic": 0}), None),
    _schema("ticks-value", 1, 1, V1),
    _schema("ticks-value", 2, 2, V2),
    _schema("gone", 1, 3, avro("v:double", name="Price")),
    (_key("CONFIG"), '{"compatibilityLevel":"FULL"}'),
    (_key("CONFIG", "ticks-value"), '{"subject":"ticks-value","compatibilityLevel":"NONE"}'),
    (_key("CONFIG", "was-set"), '{"compatibilityLevel":"NONE"}'),
    (_key("CONFIG", "was-set"), None),
    (_key("MODE"), '{"mode":"READWRITE"}'),
    (_key("DELETE_SUBJECT", "gone"), '{"subject":"gone","version":1}'),
    (_key("MODE", "gone"), '{"subject":"gone","mode":"READONLY"}'),
    (_key("CLEAR_SUBJECT", "gone"), '{"subject":"gone"}'),
    (
        _compact({"keytype": "CONTEXT", "tenant": "default", "context": ".eu", "magic": 0}),
        '{"tenant":"default","context":".eu"}',
    ),
    _schema(":.eu:ticks", 1, 1, V1),
    _schema(
        "ticks-value",
        3,
        9,
        avro("p:Price", name="Offer"),
        schemaType="AVRO",
        references=[_PRICE],
        metadata={"properties": {"owner": "ada"}},
        ruleSet=None,
        ts=1700000000000,
        guid="not ours",
    ),
    (_compact({"keytype": "SCHEMA", "subject": "ticks-value", "version": 1, "magic": 1}), None),
    (_key("SOMETHING_NEW", "x"), "{}"),
    ("no json", "{}"),
    (_compact({"keytype": "SCHEMA", "subject": "bad", "version": 1, "magic": 1}), "[1]"),
]


def _write(bootstrap: str, records: list[Record]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for key, value in records:
        producer.produce(TOPIC, value, key, partition=0)
    assert producer.flush(20) == 0
