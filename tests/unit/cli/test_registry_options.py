"""Where a registry is, as command lines say it."""

from pathlib import Path

import pytest
import typer

from kafkaesque.cli.registry_options import registry_address, registry_beside, registry_client
from kafkaesque.client.connection import Address, Connection
from kafkaesque.client.registry_address import RegistryAddress


def test_without_a_url_there_is_no_registry() -> None:
    assert registry_address(None) is None
    assert registry_address("") is None
    assert registry_client(None, "user", "password") is None


def test_beside_the_broker_of_up_its_registry_is_known() -> None:
    for brokers, url in (
        ([Address("127.0.0.1", 9092)], "http://127.0.0.1:8081"),
        ([Address("localhost", 19092), Address("::1", 9092)], "http://127.0.0.1:8081"),
        ([Address("127.0.0.1", 9093)], None),
        ([Address("127.0.0.1", 9092), Address("broker.example.org", 9092)], None),
    ):
        client = registry_beside(Connection(tuple(brokers)))
        assert (client and client.url) == url
        if client is not None:
            client.close()


def test_all_that_is_said_is_in_the_address_and_secrets_are_not_shown() -> None:
    said = registry_address("http://a:8081,https://b", "user", "secret", None, Path("ca.pem"))
    assert said == RegistryAddress(
        "http://a:8081,https://b", "user", "secret", None, Path("ca.pem")
    )
    assert "secret" not in repr(said)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("localhost:8081",), "is no URL"),
        (("http://a:8081,b:8081",), "'b:8081' is no URL"),
        (("http://a", "user", "password", "token"), "not both"),
        (("http://a", None, "password"), "needs a user"),
    ],
)
def test_what_cannot_be_is_a_usage_error(arguments: tuple[str, ...], says: str) -> None:
    with pytest.raises(typer.BadParameter, match=says):
        registry_address(*arguments)  # type: ignore[arg-type]


def test_a_client_is_made_without_asking_anybody() -> None:
    client = registry_client("http://127.0.0.1:1", token="t")
    assert client is not None
    client.close()
