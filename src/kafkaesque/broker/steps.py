"""Requests decoded and responses encoded in steps: what is done in one, and what the rest comes to.

Above: connection.py. Below: protocol/.
"""

from collections.abc import Generator
from typing import Any, Final, TypeAlias, TypeVar

from kafkaesque.protocol.codec import encode_in_steps
from kafkaesque.protocol.frame import response_frame
from kafkaesque.protocol.header import RequestHeader
from kafkaesque.protocol.messages import API_VERSIONS, FLEXIBLE_SINCE
from kafkaesque.protocol.source import ELEMENTS_IN_A_STEP
from kafkaesque.types import Buffer

T = TypeVar("T")

ELEMENT_BYTES: Final = 400
"""What one of them takes, decoded and answered. In the request it may be a single byte."""
_STEP_BYTES = ELEMENTS_IN_A_STEP * ELEMENT_BYTES

Encoding: TypeAlias = Generator[None, None, list[Buffer]]


def measured(steps: Generator[None, None, T]) -> Generator[None, None, tuple[T, int]]:
    """The same steps, and how many bytes they come to with what they bring."""
    size = _STEP_BYTES
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, size
        size += _STEP_BYTES
        yield


def after_one_step(steps: Generator[None, None, Any]) -> Any | None:
    """What the steps come to, if that is one step; None: it is long."""
    try:
        next(steps)
    except StopIteration as end:
        return end.value
    return None


def begin_to_encode(header: RequestHeader, response: Any) -> list[Buffer] | Encoding:
    """The whole response, or, if it is long, the steps that are left."""
    steps = encode_in_steps(response, header.api_version)
    message = after_one_step(steps)
    return steps if message is None else framed(header, message)


def framed(header: RequestHeader, message: list[Buffer]) -> list[Buffer]:
    key, version, correlation_id, _ = header
    # What has_flexible_response_header says, for every response that is sent.
    flexible = key != API_VERSIONS and version >= FLEXIBLE_SINCE.get(key, version + 1)
    return response_frame(correlation_id, flexible, message)
