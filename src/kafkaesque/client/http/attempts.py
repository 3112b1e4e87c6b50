"""Attempts at one request: whether to try again, and when.

    nobody listens, or 503      nothing has reached the cluster: again, until the time is up
    the connection broke        nobody knows what has become of it: an error
    any other answer            that is it

Pauses grow, and are not the same for everybody: clients that were cut off together should not come
back together. Pure but for the clock and chance. Above: producer.py, consumer.py.
Below: answers.py.
"""

import random
import time

import httpx

from kafkaesque.client.http.answers import AWAY, refusal, unreachable
from kafkaesque.errors import ErrorCode, KafkaError

_FIRST_S = 0.05
_MOST_S = 5.0
_NOTHING_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class Pauses:
    def __init__(self) -> None:
        self._next_s = _FIRST_S

    def next_s(self) -> float:
        pause_s = self._next_s * random.uniform(0.5, 1.0)
        self._next_s = min(self._next_s * 2, _MOST_S)
        return pause_s

    def begin_again(self) -> None:
        self._next_s = _FIRST_S


class Attempts:
    """Each method gives the pause before the next attempt, or None if there need be none."""

    def __init__(self, url: str, timeout_s: float) -> None:
        self._url = url
        self._deadline = time.monotonic() + timeout_s
        self._pauses = Pauses()

    def after(self, response: httpx.Response) -> float | None:
        if response.status_code != AWAY:
            return None
        return self._pause_s(refusal(response))

    def after_failure(self, error: httpx.TransportError) -> float:
        if isinstance(error, _NOTHING_SENT):
            return self._pause_s(unreachable(self._url, error))
        raise KafkaError(
            ErrorCode.NETWORK_EXCEPTION,
            f"the connection to {self._url} broke ({error or type(error).__name__}): the events "
            "may or may not be written; look before sending them again",
        ) from error

    def _pause_s(self, failure: KafkaError) -> float:
        if time.monotonic() >= self._deadline:
            raise failure
        return self._pauses.next_s()
