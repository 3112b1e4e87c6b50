"""Settings: addresses, profiles, and what a program adds."""

import pytest

from kafkaesque.client.connection import Address, Connection
from kafkaesque.client.profiles import connection_of, consumer_config, named, producer_config
from kafkaesque.client.starts import check_start


def test_addresses_are_a_connection() -> None:
    connection = connection_of("a:1, [::1]:2,b")
    assert connection.brokers == (Address("a", 1), Address("::1", 2), Address("b", 9092))
    assert connection_of(connection) is connection


@pytest.mark.parametrize("wrong", ["", "a:b", ":1", "a:70000"])
def test_what_is_no_address_is_said_so(wrong: str) -> None:
    with pytest.raises(ValueError, match="is not HOST:PORT"):
        connection_of(wrong)


def test_what_a_program_says_wins_over_the_profile() -> None:
    more = named({"compression.type": "zstd"}, {"linger_ms": 7, "log_level": 3})
    config = producer_config(Connection(), "throughput", more)
    assert (config["linger.ms"], config["compression.type"], config["log_level"]) == (7, "zstd", 3)
    assert config["partitioner"] == "murmur2_random"


@pytest.mark.parametrize(("acks", "is_idempotent"), [("all", True), (-1, True), (1, False)])
def test_who_does_not_wait_for_all_is_not_idempotent(acks: object, is_idempotent: bool) -> None:
    config = producer_config(Connection(), "latency", {"acks": acks})
    assert config["enable.idempotence"] is is_idempotent


def test_another_profile_is_refused() -> None:
    with pytest.raises(ValueError, match="'fast': use latency or throughput"):
        consumer_config(Connection(), "fast", {})


@pytest.mark.parametrize("wrong", ["newest", -1, 1.5])
def test_what_is_no_start_is_said_so(wrong: object) -> None:
    with pytest.raises(ValueError, match="start="):
        check_start(wrong)  # type: ignore[arg-type]
