"""Counting in several workers and merging comes to the same as counting in one."""

from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.gateway.fanout.stats import COUNTERS, GAUGES, HISTOGRAMS, Stats, merge, metrics

COUNTED = sorted({*GAUGES, *COUNTERS} - {"lag"})
EVENTS = st.tuples(
    st.integers(0, 2),
    st.one_of(
        st.tuples(st.sampled_from(COUNTED), st.integers(1, 1000)),
        # Sums of quarters are exact, in whatever order.
        st.tuples(st.sampled_from(sorted(HISTOGRAMS)), st.integers(0, 40).map(lambda n: n / 4)),
    ),
)


def count(stats: Stats, name: str, value: float) -> None:
    if name in HISTOGRAMS:
        getattr(stats, name).observe(value)
    else:
        setattr(stats, name, getattr(stats, name) + value)


@given(st.lists(EVENTS, max_size=40))
def test_the_sum_of_workers_is_what_one_would_have_counted(
    events: list[tuple[int, tuple[str, float]]],
) -> None:
    workers, one = [Stats(n) for n in range(3)], Stats()
    for worker, event in events:
        count(workers[worker], *event)
        count(one, *event)
    total, alone = merge(stats.snapshot() for stats in workers), merge([one.snapshot()])
    for name in (*COUNTED, *HISTOGRAMS):
        assert total[name] == alone[name]
    figures = [
        [line for line in metrics(page).splitlines() if "_worker" not in line]
        for page in (total, alone)
    ]
    assert figures[0] == figures[1]


@given(st.lists(EVENTS, max_size=20), st.permutations(range(3)))
def test_the_order_of_the_answers_does_not_matter(
    events: list[tuple[int, tuple[str, float]]], order: list[int]
) -> None:
    workers = [Stats(n) for n in range(3)]
    for worker, event in events:
        count(workers[worker], *event)
    snapshots = [stats.snapshot() for stats in workers]
    assert merge(snapshots) == merge(snapshots[n] for n in order)
