"""A bar is on a ratio or on a figure itself, and silent about rows that it is not about."""

from benchmarks.bars import BARS, Bar, missed, tally, verdicts
from benchmarks.figures.catalogue import FIGURES
from benchmarks.figures.rate import LOADS, PLAIN, title
from benchmarks.peers.roster import PEERS
from benchmarks.report import Row


def start(**seconds: float) -> Row:
    return Row("start", "cold start", "s", {name: (value,) for name, value in seconds.items()})


def test_a_ratio_at_the_limit_holds_and_above_it_is_missed() -> None:
    bar = Bar("cold start", "s", "durable", at_most=0.1)
    assert bar.holds(start(Kafka=10.0, durable=1.0))
    assert not bar.holds(start(Kafka=10.0, durable=1.01))


def test_a_bar_on_the_figure_itself_needs_no_kafka() -> None:
    bar = Bar("cold start", "s", "durable", at_least=2, beside=None)
    assert bar.is_about(start(durable=1.0))
    assert bar.holds(start(durable=2.0))
    assert not bar.holds(start(durable=1.9))


def test_a_ratio_without_kafka_is_not_judged() -> None:
    assert verdicts(start(durable=1.0)) == []


def test_a_bar_is_about_one_name_and_unit() -> None:
    other = Row("start", "cold start", "ms", {"Kafka": (1.0,), "durable": (9.0,)})
    assert verdicts(other) == []


def test_what_is_missed_names_row_and_bar() -> None:
    slow, quick = start(Kafka=1.0, durable=1.0), start(Kafka=100.0, durable=1.0)
    ((row, bar),) = missed([quick, slow])
    assert row is slow
    assert str(bar) == "durable ≤0.1×"


def test_bars_are_counted_in_all_and_by_figure() -> None:
    trip = {"Kafka": (1.0,), "durable": (1.2,)}
    rows = [
        start(Kafka=1.0, durable=1.0),
        Row("trip", "round trip, p50", "ms", trip),
        Row("trip-warm", "round trip, p50", "ms", {**trip, "caching": (0.9,)}),
        Row("topics", "topics, one by one", "per s", trip),
    ]
    assert tally(rows) == "2 of 4 bars hold (start 0 of 1, trip 1 of 1, trip-warm 1 of 2)"
    assert tally(rows[3:]) == "0 of 0 bars hold"


def test_the_loop_is_late_if_it_was_so_in_one_round() -> None:
    rounds = {"durable": (5.0, 20.0, 5.0), "caching": (5.0, 5.0, 50.0)}
    delays = Row("rate", "loop delay at most", "ms", rounds, peak=True)
    assert [(str(bar), held) for bar, held in verdicts(delays)] == [
        ("durable ≤20 ms", True),
        ("caching ≤20 ms", False),
    ]


def test_a_bar_says_what_it_is_beside_when_that_is_not_kafka_as_it_comes() -> None:
    assert str(Bar("a", "ms", "durable", at_most=0.5, beside="Kafka synced")) == (
        "durable ≤0.5× Kafka synced"
    )
    assert str(Bar("a", "MB", "caching", at_most=60, beside=None)) == "caching ≤60 MB"
    assert str(Bar("a", "×", "caching", at_least=0.8, beside=None)) == "caching ≥0.8×"


def test_bars_are_about_variants_and_loads_that_there_are() -> None:
    variants = {variant.name for peer in PEERS for variant in peer.variants}
    assert {bar.variant for bar in BARS} <= variants
    assert {bar.beside for bar in BARS} - {None} <= variants
    loads = {title(load) for load in (PLAIN, *LOADS)}
    named = {bar.name.split(" ", 1)[1] for bar in BARS if bar.unit in ("MB/s", "CPU-s/GB")}
    assert named <= loads


def test_figures_have_names_of_their_own() -> None:
    names = [figure.name for figure in FIGURES]
    assert len(set(names)) == len(names)
