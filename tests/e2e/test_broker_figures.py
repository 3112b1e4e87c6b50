"""What the broker counts of its work, against what foreign clients did; and its health.

The page is read by a strict parser of Prometheus' text format, written from its specification.
"""

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from confluent_kafka import TopicPartition
from tests import foreign
from tests.faulty_files import FaultyFiles

from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.broker.lag import group_metrics
from kafkaesque.embedded.thread import BrokerThread

TIMEOUT_S = foreign.TIMEOUT_S
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
LINE = re.compile(rf"({NAME})(?:\{{((?:{LABEL},?)*)\}})? (\S+)")
ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def parsed(page: str) -> Series:
    """Each line is a comment that belongs to what follows it, or a sample of the last TYPE."""
    assert page.endswith("\n")
    found: Series = {}
    family = kind = ""
    seen: set[str] = set()
    for line in page.splitlines():
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ")
            assert family not in seen, f"{family} is declared twice"
            assert kind in ("counter", "gauge", "histogram")
            seen.add(family)
            continue
        if line.startswith("# HELP "):
            continue
        match = LINE.fullmatch(line)
        assert match, line
        suffixes = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
        assert match[1] in [family + suffix for suffix in suffixes], line
        labels = [(name, unescaped(value)) for name, value in re.findall(LABEL, match[2] or "")]
        key = (match[1], frozenset(labels))
        assert key not in found, f"{line} comes twice"
        found[key] = float(match[5])
    return found


def unescaped(text: str) -> str:
    return re.sub(r'\\["\\n]', lambda match: ESCAPES[match[0]], text)


class Shown:
    """A broker's pages."""

    def __init__(self, broker: BrokerThread) -> None:
        assert broker.server.metrics_url is not None
        self.broker = broker
        self.url = broker.server.metrics_url
        self.bootstrap = broker.bootstrap_servers

    def figures(self) -> Series:
        with urlopen(self.url, timeout=TIMEOUT_S) as answer:
            return parsed(answer.read().decode())

    def figure(self, name: str, **labels: str) -> float:
        return self.figures()[(f"kafkaesque_{name}", frozenset(labels.items()))]

    def health(self) -> tuple[int, dict[str, Any]]:
        try:
            with urlopen(self.url.replace("/metrics", "/health"), timeout=TIMEOUT_S) as answer:
                assert answer.headers["Content-Type"] == "application/json"
                return answer.status, json.load(answer)
        except HTTPError as error:
            with error:
                return error.code, json.load(error)


@pytest.fixture
def files() -> FaultyFiles:
    return FaultyFiles()


@pytest.fixture
def shown(tmp_path: Path, files: FaultyFiles) -> Iterator[Shown]:
    config = BrokerConfig.of([Listener("127.0.0.1", 0)], tmp_path / "data", {}, metrics_port=0)
    thread = BrokerThread(config, files=files).start()
    yield Shown(thread)
    thread.stop()


def test_what_is_produced_and_fetched_is_counted(shown: Shown) -> None:
    topic = foreign.create_topic(shown.bootstrap)
    before = {name: shown.figure(name) for name in ("received_bytes_total", "sent_bytes_total")}
    fsyncs = shown.figure("fsync_seconds_count")
    foreign.produce(shown.bootstrap, topic, [b"x" * 1000 for _ in range(50)])
    assert shown.figure("produced_records_total") == 50
    assert 1 <= shown.figure("produced_batches_total") <= 50
    produced = shown.figure("produced_bytes_total")
    assert 50_000 < produced < 60_000
    assert shown.figure("received_bytes_total") > before["received_bytes_total"] + produced
    assert shown.figure("requests_total", api="Produce") >= 1
    assert shown.figure("fsync_seconds_count") > fsyncs
    assert shown.figure("fsync_seconds_bucket", le="+Inf") == shown.figure("fsync_seconds_count")
    assert 0 < shown.figure("fsync_max_seconds") <= shown.figure("fsync_seconds_sum")
    assert shown.figure("fetched_bytes_total") == 0
    foreign.read(shown.bootstrap, topic, 50)
    assert shown.figure("fetched_bytes_total") >= produced
    assert shown.figure("sent_bytes_total") > before["sent_bytes_total"] + produced
    assert shown.figure("requests_total", api="Fetch") >= 1
    assert shown.figure("requests_total", api="DeleteRecords") == 0


def test_groups_lag_behind_what_they_committed(shown: Shown) -> None:
    topic = foreign.create_topic(shown.bootstrap, partitions=2)
    group = 'odd "group" \\ name\n'
    foreign.produce(shown.bootstrap, topic, [b"x"] * 10, partition=1)
    assert shown.figure("groups") == 0
    foreign.commit(shown.bootstrap, group, TopicPartition(topic, 1, 4))
    assert shown.figure("groups") == 1
    assert shown.figure("group_lag", group=group, topic=topic, partition="1") == 6
    foreign.commit(shown.bootstrap, group, TopicPartition(topic, 1, 10))
    assert shown.figure("group_lag", group=group, topic=topic, partition="1") == 0
    foreign.delete_topic(shown.bootstrap, topic)
    assert not [name for name, _ in shown.figures() if name == "kafkaesque_group_lag"]


def test_the_lag_of_many_groups_is_cut_and_says_so(shown: Shown) -> None:
    topic = foreign.create_topic(shown.bootstrap, partitions=2)
    places = [TopicPartition(topic, partition, 0) for partition in range(2)]
    for group in ("a", "b", "c"):
        foreign.commit(shown.bootstrap, group, *places)

    async def cut_after(lines: int) -> tuple[int, float]:
        metrics = {m.name: m for m in group_metrics(shown.broker.server.broker, lines)}
        left_out = metrics["kafkaesque_group_lag_left_out"].samples[0].value
        return len(metrics["kafkaesque_group_lag"].samples), left_out

    cuts = [shown.broker.call(partial(cut_after, lines)) for lines in (6, 5, 4, 1)]
    assert cuts == [(6, 0), (5, 1), (4, 1), (1, 3)]


@pytest.mark.slow
def test_it_is_well_until_a_partition_is_offline(shown: Shown, files: FaultyFiles) -> None:
    topic = foreign.create_topic(shown.bootstrap)
    status, report = shown.health()
    assert (status, report["status"], report["offline"]) == (200, "ok", [])
    files.fails_to_sync = True
    foreign.refusal(foreign.produce, shown.bootstrap, topic, [b"lost"], retries=0)
    status, report = shown.health()
    assert (status, report["status"], report["offline_partitions"]) == (503, "failing", 1)
    (offline,) = report["offline"]
    assert (offline["topic"], offline["partition"]) == (topic, 0)
    assert offline["reason"]
    assert shown.figure("offline_partitions") == 1
    files.fails_to_sync = False
    foreign.until(lambda: shown.health()[0] == 200)
    assert shown.figure("offline_partitions") == 0


def test_a_path_that_is_not_there_names_those_that_are(shown: Shown) -> None:
    with pytest.raises(HTTPError) as caught:
        urlopen(shown.url.replace("/metrics", "/metric"), timeout=TIMEOUT_S)
    with caught.value as answer:
        assert b"GET /metrics and GET /health" in answer.read()
