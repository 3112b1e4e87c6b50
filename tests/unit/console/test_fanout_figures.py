"""What a fan-out's answers tell: rates, latency, troubles. The clock is a number."""

import pytest

from kafkaesque.console.fanout_figures import FanoutHistory, Figures, quantile
from kafkaesque.console.fanout_tail import websocket_uri

BOUNDS = [0.001, 0.01, 0.1]


def answer(at_s: float, delivered: int, counts: tuple[int, ...] = (0, 0, 0, 0)) -> Figures:
    stats = {"delivered": delivered, "latency": {"bounds": BOUNDS, "counts": list(counts)}}
    return Figures(at_s, 0, stats)


def test_rates_need_two_answers_and_look_back_five_seconds() -> None:
    history = FanoutHistory()
    assert history.rate("delivered") is None
    history.add(answer(0, 1000))
    assert history.rate("delivered") is None
    for second in range(1, 10):
        history.add(answer(second, 1000 + 10 * second))
    assert history.rate("delivered") == pytest.approx(10)
    history.add(answer(10, 1600))
    assert history.rate("delivered") == pytest.approx((1600 - 1050) / 5)
    assert history.rate("no such counter") is None


def test_a_fanout_that_was_started_again_begins_anew() -> None:
    history = FanoutHistory()
    history.add(answer(0, 1000))
    history.add(answer(1, 5))
    assert history.rate("delivered") is None
    history.add(answer(2, 8))
    assert history.rate("delivered") == pytest.approx(3)


def test_latency_is_that_of_the_last_deliveries() -> None:
    history = FanoutHistory()
    assert history.latency_ms(0.5) is None
    history.add(answer(0, 100, (0, 0, 100, 0)))
    assert history.latency_ms(1) == pytest.approx(100)
    history.add(answer(1, 200, (100, 0, 100, 0)))
    assert history.latency_ms(0.5) == pytest.approx(0.5)
    assert history.latency_ms(1) == pytest.approx(1)
    for second in range(2, 40):
        history.add(answer(second, 200, (100, 0, 100, 0)))
    assert history.latency_ms(0.5) is None
    assert len(history.looks) == 31


@pytest.mark.parametrize(
    ("counts", "share", "found"),
    [
        ((0, 0, 0, 0), 0.5, None),
        ((2, 0, 0, 0), 0.5, 0.0005),
        ((1, 0, 1, 0), 0.5, 0.001),
        ((1, 0, 1, 0), 1.0, 0.1),
        ((0, 0, 0, 3), 0.5, 0.1),
        ((98, 1, 0, 1), 0.99, 0.01),
    ],
)
def test_a_quantile_is_within_its_bucket(
    counts: tuple[int, ...], share: float, found: float | None
) -> None:
    assert quantile(BOUNDS, counts, share) == (None if found is None else pytest.approx(found))


def test_troubles_name_the_worker_or_the_reason_once() -> None:
    workers = [{"unreachable": "nothing answers"}, {"unreachable": "nothing answers"}]
    troubled = Figures(0, 0, {"missing": [2], "workers": workers})
    assert troubled.troubles == [
        "worker 2 does not answer",
        "the cluster is not read: nothing answers",
    ]
    assert Figures(0, 0, {"missing": [], "workers": [{"unreachable": ""}]}).troubles == []


def test_what_an_answer_has_not_got_is_not_known() -> None:
    empty = Figures(0, 0, {})
    assert (empty.number("lag"), list(empty.topics), list(empty.slow)) == (None, [], [])
    assert empty.troubles == []


@pytest.mark.parametrize(
    ("url", "uri"),
    [
        ("http://127.0.0.1:8083", "ws://127.0.0.1:8083/v1"),
        ("https://fanout.example.org/", "wss://fanout.example.org/v1"),
    ],
)
def test_subscriptions_go_to_the_same_address(url: str, uri: str) -> None:
    assert websocket_uri(url) == uri
