"""A broker in this process that answers some of the APIs otherwise."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from inspect import isawaitable
from typing import Any

from kafkaesque.broker.apis import APIS, Context
from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.embedded.thread import BrokerThread

Handle = Callable[[Context, Any], Awaitable[Any]]


@contextmanager
def altered_broker(handles: Mapping[str, Handle]) -> Iterator[str]:
    """Its bootstrap address. `handles` are by the names of their APIs."""
    apis = {
        key: api._replace(handle=handles.get(api.name, api.handle)) for key, api in APIS.items()
    }
    thread = BrokerThread(BrokerConfig.of([Listener("127.0.0.1", 0)], None, {}), apis=apis)
    thread.start()
    try:
        yield thread.bootstrap_servers
    finally:
        thread.stop()


def handle_of(name: str) -> Handle:
    """How a broker answers that is left as it is."""
    handle: Any
    (handle,) = (api.handle for api in APIS.values() if api.name == name)

    async def answer(context: Context, request: Any) -> Any:
        told = handle(context, request)
        return await told if isawaitable(told) else told

    return answer
