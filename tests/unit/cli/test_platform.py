"""The parts of `kafkaesque up`: which are run, where, and with which options."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from kafkaesque.cli.up.platform import Platform, broker, clash, others, spare_cores
from kafkaesque.client.connection import Address

ALL = Platform(
    port=9092,
    course_port=19092,
    console_port=8080,
    registry_port=8081,
    gateway_port=8082,
    fanout_port=8083,
    fanout_tcp_port=8084,
    rate=10.0,
    data_dir=Path("data"),
    pipelines_dir=Path("data/pipelines"),
)


def test_each_part_is_told_where_the_broker_is_and_where_to_listen() -> None:
    programs = {program.name: program.args for program in others(ALL)}
    names = ("registry", "console", "gateway", "fanout", "ticks", "avro ticks", "stocks")
    assert tuple(programs) == names
    assert all("127.0.0.1:9092" in args for args in programs.values())
    schemas = ("--registry", "http://127.0.0.1:8081")
    assert programs["gateway"][-4:] == ("--port", "8082", *schemas)
    assert {"8083", "8084", "http://localhost:*", "http://127.0.0.1:*"} <= set(programs["fanout"])
    assert programs["console"][-4:] == ("--fanout", "http://127.0.0.1:8083", *schemas)
    assert programs["avro ticks"] == (*programs["ticks"], "--avro", *schemas)
    assert "--seed" in programs["ticks"], "else a stock has another price in each topic"
    assert set(schemas) <= set(programs["stocks"])


def test_the_pipeline_keeps_its_place_in_the_data_directory_and_waits_when_stopped() -> None:
    (stocks,) = [program for program in others(ALL) if program.name == "stocks"]
    where = stocks.args[stocks.args.index("--checkpoint") + 1]
    assert where == str(Path("data/pipelines/stocks").absolute())
    assert "--stay" in stocks.args


@pytest.mark.parametrize("less", [{"pipelines_dir": None}, {"rate": None}])
def test_without_spark_or_without_ticks_there_is_no_pipeline(less: dict[str, None]) -> None:
    programs = [program.name for program in others(replace(ALL, **less))]  # type: ignore[arg-type]
    assert "stocks" not in programs


def test_without_a_fanout_the_console_looks_for_none() -> None:
    fewer = replace(ALL, fanout_port=None, fanout_tcp_port=None, gateway_port=None, rate=None)
    (console,) = others(replace(fewer, registry_port=None))
    assert "--fanout" not in console.args
    assert "--registry" not in console.args


def test_the_broker_tells_ipv6_clients_its_ipv4_address() -> None:
    args = broker(ALL, [Address("::1", 9092)]).args
    assert args[args.index("--listen") + 1] == "[::1]:9092=127.0.0.1:9092"


def test_two_options_with_one_port_are_named() -> None:
    assert clash(ALL.ports) is None
    twice = replace(ALL, gateway_port=8084)
    assert clash(twice.ports) == "--gateway-port and --fanout-tcp-port must differ: both are 8084"
    assert clash(replace(twice, fanout_port=None, fanout_tcp_port=None).ports) is None


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux can take cores away")
def test_one_core_is_enough_for_a_worker() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert spare_cores() == 1
    finally:
        os.sched_setaffinity(0, before)
