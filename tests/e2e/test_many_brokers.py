"""Several brokers in one process, each in its thread: what is sent to one lies there, and only
there.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from tests.in_process import InProcessBroker
from tests.wire.client import RawClient
from tests.wire.requests import batch, create_topic, fetch, produce, produce_answer

from kafkaesque.protocol.messages.create_topics import CreateTopicsResponse
from kafkaesque.protocol.messages.fetch import FetchResponse
from kafkaesque.records.batch import batches, records

_FETCH_VERSION = 11
_PRODUCE_VERSION = 9


def _sent(name: str, number: int) -> bytes:
    """Of lengths that differ: bytes of another broker's request would not fit."""
    return f"{name}:{number}:".encode() + name.encode() * (number % 97)


def _write(bootstrap: str, name: str, count: int, start: threading.Barrier) -> None:
    with RawClient(bootstrap) as client:
        client.call(create_topic("t", 1), CreateTopicsResponse, 7)
        start.wait()
        for number in range(count):
            client.send(produce("t", 0, batch([_sent(name, number)])), _PRODUCE_VERSION)
            if number % 32 == 31:
                for _ in range(32):
                    assert produce_answer(client.receive()).error_code == 0


def _values(bootstrap: str) -> Iterator[bytes]:
    offset = 0
    with RawClient(bootstrap) as client:
        while True:
            answer = client.call(fetch("t", 0, offset), FetchResponse, _FETCH_VERSION)
            data = answer.responses[0].partitions[0].records
            if not data:
                return
            for position, header in batches(data):
                yield from (record.value or b"" for record in records(data, position))
                offset = header.next_offset


def _check_none_mixed_up(brokers: int, count: int) -> None:
    names = [f"broker{number}" for number in range(brokers)]
    start = threading.Barrier(brokers)
    with ExitStack() as stack:
        running = [stack.enter_context(InProcessBroker(None)).bootstrap for _ in names]
        with ThreadPoolExecutor(brokers) as threads:
            writers = [
                threads.submit(_write, bootstrap, name, count, start)
                for bootstrap, name in zip(running, names, strict=True)
            ]
            for writer in writers:
                writer.result()
        for bootstrap, name in zip(running, names, strict=True):
            assert list(_values(bootstrap)) == [_sent(name, number) for number in range(count)]


@pytest.mark.parametrize(("brokers", "count"), [(2, 3200), (8, 640)])
def test_brokers_under_load_at_once_keep_what_is_theirs(brokers: int, count: int) -> None:
    _check_none_mixed_up(brokers, count)


@pytest.mark.crash
@pytest.mark.timeout(900)
def test_five_hundred_brokers_come_and_go_and_none_is_mixed_up() -> None:
    for _ in range(50):
        _check_none_mixed_up(10, 64)
