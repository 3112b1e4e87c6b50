"""What goes wrong, as a client is told: a status, a word for programs, a sentence for people.

    404 {"error": "UNKNOWN_TOPIC_OR_PARTITION", "message": "there is no topic tikcs: …"}

Where a mistake has a place (a line, a column, the number of an event), it is there too. Words that
Kafka has are Kafka's. Above: every file with routes; app.py makes answers of them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fastapi.responses import JSONResponse

from kafkaesque.client.answers import Status
from kafkaesque.errors import ErrorCode

_STATUSES = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: 404,
    ErrorCode.UNKNOWN_TOPIC_ID: 404,
    ErrorCode.GROUP_ID_NOT_FOUND: 404,
    ErrorCode.TOPIC_ALREADY_EXISTS: 409,
    ErrorCode.NON_EMPTY_GROUP: 409,
    ErrorCode.UNKNOWN_MEMBER_ID: 409,
    ErrorCode.INVALID_TOPIC_EXCEPTION: 400,
    ErrorCode.INVALID_CONFIG: 400,
    ErrorCode.INVALID_PARTITIONS: 400,
    ErrorCode.INVALID_REPLICATION_FACTOR: 400,
    ErrorCode.INVALID_REQUEST: 400,
    ErrorCode.OFFSET_OUT_OF_RANGE: 404,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: 403,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: 403,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: 403,
}


class ProblemError(Exception):
    """Raised anywhere in a request; answered by app.py."""

    def __init__(
        self,
        status: int,
        error: str,
        message: str,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.message = message
        self.headers = headers
        self.more = more

    def answer(self) -> JSONResponse:
        content = {"error": self.error, "message": self.message, **self.more}
        return JSONResponse(content, self.status, self.headers)


def of_code(code: ErrorCode, message: str) -> ProblemError:
    return ProblemError(_STATUSES.get(code, 502), code.name, message)


def of_status(status: Status) -> ProblemError:
    text = "; ".join(filter(None, [status.message, status.cure]))
    return of_code(status.code, f"{status.name}: {text}")


def unknown_topic(topic: str) -> ProblemError:
    return of_code(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        f"there is no topic {topic}: GET /topics tells which there are, POST /topics makes one",
    )


def bad_parameter(name: str, message: str, **more: Any) -> ProblemError:
    return ProblemError(
        400, "INVALID_PARAMETER", f"{name}: {message}", more={"parameter": name, **more}
    )


def too_large(limit: int, **where: int) -> ProblemError:
    return ProblemError(
        413,
        "MESSAGE_TOO_LARGE",
        f"the body is larger than {limit} bytes: send it in parts, as application/x-ndjson, "
        "or raise --max-body-bytes of the gateway",
        headers={"connection": "close"},
        more=where,
    )
