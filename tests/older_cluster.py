"""A cluster of the time before anybody could ask about transactions: Kafka before 3.0."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from kafkaesque.broker.apis import APIS, Context
from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.embedded.thread import BrokerThread
from kafkaesque.protocol.messages import API_VERSIONS
from kafkaesque.protocol.messages.api_versions import ApiVersionsResponse

NEWER = {"DescribeProducers", "DescribeTransactions", "ListTransactions"}


@contextmanager
def older_cluster() -> Iterator[str]:
    """Its bootstrap address. It neither advertises nor answers what is newer."""
    apis = {key: api for key, api in APIS.items() if api.name not in NEWER}

    def api_versions(context: Context, request: Any) -> ApiVersionsResponse:
        answer = APIS[API_VERSIONS].handle(context, request)
        assert isinstance(answer, ApiVersionsResponse)
        known = [each for each in answer.api_keys if each.api_key in apis]
        return replace(answer, api_keys=known)

    apis[API_VERSIONS] = APIS[API_VERSIONS]._replace(handle=api_versions)
    thread = BrokerThread(BrokerConfig.of([Listener("127.0.0.1", 0)], None, {}), apis=apis)
    thread.start()
    try:
        yield thread.bootstrap_servers
    finally:
        thread.stop()
