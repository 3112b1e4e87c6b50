"""Figures of a turn, bars beside the others, tables, and the way to a million connections."""

from array import array

import pytest
from benchmarks.fanout import extrapolation, table
from benchmarks.fanout.accounting import Cpu, Memory
from benchmarks.fanout.bars import verdicts
from benchmarks.fanout.drainer import Drained
from benchmarks.fanout.extrapolation import Costs
from benchmarks.fanout.feeding import Sent
from benchmarks.fanout.load import Load, Rounds, value
from benchmarks.fanout.page import page
from benchmarks.fanout.report import Report, Sample, figures
from benchmarks.fanout.turn import Turn

TURN = Turn(
    connections=10,
    connect_s=0.5,
    drained=Drained(10, 4, 0, 0, 0, 0, 0.1, array("I", [0, 1, 1, 1000, 1, 2000, 2, 3000, 2, 4000])),
    sent=Sent(4, 0, 2.0, 3.0, 0.1),
    seconds=2.0,
    cpu={"server": Cpu(20e-6, 40e-6), "bridge": Cpu(10e-6, 10e-6)},
    broker_cpu=Cpu(40e-6, 0.0),
    connected=Memory(60.0, 40.0),
    loaded=Memory(90.0, 80.0),
    kernel_kb=100.0,
)


def compared(cpu: float, **changed: float) -> dict[str, float]:
    return {"cpu": cpu, "memory": 2.0, "p99": 5.0, "core": 0.3, **changed}


@pytest.fixture
def report() -> Report:
    made = Report("2026-01-02T03:04:05Z", "python -m benchmarks.fanout", {"cores": "2"}, {})
    made.add(Sample("compare", "ours v1", 10_000, compared(10.0)))
    made.add(Sample("compare", "sample", 10_000, compared(60.0)))
    made.add(Sample("compare", "NATS", 10_000, compared(20.0)))
    for workers, cpu in (("1 worker", 10.0), ("2 workers", 12.0)):
        grown = compared(cpu, memory_kernel=8.0)
        made.add(Sample("growth", workers, 10_000, grown))
    return made


def test_figures_are_per_message_and_per_connection() -> None:
    found = figures(TURN, Rounds(1, 2))
    assert found["cpu"] == pytest.approx(20.0)
    assert (found["cpu_user"], found["cpu_kernel"]) == pytest.approx((7.5, 12.5))
    assert (found["cpu_server"], found["cpu_bridge"]) == pytest.approx((15.0, 5.0))
    assert (found["memory"], found["memory_rss"], found["memory_loaded"]) == (4.0, 6.0, 8.0)
    assert (found["p50"], found["p99"], found["max"]) == (2.0, 4.0, 4.0)
    assert found["core"] == pytest.approx(40e-6)


def test_bars_are_held_against_the_others_of_the_same_run(report: Report) -> None:
    assert all(verdict.holds for verdict in verdicts(report))
    assert [verdict.shown for verdict in verdicts(report)][:2] == ["0.17×", "0.50×"]


@pytest.mark.parametrize(
    ("changed", "bar"),
    [
        ({"cpu": 13.0}, "CPU ≤0.2× sample"),
        ({"cpu": 21.0}, "CPU ≤1× NATS"),
        ({"memory": 4.1}, "≤4 KB per connection"),
        ({"p99": 21.0}, "p99 <20 ms under 70% of a core"),
        ({"core": 0.8}, "p99 <20 ms under 70% of a core"),
    ],
)
def test_a_bar_that_is_missed_says_so(report: Report, changed: dict[str, float], bar: str) -> None:
    report.samples[0] = Sample("compare", "ours v1", 10_000, {**compared(10.0), **changed})
    assert bar in [verdict.bar for verdict in verdicts(report) if not verdict.holds]


def test_bars_are_for_ten_thousand_connections(report: Report) -> None:
    report.samples[0] = Sample("compare", "ours v1", 1000, compared(100.0))
    assert not list(verdicts(report))


def test_a_message_that_is_missing_misses_a_bar(report: Report) -> None:
    report.add(Sample("compare", "ours v1", 10_000, compared(10.0), "of 9 messages: 1 missing"))
    assert "1 missing" in page(report)
    assert [str(each) for each in verdicts(report) if not each.holds] == [
        "ours v1: each message once: of 9 messages: 1 missing MISSED"
    ]


def test_a_turn_whose_producer_was_late_is_named(report: Report) -> None:
    assert not report.disturbed()
    report.add(Sample("compare", "NATS", 10_000, compared(20.0, producer_late_ms=80.0)))
    (named,) = report.disturbed()
    assert named == "compare, NATS, 10,000 connections: the producer was 80 ms late"
    assert named in page(report)


def test_the_table_has_ratios_to_both(report: Report) -> None:
    head, _, line, *_ = table.compare(report).splitlines()
    cells = dict(zip(head.split("|"), line.split("|"), strict=True))
    shown = {name.strip(): cell.strip() for name, cell in cells.items()}
    assert (shown["× sample"], shown["× NATS"], shown["of a core"]) == ("0.17", "0.50", "30%")


def test_a_report_reads_back_as_it_was_written(report: Report) -> None:
    assert Report.from_json(report.to_json()) == report


def test_the_page_has_each_scenario_that_was_run(report: Report) -> None:
    text = page(report)
    assert "## 10,000 connections" in text
    assert "## A million connections" in text
    assert "## One stalled client" not in text


def test_what_two_workers_cost_more_is_reading(report: Report) -> None:
    found = extrapolation.costs(report)
    assert found == Costs(10.0, 12.0, 2.0, 4.0)
    assert (found.read_us, found.send_us, found.memory_gb) == (2.0, 8.0, 6.0)


def test_workers_for_a_million_or_none_where_reading_takes_it_all() -> None:
    found = Costs(10.0, 12.0, 2.0, 4.0)
    assert found.workers(10_000, 1_000_000) == pytest.approx(8.0 / (0.7 - 0.02))
    assert found.workers(1_000_000, 1_000_000) is None
    text = "\n".join(extrapolation.lines(found))
    assert "= 12, one per core" in text
    assert "not with workers that read every record" in text


def test_a_load_is_spread_over_its_period() -> None:
    load = Load(keys=1000, period_s=2.0)
    assert [load.due(each) for each in (0.0, 0.5, 2.0)] == [0, 250, 1000]
    assert len(value(3, 4, 5, 512)) == 512
    assert value(3, 4, 5, 64).startswith(b"~@fan~00000000000000050000000300000004..")
