"""Reading events over HTTP: streams, pages, single events, and looking at topics and groups."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from confluent_kafka import TopicPartition
from httpx_sse import ServerSentEvent, connect_sse
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.gateway_process import GatewayProcess

from kafkaesque.gateway.events import models

pytestmark = pytest.mark.slow

SSE = {"accept": "text/event-stream"}
NDJSON = {"accept": "application/x-ndjson"}


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with BrokerProcess(tmp_path_factory.mktemp("broker") / "data") as broker:
        yield broker.bootstrap


@pytest.fixture(scope="module")
def client(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    log = tmp_path_factory.mktemp("gateway") / "log"
    with (
        GatewayProcess(bootstrap, log, "--keep-alive", "0.3") as gateway,
        httpx.Client(base_url=gateway.url, timeout=60) as client,
    ):
        yield client
        assert gateway.stop() == 0
        assert gateway.log == ""


@pytest.fixture
def topic(bootstrap: str) -> str:
    """Two partitions: a0 to a4 at times 1000 to 5000, and b0 to b2."""
    topic = foreign.create_topic(bootstrap, partitions=2)
    stamps = [1_700_000_001_000 + 1000 * number for number in range(5)]
    foreign.produce(bootstrap, topic, [f"a{number}" for number in range(5)], 0, stamps)
    foreign.produce(bootstrap, topic, [f"b{number}" for number in range(3)], 1)
    return topic


def stream(
    client: httpx.Client, path: str, count: int, headers: dict[str, str] | None = None
) -> list[ServerSentEvent]:
    """So many messages with data."""
    found: list[ServerSentEvent] = []
    with connect_sse(client, "GET", path, headers=headers or {}) as source:
        source.response.raise_for_status()
        for message in source.iter_sse():
            if message.data:
                found.append(message)
            if len(found) == count:
                return found
    return found


def values(messages: list[ServerSentEvent]) -> list[str]:
    return [message.json()["value"] for message in messages if message.event == "message"]


def page(client: httpx.Client, path: str) -> dict[str, Any]:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    models.EventPage.model_validate(answer.json())
    found: dict[str, Any] = answer.json()
    return found


def page_values(found: dict[str, Any]) -> list[str]:
    return sorted(event["value"] for event in found["events"])


def test_a_stream_tells_events_with_a_vector_each(client: httpx.Client, topic: str) -> None:
    messages = stream(client, f"/topics/{topic}/events?from=earliest", 8)
    assert sorted(values(messages)) == ["a0", "a1", "a2", "a3", "a4", "b0", "b1", "b2"]
    assert messages[-1].id == "0:5,1:3"
    first = messages[0].json()
    models.Event.model_validate(first)
    # Whichever partition answers first.
    assert (first["topic"], first["offset"]) == (topic, 0)
    assert first["partition"] in (0, 1)


def test_every_id_resumes_exactly(client: httpx.Client, topic: str) -> None:
    path = f"/topics/{topic}/events?from=earliest&until=end"
    whole = stream(client, path, 9)
    assert (whole[-1].event, whole[-1].data) == ("end", "{}")
    for at, message in enumerate(whole[:-1], 1):
        by_header = stream(client, path, 9, {"last-event-id": message.id})
        by_parameter = stream(client, f"{path}&last_event_id={message.id}", 9)
        seen = sorted(values(whole[:at]) + values(by_header))
        assert seen == sorted(values(whole))
        assert values(by_parameter) == values(by_header)


@pytest.mark.parametrize(
    ("start", "wanted"),
    [
        ("earliest", ["a0", "a1", "a2", "a3", "a4", "b0", "b1", "b2"]),
        ("latest", []),
        ("2", ["a2", "a3", "a4", "b2"]),
        ("99", []),
        ("0:4,1:1", ["a4", "b1", "b2"]),
        ("0:5", ["b0", "b1", "b2"]),
        ("@1700000004000", ["a3", "a4", "b0", "b1", "b2"]),
        ("2023-11-14T22:13:24Z", ["a3", "a4", "b0", "b1", "b2"]),
    ],
)
def test_a_reader_begins_where_it_says(
    client: httpx.Client, topic: str, start: str, wanted: list[str]
) -> None:
    assert page_values(page(client, f"/topics/{topic}/events?from={start}")) == wanted
    assert sorted(values(stream(client, f"/topics/{topic}/events?from={start}&until=end", 9))) == (
        wanted
    )


def test_several_topics_are_one_stream(client: httpx.Client, bootstrap: str, topic: str) -> None:
    other = foreign.create_topic(bootstrap)
    foreign.produce(bootstrap, other, ["c0"])
    messages = stream(client, f"/topics/{topic},{other}/events?from=earliest", 9)
    assert messages[-1].id == f"{topic}/0:5,{topic}/1:3,{other}/0:1"
    rest = stream(
        client,
        f"/topics/{topic}/events?topic={other}&until=end",
        9,
        {"last-event-id": messages[3].id},
    )
    assert sorted(values(messages[:4]) + values(rest)) == sorted(values(messages))


def test_what_is_written_later_comes_at_once(
    client: httpx.Client, bootstrap: str, topic: str
) -> None:
    with connect_sse(client, "GET", f"/topics/{topic}/events") as source:
        messages = source.iter_sse()
        # Before anything happens: whoever is cut off now misses nothing.
        head = next(messages)
        assert (head.id, head.data, head.retry) == ("0:5,1:3", "", 1000)
        foreign.produce(bootstrap, topic, ["later"], 1)
        message = next(message for message in messages if message.data)
        assert (message.json()["value"], message.id) == ("later", "0:5,1:4")


def test_filters_choose_and_the_ids_move_on_all_the_same(
    client: httpx.Client, bootstrap: str
) -> None:
    topic = foreign.create_topic(bootstrap)
    for key, price in (("AMZN", 99), ("AMZN", 101), ("AAPL", 150), ("GOOG", 7), ("GOOG", 8)):
        body = {"key": key, "value": {"price": price}}
        client.post(f"/topics/{topic}/events", json=body).raise_for_status()

    def prices(query: str) -> list[str]:
        found = page(client, f"/topics/{topic}/events?{query}")
        assert found["position"] == "0:5"
        return [event["value"] for event in found["events"]]

    assert prices("key=AMZN&key=AAPL") == ['{"price":99}', '{"price":101}', '{"price":150}']
    assert prices("prefix=A&where=value.price > 100") == ['{"price":101}', '{"price":150}']
    with connect_sse(client, "GET", f"/topics/{topic}/events?from=earliest&key=AAPL") as source:
        messages = source.iter_sse()
        assert next(message for message in messages if message.data).id == "0:3"
        # What a browser keeps while nothing matches.
        foreign.until(lambda: next(messages).id == "0:5")


def test_a_filter_that_is_none_is_refused_with_the_position(
    client: httpx.Client, topic: str
) -> None:
    answer = client.get(f"/topics/{topic}/events", params={"where": "value.price >"})
    assert answer.status_code == 400
    assert (answer.json()["parameter"], answer.json()["position"]) == ("where", 13)


def test_what_retention_has_removed_is_told_as_a_gap(
    client: httpx.Client, bootstrap: str, topic: str
) -> None:
    foreign.admin(bootstrap).delete_records([TopicPartition(topic, 0, 3)])[
        TopicPartition(topic, 0, 3)
    ].result(60)
    gap = {"topic": topic, "partition": 0, "first": 1, "last": 2, "reason": "expired"}
    messages = stream(client, f"/topics/{topic}/events?from=0:1,1:3", 3)
    assert [message.event for message in messages] == ["gap", "message", "message"]
    assert (messages[0].json(), messages[0].id) == (gap, "0:3,1:3")
    assert page(client, f"/topics/{topic}/events?from=0:1,1:3")["gaps"] == [gap]
    lines = client.get(f"/topics/{topic}/events?from=0:1,1:3&until=end", headers=NDJSON).text
    assert lines.startswith('{"gap":{')


def test_a_vector_from_before_the_topic_was_made_anew_begins_again(
    client: httpx.Client, topic: str
) -> None:
    found = page(client, f"/topics/{topic}/events?from=0:99,1:2")
    assert page_values(found) == ["a0", "a1", "a2", "a3", "a4", "b2"]
    assert [(gap["reason"], gap["partition"]) for gap in found["gaps"]] == [("reset", 0)]


def test_pages_follow_each_other_without_a_gap(client: httpx.Client, topic: str) -> None:
    seen: list[str] = []
    path = f"/topics/{topic}/events?limit=3"
    while events := (found := page(client, path))["events"]:
        assert len(events) <= 3
        seen += [event["value"] for event in events]
        path = found["next"]
    assert sorted(seen) == ["a0", "a1", "a2", "a3", "a4", "b0", "b1", "b2"]
    assert found["position"] == "0:5,1:3"


def test_an_empty_page_may_be_waited_for(client: httpx.Client, bootstrap: str, topic: str) -> None:
    begun = time.monotonic()
    empty = page(client, f"/topics/{topic}/events?from=latest&wait=0.5")
    assert empty["events"] == []
    assert time.monotonic() - begun >= 0.5
    writing = threading.Timer(0.2, foreign.produce, (bootstrap, topic, ["later"]))
    writing.start()
    patient = empty["next"].replace("wait=0.5", "wait=20")
    assert page_values(page(client, patient)) == ["later"]
    writing.join()


def test_lines_are_a_stream_or_what_is_there(client: httpx.Client, topic: str) -> None:
    answer = client.get(f"/topics/{topic}/events?until=end", headers=NDJSON)
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert len(answer.text.splitlines()) == 8
    with client.stream(
        "GET", f"/topics/{topic}/events?from=earliest&limit=3", headers=NDJSON
    ) as it:
        assert len([line for line in it.iter_lines() if line]) == 3


def test_one_event_is_found_by_its_place(client: httpx.Client, topic: str) -> None:
    answer = client.get(f"/topics/{topic}/partitions/1/events/2")
    assert (answer.status_code, answer.json()["value"]) == (200, "b2")
    beyond = client.get(f"/topics/{topic}/partitions/1/events/3")
    assert beyond.status_code == 404
    assert "there are 0 to 2" in beyond.json()["message"]
    assert client.get(f"/topics/{topic}/partitions/2/events/0").status_code == 404
    assert client.get(f"/topics/{foreign.name('no')}/partitions/0/events/0").status_code == 404


@pytest.mark.parametrize(
    "query",
    [
        "from=beginning",
        "from=-1",
        "from=0:1,0:2",
        "from=7:0",
        "from=other/0:1",
        "from=@12",
        "last_event_id=earliest",
        "last_event_id=0:1,x",
        "limit=0",
        "limit=many",
        "wait=-1",
        "wait=9999",
        "wait=nan",
        "until=tomorrow",
        "partition=x",
        "where=import os",
    ],
)
def test_hostile_parameters_are_answered_400_with_a_reason(
    client: httpx.Client, topic: str, query: str
) -> None:
    for headers in (SSE, {"accept": "application/json"}):
        answer = client.get(f"/topics/{topic}/events?{query}", headers=headers)
        assert answer.status_code == 400, answer.text
        assert answer.json()["error"] == "INVALID_PARAMETER"


@pytest.mark.parametrize("name", ["no-such-topic", "%00", "..%2f..", "a b", ",", "x" * 300])
def test_a_topic_that_is_not_there_is_404(client: httpx.Client, name: str) -> None:
    for headers in (SSE, {}):
        answer = client.get(f"/topics/{name}/events", headers=headers)
        assert answer.status_code == 404
        assert answer.json()["error"] in ("UNKNOWN_TOPIC_OR_PARTITION", "NO_SUCH_ROUTE")


def test_topics_are_made_described_listed_and_deleted(client: httpx.Client) -> None:
    name = foreign.name("made")
    new = {"name": name, "partitions": 2, "settings": {"retention.ms": "60000"}}
    made = client.post("/topics", json=new)
    assert (made.status_code, made.headers["location"]) == (201, f"/topics/{name}")
    assert client.post("/topics", json=new).status_code == 409
    assert client.post("/topics", json=new | {"name": "a b"}).status_code == 400
    assert client.post("/topics", json={"nam": 1}).status_code == 400
    described = client.get(f"/topics/{name}").json()
    assert [each["next_offset"] for each in described["partitions"]] == [0, 0]
    assert described["settings"]["retention.ms"]["value"] == "60000"
    assert {"name": name, "partitions": 2, "replicas": 1} in client.get("/topics").json()["topics"]
    assert client.delete(f"/topics/{name}").status_code == 204
    assert client.get(f"/topics/{name}").status_code == 404
    assert client.delete(f"/topics/{name}").status_code == 404


def test_groups_are_listed_described_and_moved(
    client: httpx.Client, bootstrap: str, topic: str
) -> None:
    group = foreign.name("group")
    foreign.commit(bootstrap, group, TopicPartition(topic, 0, 2))
    assert group in [each["name"] for each in client.get("/groups").json()["groups"]]
    described = client.get(f"/groups/{group}").json()
    assert (described["state"], described["lag"]) == ("Empty", 3)
    (offset,) = described["offsets"]
    assert (offset["committed"], offset["first_offset"], offset["next_offset"]) == (2, 0, 5)
    moved = client.post(f"/groups/{group}/offsets", json={"to": f"{topic}/0:4"}).json()["moved"]
    assert [(each["before"], each["now"], each["error"]) for each in moved] == [(2, 4, None)]
    client.post(f"/groups/{group}/offsets", json={"to": "earliest"}).raise_for_status()
    assert foreign.committed(bootstrap, group, topic).offset == 0
    assert client.post(f"/groups/{group}/offsets", json={"to": "7"}).status_code == 400
    assert client.get(f"/groups/{foreign.name('no')}").status_code == 404


def test_a_group_with_members_is_not_moved(
    client: httpx.Client, bootstrap: str, topic: str
) -> None:
    group = foreign.name("group")
    member = foreign.consumer(bootstrap, group)
    member.subscribe([topic])
    assert member.poll(20) is not None
    answer = client.post(f"/groups/{group}/offsets", json={"to": "earliest", "topics": [topic]})
    member.close()
    assert answer.status_code == 409
    assert "has active members" in answer.json()["message"]


def test_what_there_is_is_documented_and_counted(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    operations = [told for methods in document["paths"].values() for told in methods.values()]
    assert len(operations) >= 12
    assert all(told["summary"] and told["tags"] for told in operations)
    assert "openapi.json" in client.get("/docs").text
    assert client.get("/health").json()["status"] == "ok"
    figures = client.get("/metrics").text
    assert 'kafkaesque_gateway_requests_total{method="GET",status="200"}' in figures
    assert client.get("/nowhere").json()["error"] == "NO_SUCH_ROUTE"
    assert client.put("/topics").status_code == 405
