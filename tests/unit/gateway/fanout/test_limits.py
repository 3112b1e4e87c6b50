"""How many may come and how often, with a clock that stands still."""

from typing import Any

from kafkaesque.client.connection import Connection
from kafkaesque.gateway.access import Grant
from kafkaesque.gateway.fanout.config import FanoutConfig
from kafkaesque.gateway.fanout.limits import Limits, RateLimit


class FakeClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def limits(clock: FakeClock | None = None, **options: Any) -> Limits:
    return Limits(FanoutConfig(Connection(), **options), clock or FakeClock())


def test_a_connection_beyond_the_total_is_refused_until_one_leaves() -> None:
    few = limits(max_connections=2)
    assert [few.admit("a"), few.admit("b")] == [None, None]
    assert "too many connections" in (few.admit("c") or "")
    few.leave("a")
    assert few.admit("c") is None
    assert few.connections == 2


def test_a_worker_takes_its_share_of_the_total() -> None:
    few = limits(max_connections=5, workers=2)
    assert [few.admit("a") is None for _ in range(4)] == [True, True, True, False]


def test_one_address_cannot_take_all() -> None:
    fair = limits(max_connections_per_address=1)
    assert fair.admit("a") is None
    assert "from your address" in (fair.admit("a") or "")
    assert fair.admit("b") is None
    fair.leave("a")
    assert fair.admit("a") is None


def test_addresses_and_tokens_without_connections_are_forgotten() -> None:
    many = limits(max_connections=5000)
    grants = [Grant(f"token-{number}", ()) for number in range(3000)]
    for number, grant in enumerate(grants):
        many.admit(f"10.0.0.{number}")
        many.admit_token(grant)
    for number, grant in enumerate(grants):
        many.leave(f"10.0.0.{number}")
        many.leave_token(grant)
    assert (many._by_address, many._by_token, many.connections) == ({}, {}, 0)


def test_a_refused_connection_leaves_no_trace() -> None:
    few = limits(max_connections=1)
    few.admit("a")
    few.admit("b")
    assert list(few._by_address) == ["a"]


def test_new_connections_come_at_a_rate() -> None:
    clock = FakeClock()
    calm = limits(clock, max_new_per_second=3)
    assert [calm.admit("a") is None for _ in range(4)] == [True, True, True, False]
    clock.now += 0.34
    assert calm.admit("a") is None
    assert "try again" in (calm.admit("a") or "")


def test_new_connections_are_unlimited_unless_asked_for() -> None:
    assert all(limits().admit("a") is None for _ in range(1000))


def test_a_token_has_a_limit_of_its_own() -> None:
    some = limits()
    grant = Grant("dashboard", (b"*",), max_connections=1)
    assert some.admit_token(grant) is None
    assert "with your token" in (some.admit_token(grant) or "")
    assert some.admit_token(Grant("operator", (b"*",))) is None
    some.leave_token(grant)
    assert some.admit_token(grant) is None


def test_a_client_may_make_all_its_subscriptions_at_once_and_then_goes_slowly() -> None:
    clock = FakeClock()
    rate = limits(clock, max_subscriptions=100, max_requests_per_second=10).requests()
    assert rate is not None
    assert [rate.allows(clock.now) for _ in range(101)] == [True] * 100 + [False]
    assert not rate.allows(clock.now + 0.099)
    clock.now += 0.2
    assert [rate.allows(clock.now) for _ in range(3)] == [True, True, False]


def test_requests_may_be_unlimited() -> None:
    assert limits(max_requests_per_second=0).requests() is None


def test_a_bucket_holds_no_more_than_its_burst_and_minds_no_clock_that_goes_back() -> None:
    rate = RateLimit(10, 2, now=0)
    assert [rate.allows(1000) for _ in range(3)] == [True, True, False]
    assert not rate.allows(0)
    assert rate.allows(1000.1)
    assert [rate.allows(2000) for _ in range(3)] == [True, True, False]
