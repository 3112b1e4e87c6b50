"""How a connection begins: what is asked, in which order, and what is said when it goes wrong."""

from collections.abc import Sequence
from typing import Any

import pytest

from kafkaesque.client.connection import Address, Connection, RefusedError
from kafkaesque.client.greeting import Question, Versions, greet
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafkaesque.protocol.messages.fetch import FetchRequest
from kafkaesque.protocol.messages.metadata import MetadataRequest
from kafkaesque.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kafkaesque.protocol.messages.sasl_handshake import SaslHandshakeResponse

BROKER = Address("broker.example.org", 9092)
PLAIN = Connection(user="eve", password="secret", sasl_mechanism="PLAIN")


def told(*ranges: tuple[int, int, int]) -> ApiVersionsResponse:
    return ApiVersionsResponse(
        api_keys=[ApiVersion(api_key=k, min_version=a, max_version=b) for k, a, b in ranges]
    )


SASL = told((17, 0, 1), (36, 0, 2))


def greeted(connection: Connection, answers: Sequence[Any]) -> tuple[list[Question], Versions]:
    steps = greet(BROKER, connection, "nonce")
    questions = [next(steps)]
    *first, last = answers
    questions += [steps.send(answer) for answer in first]
    with pytest.raises(StopIteration) as end:
        steps.send(last)
    return questions, end.value.value


def test_without_a_user_only_the_versions_are_asked_for() -> None:
    questions, _ = greeted(Connection(), [told()])
    assert [(each.api, each.version) for each in questions] == [("ApiVersions", 0)]


def test_a_user_logs_in() -> None:
    questions, _ = greeted(PLAIN, [SASL, SaslHandshakeResponse(), SaslAuthenticateResponse()])
    assert [(each.api, each.version) for each in questions] == [
        ("ApiVersions", 0),
        ("SaslHandshake", 1),
        ("SaslAuthenticate", 2),
    ]
    assert questions[1].request.mechanism == "PLAIN"
    assert questions[2].request.auth_bytes == b"\0eve\0secret"


def test_a_mechanism_that_is_not_offered_is_refused_with_those_that_are() -> None:
    answer = SaslHandshakeResponse(
        error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=["SCRAM-SHA-512"]
    )
    with pytest.raises(RefusedError, match=r"PLAIN \(it offers SCRAM-SHA-512\): choose another"):
        greeted(PLAIN, [SASL, answer])


def test_a_wrong_password_is_refused_in_the_brokers_words() -> None:
    answer = SaslAuthenticateResponse(
        error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message="who are you?"
    )
    with pytest.raises(RefusedError, match=r"'eve' in \(who are you\?\): check --user"):
        greeted(PLAIN, [SASL, SaslHandshakeResponse(), answer])


def test_a_server_that_proves_nothing_is_refused() -> None:
    connection = Connection(user="eve", password="secret")
    answer = SaslAuthenticateResponse(auth_bytes=b"r=other,s=AA==,i=4096")
    with pytest.raises(RefusedError, match="cannot be trusted"):
        greeted(connection, [SASL, SaslHandshakeResponse(), answer])


def test_a_broker_without_sasl_is_refused() -> None:
    with pytest.raises(RefusedError, match="knows no SaslHandshake of version 1"):
        greeted(PLAIN, [told((17, 0, 0))])


def test_the_best_version_is_the_newest_that_both_know_and_the_caller_wants() -> None:
    versions = Versions(BROKER, told((1, 4, 16), (3, 0, 5)))
    assert versions.best(FetchRequest(), 12) == 12
    assert versions.best(FetchRequest(), 99) == 16
    assert versions.best(MetadataRequest(), 9, min_version=4) == 5
    with pytest.raises(RefusedError, match="knows no Metadata of version 9"):
        versions.best(MetadataRequest(), 9, min_version=6)
    with pytest.raises(RefusedError, match="knows no Fetch of version 3"):
        versions.best(FetchRequest(), 3)
