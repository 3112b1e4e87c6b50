"""THE table with faults in it: each API asks what befalls a request before it answers.

Requests are carried out when they arrive, in order, even if their answers are held back; the
connection sends answers in the order of the requests. A request that no fault is about goes
straight to the broker. Above: kafka.py. Below: faults.py, broker/apis.
"""

from collections.abc import Awaitable, Mapping
from typing import Any

from kafkaesque.broker.apis import APIS, Api, Context
from kafkaesque.protocol.messages.produce import ProduceRequest
from kafkaesque.testing.fault import Strike
from kafkaesque.testing.faults import Faults
from kafkaesque.testing.subjects import merge


def faulty_apis(faults: Faults) -> Mapping[int, Api]:
    return {key: _faulty(api, faults) for key, api in APIS.items()}


def _faulty(api: Api, faults: Faults) -> Api:
    def handle(context: Context, request: Any) -> Any:
        strike = faults.strike(context, request)
        answer = _begin(api, context, request, strike)
        if strike.delays or isinstance(answer, Awaitable):
            return _finish(request, answer, strike)
        return _end(request, answer, strike)

    return api._replace(handle=handle)


def _begin(api: Api, context: Context, request: Any, strike: Strike) -> Any:
    """Carry out what the faults leave of a request, now: its bytes will not be there later."""
    if strike.refused is not None:
        return None if strike.rest is None else api.handle(context, strike.rest)
    if strike.drop is not None and not strike.drop.after:
        return None
    return api.handle(context, request)


async def _finish(request: Any, answer: Any, strike: Strike) -> Any:
    if isinstance(answer, Awaitable):
        answer = await answer
    for delay in strike.delays:
        await delay.hold()
    return _end(request, answer, strike)


def _end(request: Any, answer: Any, strike: Strike) -> Any:
    if strike.drop is not None:
        raise ConnectionAbortedError("a test asked for a dropped connection")
    if strike.refused is None:
        return answer
    if isinstance(request, ProduceRequest) and request.acks == 0:
        return None
    return strike.refused if strike.rest is None else merge(answer, strike.refused)
