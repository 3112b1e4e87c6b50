"""SASL: the examples of the RFCs, a server of our own, and servers that do not do their part."""

from base64 import b64encode
from collections.abc import Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scram_server import ScramServer

from kafkaesque.client.sasl import SaslError, login

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)
CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def begun(mechanism: str = "SCRAM-SHA-256") -> Generator[bytes, bytes, None]:
    steps = login(mechanism, "user", "pencil", NONCE)
    next(steps)
    return steps


def ends(steps: Generator[bytes, bytes, None], last: bytes) -> bool:
    try:
        steps.send(last)
    except StopIteration:
        return True
    return False


def test_plain_is_the_example_of_rfc_4616() -> None:
    steps = login("PLAIN", "tim", "tanstaaftanstaaf", "unused")
    assert next(steps) == b"\0tim\0tanstaaftanstaaf"
    assert ends(steps, b"")


def test_scram_sha_256_is_the_example_of_rfc_7677() -> None:
    steps = login("SCRAM-SHA-256", "user", "pencil", NONCE)
    assert next(steps) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert steps.send(SERVER_FIRST) == CLIENT_FINAL
    assert ends(steps, SERVER_FINAL)


def test_a_server_that_does_not_know_the_password_is_not_believed() -> None:
    steps = begun()
    steps.send(SERVER_FIRST)
    with pytest.raises(SaslError, match="does not know the password"):
        steps.send(b"v=" + b64encode(bytes(32)))


def test_a_servers_error_is_told() -> None:
    steps = begun()
    steps.send(SERVER_FIRST)
    with pytest.raises(SaslError, match="invalid-proof"):
        steps.send(b"e=invalid-proof")


@pytest.mark.parametrize(
    ("challenge", "reason"),
    [
        (b"r=another,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "nonce"),
        (f"r={NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode(), "nonce"),
        (f"r={NONCE}x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4095".encode(), "4095 iterations"),
        (f"r={NONCE}x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=99999999".encode(), "iterations"),
        (f"r={NONCE}x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=-1".encode(), "iterations"),
        (f"r={NONCE}x,s=W22ZaJ0SNY7soEsUEjb6gQ==".encode(), "no iterations"),
        (f"r={NONCE}x,s=!,i=4096".encode(), "base64"),
        (f"m=x,r={NONCE}x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode(), "extension"),
        (b"\xff", "not text"),
        (b"", "nonce"),
    ],
)
def test_a_challenge_that_makes_no_sense_ends_the_login(challenge: bytes, reason: str) -> None:
    with pytest.raises(SaslError, match=reason):
        begun().send(challenge)


@given(st.binary(max_size=60))
def test_whatever_a_server_sends_nothing_else_is_raised(challenge: bytes) -> None:
    with pytest.raises(SaslError):
        begun().send(challenge)


@pytest.mark.parametrize("hash_name", ["sha256", "sha512"])
@pytest.mark.parametrize("right", [True, False])
def test_a_server_lets_in_who_knows_the_password(hash_name: str, right: bool) -> None:
    server = ScramServer(hash_name, "pässword" if right else "another")
    mechanism = f"SCRAM-SHA-{hash_name[3:]}"
    steps = login(mechanism, "a=b,c", "pässword", "fresh")
    name, challenge = server.challenge(next(steps))
    assert name == "a=3Db=2Cc"
    verdict = server.verdict(steps.send(challenge))
    if right:
        assert ends(steps, verdict)
    else:
        with pytest.raises(SaslError, match="invalid-proof"):
            steps.send(verdict)
