"""The faults that a test asks for, by API: late answers, errors, dropped connections.

    kafka.faults.error("Produce", "NOT_ENOUGH_REPLICAS", times=2)
    with kafka.faults.delay("Fetch", seconds=0.2, topic="orders") as slow: ...

A fault holds from the next request on, until it has struck `times` times or is removed. Of the
errors and drops that fit a request the first that was added strikes; delays add up and come on top.
Any thread may call. Above: kafka.py. Below: fault.py; faulty_apis.py carries out what strikes.
"""

import threading
from typing import Any

from kafkaesque.broker.apis import APIS, Api, Context
from kafkaesque.errors import ErrorCode
from kafkaesque.testing.fault import Condition, Delay, Drop, Fault, Refuse, Strike
from kafkaesque.testing.subjects import names_topics


class Faults:
    """The faults of one broker.

    Each takes the same conditions: only requests about this `topic` or from this `client_id`, so
    many `times`, with this `probability` (give a `seed`, and every run draws the same).
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: dict[int, list[Fault]] = {key: [] for key in APIS}

    def delay(
        self,
        api: str | int,
        seconds: float,
        *,
        topic: str | None = None,
        client_id: str | None = None,
        times: int | None = None,
        probability: float = 1.0,
        seed: int | None = None,
    ) -> Fault:
        """Hold answers back for so long; the requests are carried out at once, in their order."""
        if seconds < 0:
            raise ValueError(f"a delay of {seconds} seconds: give 0 or more")
        condition = Condition(topic, client_id, times, probability, seed)
        return self._add(api, Delay(seconds), condition)

    def error(
        self,
        api: str | int,
        error: ErrorCode | str,
        *,
        topic: str | None = None,
        client_id: str | None = None,
        times: int | None = None,
        probability: float = 1.0,
        seed: int | None = None,
    ) -> Fault:
        """Answer with this error and carry nothing out, or, with `topic`, nothing about that."""
        condition = Condition(topic, client_id, times, probability, seed)
        return self._add(api, Refuse(_code(error)), condition)

    def drop(
        self,
        api: str | int,
        *,
        after: bool = False,
        topic: str | None = None,
        client_id: str | None = None,
        times: int | None = None,
        probability: float = 1.0,
        seed: int | None = None,
    ) -> Fault:
        """Close the connection without an answer; with `after`, once the request is carried out."""
        condition = Condition(topic, client_id, times, probability, seed)
        return self._add(api, Drop(after), condition)

    def clear(self) -> None:
        """Remove all of them."""
        with self._lock:
            faults = [fault for faults in self._faults.values() for fault in faults]
        for fault in faults:
            fault.remove()

    def strike(self, context: Context, request: Any) -> Strike:
        """What befalls this request."""
        key = context.header.api_key
        strike = Strike()
        if self._faults[key]:
            with self._lock:
                self._faults[key] = [fault for fault in self._faults[key] if not fault.is_removed]
                for fault in self._faults[key]:
                    fault.add_to(strike, context, request)
        return strike

    def _add(self, api: str | int, act: Delay | Refuse | Drop, condition: Condition) -> Fault:
        found = _api(api)
        if condition.topic is not None and not names_topics(found.key):
            raise ValueError(f"{found.name} requests are not about topics: leave topic out")
        if not 0 <= condition.probability <= 1:
            raise ValueError(f"a probability of {condition.probability}: give 0 to 1")
        fault = Fault(found.name, act, condition, self._lock)
        with self._lock:
            self._faults[found.key].append(fault)
        return fault


def _api(wanted: str | int) -> Api:
    for api in APIS.values():
        if wanted in (api.key, api.name):
            return api
    known = ", ".join(f"{api.name} ({api.key})" for api in APIS.values())
    raise ValueError(f"no API {wanted!r}; there are {known}")


def _code(error: ErrorCode | str) -> ErrorCode:
    if isinstance(error, str) and error not in ErrorCode.__members__:
        raise ValueError(f"no error {error!r}; there are {', '.join(ErrorCode.__members__)}")
    code = ErrorCode[error] if isinstance(error, str) else ErrorCode(error)
    if code is ErrorCode.NONE:
        raise ValueError("NONE is no error: without a fault there is none")
    return code
