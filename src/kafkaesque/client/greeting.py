"""How a connection to a broker begins, as a dialogue without a wire: bytes are the caller's matter.

    client                                broker
    ApiVersions v0                   ──►
                                     ◄──  what it speaks
    SaslHandshake v1 mechanism       ──►                       only if there is a user
                                     ◄──  agreed
    SaslAuthenticate token           ──►                       as often as the mechanism wants
                                     ◄──  token

`greet` yields a Question, is sent the response, and returns the Versions that the broker speaks. A
broker hangs up on an API that it does not know, so every one of them is asked only after that.
Above: link.py (asyncio), wire.py (blocking). Below: sasl.py, protocol/.
"""

from collections.abc import Generator
from typing import Any, NamedTuple

from kafkaesque.client import sasl
from kafkaesque.client.connection import Address, Connection, RefusedError, UnsupportedError
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkaesque.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafkaesque.protocol.messages.sasl_handshake import (
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kafkaesque.protocol.schema import schema_of


class Question(NamedTuple):
    request: Any
    response: type[Any]
    version: int

    @property
    def api_key(self) -> int:
        return _api_key(self.request)

    @property
    def api(self) -> str:
        return _api(self.request)

    @property
    def is_flexible(self) -> bool:
        return schema_of(type(self.request)).is_flexible(self.version)


class Versions:
    """What one broker speaks."""

    def __init__(self, broker: Address, told: ApiVersionsResponse) -> None:
        self._broker = broker
        self._ranges = {
            each.api_key: (each.min_version, each.max_version) for each in told.api_keys
        }

    def best(self, request: object, max_version: int, min_version: int = 0) -> int:
        """The newest version that both know. Raises UnsupportedError if there is none."""
        ours = schema_of(type(request)).versions
        theirs = self._ranges.get(_api_key(request), (0, -1))
        version = min(ours[1], theirs[1], max_version)
        if version < max(ours[0], theirs[0], min_version):
            raise UnsupportedError(
                f"{self._broker} knows no {_api(request)} of version {max_version}: "
                "it needs a newer Kafka, or another --brokers"
            )
        return version


def greet(
    broker: Address, connection: Connection, nonce: str
) -> Generator[Question, Any, Versions]:
    """All that comes first. `nonce` is fresh randomness for SCRAM."""
    told = yield Question(ApiVersionsRequest(), ApiVersionsResponse, 0)
    versions = Versions(broker, told)
    if connection.user is not None:
        yield from _log_in(broker, connection, nonce, versions)
    return versions


def _log_in(
    broker: Address, connection: Connection, nonce: str, versions: Versions
) -> Generator[Question, Any, None]:
    mechanism = connection.sasl_mechanism
    handshake = SaslHandshakeRequest(mechanism=mechanism)
    version = versions.best(handshake, 1, min_version=1)
    agreed = yield Question(handshake, SaslHandshakeResponse, version)
    if agreed.error_code:
        offered = ", ".join(agreed.mechanisms) or "none"
        raise RefusedError(
            f"{broker} does not let anyone log in with {mechanism} (it offers {offered}): "
            "choose another --sasl-mechanism"
        )
    try:
        steps = sasl.login(mechanism, connection.user or "", connection.password or "", nonce)
        token = next(steps)
        while True:
            request = SaslAuthenticateRequest(auth_bytes=token)
            version = versions.best(request, 2)
            answer = yield Question(request, SaslAuthenticateResponse, version)
            if answer.error_code:
                raise _not_let_in(broker, connection, answer)
            token = steps.send(answer.auth_bytes)
    except StopIteration:
        return
    except sasl.SaslError as error:
        raise RefusedError(
            f"{broker} cannot be trusted with the login of {connection.user!r} ({error}): "
            "see that --brokers names the right cluster, and --password is right"
        ) from None


def _not_let_in(
    broker: Address, connection: Connection, answer: SaslAuthenticateResponse
) -> RefusedError:
    words = answer.error_message or ErrorCode.SASL_AUTHENTICATION_FAILED.name
    return RefusedError(
        f"{broker} does not let {connection.user!r} in ({words}): "
        "check --user, --password and --sasl-mechanism"
    )


def _api_key(request: object) -> int:
    api_key = schema_of(type(request)).api_key
    if api_key is None:
        raise TypeError(f"{type(request).__name__} is no request")
    return api_key


def _api(request: object) -> str:
    return type(request).__name__.removesuffix("Request")
