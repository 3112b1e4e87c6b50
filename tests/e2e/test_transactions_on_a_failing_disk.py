"""A disk that fails while a transaction ends: the client asks again, and it ends as it was decided.

What was told durable stays decided; what was not is not there after the log has been read again.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import foreign
from tests.e2e.test_transactions import committed
from tests.faulty_files import FaultyFiles
from tests.in_process import InProcessBroker
from tests.wire.client import RawClient
from tests.wire.transactional import NEW, OLD, RawProducer, Versions, patiently

from kafkaesque.errors import ErrorCode

pytestmark = pytest.mark.slow

_LATER = {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.KAFKA_STORAGE_ERROR}


@pytest.fixture
def files() -> FaultyFiles:
    return FaultyFiles()


@pytest.fixture
def broker(tmp_path: Path, files: FaultyFiles) -> Iterator[InProcessBroker]:
    with InProcessBroker(tmp_path / "data", files=files) as process:
        yield process
        files.is_full = files.fails_to_sync = False


@pytest.fixture(params=[OLD, NEW], ids=["old", "new"])
def producer(broker: InProcessBroker, request: pytest.FixtureRequest) -> Iterator[RawProducer]:
    versions: Versions = request.param
    with RawClient(broker.bootstrap) as client:
        raw = RawProducer(client, "copier", versions)
        assert patiently(raw.init) is ErrorCode.NONE
        yield raw


def write(producer: RawProducer, topic: str, value: bytes) -> None:
    if producer.versions is OLD:
        assert patiently(lambda: producer.add(topic, 0)) is ErrorCode.NONE
    sent = patiently(lambda: ErrorCode(producer.send(topic, 0, [value]).error_code))
    assert sent is ErrorCode.NONE


@pytest.mark.parametrize("fault", ["is_full", "fails_to_sync"])
def test_a_decision_that_cannot_be_written_is_none(
    broker: InProcessBroker, files: FaultyFiles, producer: RawProducer, fault: str
) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    write(producer, topic, b"first")
    setattr(files, fault, True)
    assert producer.end(commit=True) in _LATER
    assert committed(broker.bootstrap, topic) == []
    setattr(files, fault, False)
    assert patiently(lambda: producer.end(commit=True)) is ErrorCode.NONE
    assert committed(broker.bootstrap, topic) == ["first"]
    write(producer, topic, b"second")
    assert patiently(lambda: producer.end(commit=False)) is ErrorCode.NONE
    assert committed(broker.bootstrap, topic) == ["first"]


def test_a_producer_that_cannot_be_written_is_not_given_out(
    broker: InProcessBroker, files: FaultyFiles
) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    with RawClient(broker.bootstrap) as client:
        producer = RawProducer(client, "copier")
        assert patiently(producer.init) is ErrorCode.NONE
        files.is_full = True
        assert producer.init() in _LATER
        files.is_full = False
        assert patiently(producer.init) is ErrorCode.NONE
        write(producer, topic, b"value")
        assert patiently(lambda: producer.end(commit=True)) is ErrorCode.NONE
    assert committed(broker.bootstrap, topic) == ["value"]
