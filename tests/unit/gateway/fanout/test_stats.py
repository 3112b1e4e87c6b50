"""What a worker counts: its snapshot, the sum of several, and the page for Prometheus."""

import json
import re
from pathlib import Path

from kafkaesque.gateway.fanout.pages import health
from kafkaesque.gateway.fanout.stats import COUNTERS, GAUGES, Slow, Stats, merge, metrics

REFERENCE = Path(__file__).parents[4] / "docs" / "reference" / "metrics.md"


def slow(peer: str, dropped: int) -> Slow:
    return {"peer": peer, "subscriptions": 1, "dropped": dropped, "since": 1.0}


def test_a_snapshot_survives_json() -> None:
    stats = Stats(slow=lambda: [slow("a:1", 2)], topics=lambda: {"ticks": {"partitions": 3}})
    stats.delivered += 5
    stats.latency.observe(0.003)
    snapshot = stats.snapshot()
    assert json.loads(json.dumps(snapshot)) == snapshot
    assert snapshot["delivered"] == 5
    assert snapshot["workers"][0]["resident_bytes"] > 1_000_000


def test_stats_take_no_name_that_is_not_counted() -> None:
    assert not hasattr(Stats(), "__dict__")


def test_workers_are_summed_and_the_worst_lag_counts() -> None:
    first, second = (
        Stats(0, topics=lambda: {"ticks": {"partitions": 3, "subscriptions": 1}}),
        Stats(1),
    )
    second.topics = lambda: {"ticks": {"partitions": 4, "subscriptions": 5}, "orders": {"lag": 1}}
    first.lag, second.lag = 7, 3
    first.connections, second.connections = 10, 20
    total = merge([second.snapshot(), first.snapshot()])
    assert (total["lag"], total["connections"]) == (7, 30)
    assert total["topics"] == {
        "ticks": {"partitions": 4, "subscriptions": 6},
        "orders": {"lag": 1},
    }
    assert [row["worker"] for row in total["workers"]] == [0, 1]


def test_the_slowest_clients_are_shown_and_all_are_counted() -> None:
    many = [Stats(n, slow=lambda: [slow(f"a:{k}", k) for k in range(90)]) for n in range(2)]
    total = merge(stats.snapshot() for stats in many)
    assert total["slow_clients"] == 180
    assert [row["dropped"] for row in total["slow"][:3]] == [89, 89, 88]
    assert len(total["slow"]) == 100


def test_the_page_has_each_metric_once_and_a_line_for_each_worker() -> None:
    stats = [Stats(0), Stats(1, starts=3)]
    stats[1].dropped = 4
    page = metrics(merge([each.snapshot() for each in stats], missing=[2]))
    assert "kafkaesque_fanout_dropped_total 4\n" in page
    assert 'kafkaesque_fanout_worker_restarts_total{worker="1"} 2\n' in page
    assert "kafkaesque_fanout_workers 3\n" in page
    assert "kafkaesque_fanout_workers_answering 2\n" in page
    names = re.findall(r"^# TYPE (\S+)", page, re.MULTILINE)
    assert len(names) == len(set(names))
    assert len(names) > len(GAUGES) + len(COUNTERS)


def test_the_reference_names_each_metric_and_no_other() -> None:
    page = metrics(merge([Stats().snapshot()]))
    shown = re.findall(r"^# TYPE (\S+) (\S+)$", page, re.MULTILINE)
    reference = REFERENCE.read_text().partition("## The fan-out")[2].partition("\n## ")[0]
    assert shown == re.findall(r"^\| `(kafkaesque_\w+)` \| (\w+) \|", reference, re.MULTILINE)


def test_health_names_every_reason() -> None:
    reached, unreached = Stats(0), Stats(1)
    reached.unreachable = ""
    page = health(merge([reached.snapshot()]))
    assert page.status == 200
    assert json.loads(page.body) == {
        "status": "ok",
        "reasons": [],
        "workers": 1,
        "workers_answering": 1,
    }
    unreached.unreachable = "nothing answers at 127.0.0.1:9092"
    page = health(merge([reached.snapshot(), unreached.snapshot()], missing=[2]))
    assert page.status == 503
    assert json.loads(page.body)["reasons"] == [
        "worker 2 does not answer",
        "worker 1 does not reach the cluster: nothing answers at 127.0.0.1:9092",
    ]
