"""Writing events over HTTP: what a gateway stores, what it answers, and what it refuses."""

import base64
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests import foreign
from tests.broker_process import BrokerProcess, free_port
from tests.gateway_process import GatewayProcess

JSON = {"content-type": "application/json"}
NDJSON = {"content-type": "application/x-ndjson"}
MAX_BODY = 100_000


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with BrokerProcess(tmp_path_factory.mktemp("broker") / "data") as broker:
        yield broker.bootstrap


@pytest.fixture(scope="module")
def client(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    log = tmp_path_factory.mktemp("gateway") / "log"
    with (
        GatewayProcess(bootstrap, log, "--max-body-bytes", str(MAX_BODY)) as gateway,
        httpx.Client(base_url=gateway.url, timeout=60) as client,
    ):
        yield client
        assert gateway.stop() == 0
        assert gateway.log == ""


@pytest.fixture
def topic(bootstrap: str) -> str:
    return foreign.create_topic(bootstrap, partitions=3)


def stored(bootstrap: str, topic: str, place: dict[str, int]) -> Any:
    (message,) = foreign.read(bootstrap, topic, 1, place["offset"], place["partition"])
    return message


@pytest.mark.slow
def test_one_event_is_written_with_all_that_it_has(
    client: httpx.Client, bootstrap: str, topic: str
) -> None:
    event = {
        "key": "key1",
        "value": {"price": 101},
        "headers": [["source", "web"], ["source", {"base64": "/w=="}]],
        "timestamp": 1700000000000,
    }
    answer = client.post(f"/topics/{topic}/events", json=event)
    assert answer.status_code == 200
    # Where Java's clients put key1 of three partitions.
    assert answer.json() == {"partition": 2, "offset": 0}
    message = stored(bootstrap, topic, answer.json())
    assert (message.key(), message.value()) == (b"key1", b'{"price":101}')
    assert message.headers() == [("source", b"web"), ("source", b"\xff")]
    assert message.timestamp()[1] == 1700000000000


def test_many_events_are_answered_in_order_with_an_error_in_its_place(
    client: httpx.Client, topic: str
) -> None:
    events = [{"value": "a", "partition": 0}, {"value": "b", "partition": 7}, {"value": "c"}]
    answer = client.post(f"/topics/{topic}/events", json=events)
    assert answer.status_code == 207
    first, refused, last = answer.json()["results"]
    assert first == {"partition": 0, "offset": 0}
    assert refused["error"] == "UNKNOWN_TOPIC_OR_PARTITION"
    assert f"GET /topics/{topic}" in refused["message"]
    assert last.keys() == {"partition", "offset"}
    assert answer.json()["failed"] == 1


def test_if_none_of_many_is_written_the_status_says_why(client: httpx.Client, topic: str) -> None:
    answer = client.post(f"/topics/{topic}/events", json={"events": [{"value": 1, "partition": 9}]})
    assert answer.status_code == 404
    assert answer.json()["results"][0]["error"] == "UNKNOWN_TOPIC_OR_PARTITION"


def test_nothing_of_a_list_with_a_mistake_is_written(
    client: httpx.Client, bootstrap: str, topic: str
) -> None:
    answer = client.post(f"/topics/{topic}/events", json=[{"value": "a"}, {"valu": "b"}])
    assert answer.status_code == 400
    assert (answer.json()["error"], answer.json()["event"]) == ("INVALID_EVENT", 1)
    assert [foreign.watermarks(bootstrap, topic, each)[1] for each in range(3)] == [0, 0, 0]


def test_lines_are_independent_of_each_other(client: httpx.Client, topic: str) -> None:
    lines = b'{"value": "a"}\n\n{"value": oops}\r\n{"value": "b"}'
    answer = client.post(f"/topics/{topic}/events", content=lines, headers=NDJSON)
    assert answer.status_code == 207
    assert answer.headers["content-type"] == "application/x-ndjson"
    first, wrong, last = map(json.loads, answer.text.splitlines())
    assert first.keys() == last.keys() == {"partition", "offset"}
    assert (wrong["line"], wrong["column"]) == (3, 11)
    assert wrong["message"].startswith("line 3, column 11: it is not JSON")


def test_a_long_body_of_lines_is_taken_as_it_comes(
    client: httpx.Client, bootstrap: str, topic: str
) -> None:
    count = 5000

    def body() -> Iterator[bytes]:
        for number in range(count):
            line = b'{"key":"k","value":"%d","partition":1}\n' % number
            # Chunks end anywhere.
            yield line[:11]
            yield line[11:]

    answer = client.post(f"/topics/{topic}/events", content=body(), headers=NDJSON)
    assert answer.status_code == 200
    places = [json.loads(line) for line in answer.text.splitlines()]
    assert places == [{"partition": 1, "offset": offset} for offset in range(count)]
    messages = foreign.read(bootstrap, topic, count, 0, 1)
    assert foreign.values(messages) == [str(number).encode() for number in range(count)]


def test_a_body_of_any_other_type_is_the_value(
    client: httpx.Client, bootstrap: str, topic: str
) -> None:
    headers = [
        ("content-type", "text/plain"),
        ("Kafkaesque-Key", "key1"),
        ("Kafkaesque-Header-Source", "web"),
        ("Kafkaesque-Timestamp", "1700000000000"),
    ]
    answer = client.post(f"/topics/{topic}/events", content=b"\xff\x00", headers=headers)
    assert answer.json() == {"partition": 2, "offset": 0}
    message = stored(bootstrap, topic, answer.json())
    assert (message.key(), message.value()) == (b"key1", b"\xff\x00")
    assert message.headers() == [("source", b"web")]
    assert message.timestamp()[1] == 1700000000000


def test_a_key_in_base64_may_be_any_bytes(client: httpx.Client, bootstrap: str, topic: str) -> None:
    headers = {"Kafkaesque-Key-Base64": base64.b64encode(b"\x00\xff").decode()}
    answer = client.post(f"/topics/{topic}/events", content=b"v", headers=headers)
    assert stored(bootstrap, topic, answer.json()).key() == b"\x00\xff"


def test_the_form_that_curl_sends_unasked_is_refused_with_the_cure(
    client: httpx.Client, topic: str
) -> None:
    answer = client.post(f"/topics/{topic}/events", data={"value": "x"})
    assert answer.status_code == 415
    assert "content-type: application/json" in answer.json()["message"]


def test_pages_of_other_hosts_may_not_write(client: httpx.Client, topic: str) -> None:
    path = f"/topics/{topic}/events"
    foe = {"origin": "http://evil.example.org"}
    refused = client.post(path, content=b"x", headers=foe)
    assert (refused.status_code, refused.json()["error"]) == (403, "ORIGIN_NOT_ALLOWED")
    own = {"origin": str(client.base_url).rstrip("/")}
    assert client.post(path, content=b"x", headers=own).status_code == 200


def test_a_topic_that_is_not_there_is_not_made(client: httpx.Client, bootstrap: str) -> None:
    name = foreign.name("nobody")
    answer = client.post(f"/topics/{name}/events", json={"value": "x"})
    assert answer.status_code == 404
    assert answer.json()["error"] == "UNKNOWN_TOPIC_OR_PARTITION"
    assert name not in foreign.admin(bootstrap).list_topics(timeout=60).topics


def test_a_compacted_topic_wants_keys(client: httpx.Client, bootstrap: str) -> None:
    topic = foreign.create_topic(bootstrap, configs={"cleanup.policy": "compact"})
    answer = client.post(f"/topics/{topic}/events", json={"value": "x"})
    assert answer.status_code == 400
    assert "every event needs a key" in answer.json()["message"]


def test_what_is_too_large_for_a_topic_is_413(client: httpx.Client, bootstrap: str) -> None:
    topic = foreign.create_topic(bootstrap, configs={"max.message.bytes": "1000"})
    answer = client.post(f"/topics/{topic}/events", json={"value": "x" * 5000})
    assert answer.status_code == 413
    assert answer.json()["error"] == "MESSAGE_TOO_LARGE"


@pytest.mark.parametrize("says_length", [True, False])
def test_a_giant_body_is_refused_before_it_is_read(
    client: httpx.Client, topic: str, says_length: bool
) -> None:
    chunk = b"x" * 65536
    body: Any = chunk * 4 if says_length else itertools.repeat(chunk, 4)
    answer = client.post(f"/topics/{topic}/events", content=body)
    assert answer.status_code == 413
    assert "--max-body-bytes" in answer.json()["message"]


def test_a_giant_line_is_refused_after_those_before_it(client: httpx.Client, topic: str) -> None:
    body = iter([b'{"value": "a"}\n', b'{"value": "', b"x" * (MAX_BODY + 1)])
    answer = client.post(f"/topics/{topic}/events", content=body, headers=NDJSON)
    assert answer.status_code == 207
    first, refused = map(json.loads, answer.text.splitlines())
    assert first.keys() == {"partition", "offset"}
    assert (refused["error"], refused["line"]) == ("MESSAGE_TOO_LARGE", 2)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b'"text"',
        b'{"value": "\xff"}',
        b'{"value": ' + b"[" * 50_000,
        b'{"value": {"base64": "%%%"}}',
        b'{"value": 1, "partition": 99999999999999999999}',
        b'{"value": 1, "timestamp": -5}',
        b'{"value": 1, "headers": 7}',
        b'[{"value": 1}, 7]',
        b"\x00\x01\x02",
    ],
)
def test_hostile_json_is_answered_400_with_a_reason(
    client: httpx.Client, topic: str, body: bytes
) -> None:
    answer = client.post(f"/topics/{topic}/events", content=body, headers=JSON)
    assert answer.status_code == 400
    assert answer.json()["error"] in ("INVALID_JSON", "INVALID_EVENT")
    assert answer.json()["message"]


@pytest.mark.slow
def test_a_cluster_that_is_away_is_503(tmp_path: Path) -> None:
    bootstrap = f"127.0.0.1:{free_port()}"
    with GatewayProcess(bootstrap, tmp_path / "log", "--timeout", "0.3") as gateway:
        for path in ("/health", "/topics", "/groups", "/topics/t/events"):
            answer = httpx.get(gateway.url + path, timeout=60)
            assert (answer.status_code, answer.json()["error"]) == (503, "BROKER_NOT_AVAILABLE")
            assert bootstrap in answer.json()["message"]
        answer = httpx.post(f"{gateway.url}/topics/t/events", json={"value": 1}, timeout=60)
        assert answer.status_code == 503
