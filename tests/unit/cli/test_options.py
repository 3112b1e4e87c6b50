"""Options: addresses, listeners, pairs, and what a wrong one is told."""

import pytest
import typer

from kafkaesque.cli.options import (
    Listen,
    parse_address,
    parse_brokers,
    parse_header,
    parse_listen,
    parse_numbers,
    parse_pair,
)
from kafkaesque.client.connection import Address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9092", Address("127.0.0.1", 9092)),
        ("localhost:0", Address("localhost", 0)),
        ("[::1]:9092", Address("::1", 9092)),
        (" example.org:65535 ", Address("example.org", 65535)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, address: Address) -> None:
    assert parse_address(text) == address


def test_an_address_is_written_as_it_is_read() -> None:
    for text in ("127.0.0.1:9092", "[::1]:9092"):
        assert str(parse_address(text)) == text


@pytest.mark.parametrize(
    "text", ["", ":", "host", "host:", ":9092", "host:x", "host:-1", "host:65536", "host:٣", "[]:1"]
)
def test_what_is_no_address_is_told_the_form(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="HOST:PORT"):
        parse_address(text)


def test_an_ipv6_address_without_brackets_is_told_about_them() -> None:
    with pytest.raises(typer.BadParameter, match="brackets"):
        parse_address("::1:9092")


def test_a_listener_advertises_itself_unless_told_otherwise() -> None:
    assert parse_listen("0.0.0.0:19092") == Listen(Address("0.0.0.0", 19092), None)
    assert parse_listen("0.0.0.0:19092=example.org:443") == Listen(
        Address("0.0.0.0", 19092), Address("example.org", 443)
    )
    with pytest.raises(typer.BadParameter, match=r"'example\.org' is not HOST:PORT"):
        parse_listen("0.0.0.0:19092=example.org")


def test_brokers_are_a_list_whose_port_may_be_left_out() -> None:
    assert parse_brokers("a:1, b,[::1],[::2]:5") == [
        Address("a", 1),
        Address("b", 9092),
        Address("::1", 9092),
        Address("::2", 5),
    ]


@pytest.mark.parametrize("text", ["", ",", "a:1,", "a:b:c"])
def test_wrong_brokers_name_their_option(text: str) -> None:
    with pytest.raises(typer.BadParameter) as error:
        parse_brokers(text)
    assert error.value.param_hint == "--brokers"


def test_a_pair_is_cut_at_the_first_equals_sign() -> None:
    assert parse_pair("name=a=b") == ("name", "a=b")
    assert parse_pair(" name = value ") == ("name", "value")
    assert parse_pair("name=") == ("name", "")


@pytest.mark.parametrize("text", ["", "name", "=value", " =value"])
def test_what_is_no_pair_is_told_the_form(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="name=value"):
        parse_pair(text)


def test_a_header_is_cut_at_the_first_equals_sign_or_colon() -> None:
    assert parse_header("source=a:b") == ("source", "a:b")
    assert parse_header("source:a=b") == ("source", "a=b")
    assert parse_header("source=") == ("source", "")
    for text in ("", "source", "=web"):
        with pytest.raises(typer.BadParameter, match="name=value"):
            parse_header(text)


def test_numbers_are_a_list() -> None:
    assert parse_numbers("", "-p") == []
    assert parse_numbers("0, 12", "-p") == [0, 12]
    for text in ("x", "1,", "-1", "٣"):
        with pytest.raises(typer.BadParameter, match="is not a list of numbers") as error:
            parse_numbers(text, "-p")
        assert error.value.param_hint == "-p"
