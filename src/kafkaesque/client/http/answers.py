"""What a gateway answers, as results and as `KafkaError`: its word where Kafka has it.

Above: producer.py, consumer.py. Below: errors.py.
"""

from typing import Any, NamedTuple

import httpx

from kafkaesque.errors import ErrorCode, KafkaError

DEFAULT_URL = "http://127.0.0.1:8082"

AWAY = 503

_STATUSES = {
    400: ErrorCode.INVALID_REQUEST,
    401: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    403: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    404: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    413: ErrorCode.MESSAGE_TOO_LARGE,
    503: ErrorCode.BROKER_NOT_AVAILABLE,
    504: ErrorCode.REQUEST_TIMED_OUT,
}


class Written(NamedTuple):
    """Where an event lies."""

    partition: int
    offset: int


class NotAllWrittenError(KafkaError):
    """Some of many events were not written; `results` has a place or an error for each."""

    def __init__(self, results: "list[Written | KafkaError]") -> None:
        errors = [each for each in results if isinstance(each, KafkaError)]
        count = f"{len(errors)} of {len(results)} events were not written"
        super().__init__(errors[0].code, f"{count}: {errors[0].message}")
        self.results = results


def result_of(told: dict[str, Any], status: int = 0) -> Written | KafkaError:
    if "error" in told:
        return error_of(told, status)
    return Written(told["partition"], told["offset"])


def results_of(response: httpx.Response) -> list[Written | KafkaError]:
    """One for each event that was sent. Raises KafkaError if nothing was even tried."""
    try:
        told = response.json()
    except ValueError:
        raise refusal(response) from None
    if "results" in told:
        return [result_of(each) for each in told["results"]]
    if response.status_code != 200:
        raise refusal(response)
    return [result_of(told)]


def error_of(told: dict[str, Any], status: int = 0) -> KafkaError:
    code = ErrorCode.__members__.get(told["error"])
    if code is None:
        code = _STATUSES.get(status, ErrorCode.UNKNOWN_SERVER_ERROR)
    return KafkaError(code, told["message"])


def refusal(response: httpx.Response) -> KafkaError:
    """Of a response that is no success, and that has been read."""
    try:
        return error_of(response.json(), response.status_code)
    except (ValueError, KeyError, TypeError):  # Something else than a gateway.
        unknown = ErrorCode.UNKNOWN_SERVER_ERROR
        if response.status_code < 500:
            unknown = ErrorCode.INVALID_REQUEST
        code = _STATUSES.get(response.status_code, unknown)
        where = f"{response.url.scheme}://{response.url.netloc.decode()}"
        message = f"{where} answered {response.status_code}: does a `kafkaesque gateway` run there?"
        return KafkaError(code, message)


def unreachable(url: str, error: Exception) -> KafkaError:
    return KafkaError(
        ErrorCode.NETWORK_EXCEPTION,
        f"nothing answers at {url} ({error}): start a gateway with `kafkaesque gateway`, "
        "or give its address",
    )


def headers_of(token: str | None) -> dict[str, str]:
    return {} if token is None else {"authorization": f"Bearer {token}"}
