"""How a broker starts, why it refuses to, how it stops, and what it need not do afterwards."""

import gc
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests import foreign
from tests.broker_process import COMMAND, BrokerProcess
from tests.faulty_files import FaultyFiles
from tests.in_process import InProcessBroker
from tests.steady_writer import SteadyWriter
from tests.wire.client import RawClient
from tests.wire.requests import fetch

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.fetch import FetchResponse

pytestmark = pytest.mark.slow

TIMEOUT_S = foreign.TIMEOUT_S
CLEAN_MARKER = ".kafka_cleanshutdown"


def test_a_second_broker_on_the_same_directory_is_refused(broker: BrokerProcess) -> None:
    said = _refused("--port", "0", "--data-dir", str(broker.data_dir))
    assert str(broker.data_dir) in said
    assert f"in use by process {broker.pid}" in said
    assert "--data-dir" in said
    assert foreign.produce(broker.bootstrap, "still-works", ["v"]) == [0]


def test_a_port_in_use_is_refused_and_leaves_the_directory_as_it_was(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        foreign.produce(broker.bootstrap, "kept", ["v"])
        broker.stop()
        with socket.create_server(("127.0.0.1", broker.port)):
            said = _refused("--port", str(broker.port), "--data-dir", str(broker.data_dir))
        assert f"127.0.0.1:{broker.port} is in use" in said
        assert "--port" in said
        assert (broker.data_dir / CLEAN_MARKER).exists()
        broker.start()
        assert foreign.values(foreign.read(broker.bootstrap, "kept", 1)) == [b"v"]


def test_a_directory_of_a_newer_format_is_refused_untouched(tmp_path: Path) -> None:
    meta = _stopped_data_directory(tmp_path) / "meta.properties"
    newer = meta.read_text().replace("kafkaesque.format=1", "kafkaesque.format=2")
    meta.write_text(newer)
    before = _content(tmp_path / "data")
    said = _refused("--port", "0", "--data-dir", str(tmp_path / "data"))
    assert "written by a newer Kafkaesque (format 2, this one knows 1)" in said
    assert "upgrade" in said
    assert _content(tmp_path / "data") == before


def test_a_directory_of_apache_kafka_is_refused_untouched(tmp_path: Path) -> None:
    meta = _stopped_data_directory(tmp_path) / "meta.properties"
    meta.write_text(meta.read_text().replace("kafkaesque.format=1\n", ""))
    before = _content(tmp_path / "data")
    said = _refused("--port", "0", "--data-dir", str(tmp_path / "data"))
    assert "belongs to Apache Kafka" in said
    assert "--data-dir" in said
    assert _content(tmp_path / "data") == before


def test_a_directory_of_something_else_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    said = _refused("--port", "0", "--data-dir", str(tmp_path))
    assert "is not empty" in said
    assert "--data-dir" in said
    assert (tmp_path / "thesis.txt").read_text() == "precious"


def test_a_file_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    said = _refused("--port", "0", "--data-dir", str(tmp_path / "data"))
    assert "cannot be used" in said
    assert "--data-dir" in said


def test_a_log_that_cannot_be_read_is_named_and_the_others_are_served(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        for topic in ("bad", "good"):
            foreign.produce(broker.bootstrap, topic, ["v"])
    segment = tmp_path / "data" / "bad-0" / "00000000000000000000.log"
    segment.unlink()
    segment.mkdir()
    with BrokerProcess(tmp_path / "data") as broker:
        assert f"{segment}: Is a directory" in broker.log
        assert foreign.watermarks(broker.bootstrap, "good", 0) == (0, 1)
        with RawClient(broker.bootstrap) as client:
            answer = client.call(fetch("bad", 0, 0), FetchResponse, 11)
        code = answer.responses[0].partitions[0].error_code
        assert code == ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("no.such.setting=1", "no such setting"),
        ("log.retention.no=1", "log.retention.ms"),
        ("retention.ms=1", "--set log.retention.ms="),
        ("num.partitions=many", "num.partitions=many"),
        ("num.partitions=0", "must be at least 1"),
        ("default.replication.factor=3", "this cluster is one node"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_before_anything_is_made(
    tmp_path: Path, given: str, said: str
) -> None:
    assert said in _refused("--data-dir", str(tmp_path / "data"), "--set", given)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        foreign.produce(broker.bootstrap, "kept", ["a", "b"])
        assert not (broker.data_dir / CLEAN_MARKER).exists()
        assert broker.stop(number) == 0
        assert (broker.data_dir / CLEAN_MARKER).exists()
        broker.start()
        assert not (broker.data_dir / CLEAN_MARKER).exists()
        assert foreign.values(foreign.read(broker.bootstrap, "kept", 2)) == [b"a", b"b"]


def test_it_stops_cleanly_while_a_client_waits_for_records(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        topic = foreign.create_topic(broker.bootstrap)
        with RawClient(broker.bootstrap) as client:
            client.send(fetch(topic, 0, 0, max_wait_ms=60_000), 11)
            foreign.watermarks(broker.bootstrap, topic)
            assert broker.stop() == 0
            assert client.receive().responses[0].partitions[0].error_code == 0
        assert (broker.data_dir / CLEAN_MARKER).exists()


def test_it_stops_cleanly_in_the_middle_of_a_checkpoint(tmp_path: Path) -> None:
    files = FaultyFiles()
    settings = {"log.flush.offset.checkpoint.interval.ms": "10"}
    with InProcessBroker(tmp_path / "data", settings, files=files) as broker:
        foreign.produce(broker.bootstrap, "kept", ["v"])
        files.may_rename.clear()
        files.is_renaming.clear()
        foreign.produce(broker.bootstrap, "kept", ["v"])
        assert files.is_renaming.wait(TIMEOUT_S)
        stopping = threading.Thread(target=broker.stop)
        stopping.start()
        time.sleep(0.2)
        files.may_rename.set()
        stopping.join()
    assert (tmp_path / "data" / CLEAN_MARKER).exists()


def test_a_checkpoint_that_could_not_be_written_is_made_up_for_before_a_clean_stop(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = FaultyFiles()
    checkpoint = tmp_path / "data" / "recovery-point-offset-checkpoint"
    settings = {"log.flush.offset.checkpoint.interval.ms": "10"}
    with InProcessBroker(tmp_path / "data", settings, files=files) as broker:
        foreign.produce(broker.bootstrap, "kept", ["a", "b"])
        foreign.until(lambda: checkpoint.exists() and "kept 0 2" in checkpoint.read_text())
        files.unwritable = checkpoint.name
        foreign.produce(broker.bootstrap, "kept", ["c", "d"])
        foreign.until(lambda: "will be tried again" in caplog.text)
        files.unwritable = None
    with InProcessBroker(tmp_path / "data") as broker:
        assert foreign.watermarks(broker.bootstrap, "kept") == (0, 4)
        assert foreign.produce(broker.bootstrap, "kept", ["e"]) == [4]


def test_nothing_acknowledged_is_lost_when_it_stops_under_load(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        topic = foreign.create_topic(broker.bootstrap)
        with SteadyWriter(broker.bootstrap, topic) as writer:
            for _ in range(2):
                writer.wait_for(200)
                assert broker.stop() == 0
                broker.start()
        there = foreign.values(foreign.read(broker.bootstrap, topic, len(writer.acknowledged)))
        assert there == [b"%d" % number for number in range(len(there))]
        assert {offset: there[offset] for offset in writer.acknowledged} == writer.acknowledged


def test_after_a_clean_stop_nothing_is_scanned_and_after_a_kill_only_what_is_new(
    tmp_path: Path,
) -> None:
    process = BrokerProcess(
        tmp_path / "data", "--set", "log.flush.offset.checkpoint.interval.ms=50"
    )
    with process as broker:
        foreign.produce(broker.bootstrap, "big", ["x" * 1000] * 1000)
        broker.stop()
        assert _read_at_start(tmp_path / "data", "big") == 0
        broker.start()
        foreign.produce(broker.bootstrap, "big", ["y" * 1000] * 1000)
        checkpoint = broker.data_dir / "recovery-point-offset-checkpoint"
        foreign.until(lambda: "big 0 2000" in checkpoint.read_text())
        broker.kill()
        assert _read_at_start(tmp_path / "data", "big") < 50_000


def _refused(*arguments: str) -> str:
    """What a broker that will not start says. One sentence, no traceback."""
    ended = subprocess.run(
        [str(COMMAND), "broker", *arguments], capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.startswith("kafkaesque: ")
    assert "Traceback" not in ended.stderr
    return ended.stderr


def _stopped_data_directory(tmp_path: Path) -> Path:
    with BrokerProcess(tmp_path / "data") as broker:
        broker.stop()
    return tmp_path / "data"


def _content(directory: Path) -> dict[str, bytes]:
    paths = [path for path in directory.rglob("*") if path.is_file() and path.name != ".lock"]
    return {str(path): path.read_bytes() for path in paths}


def _read_at_start(data_dir: Path, topic: str) -> int:
    """How many bytes of a topic's segments a broker reads before it listens."""
    files = FaultyFiles()
    with InProcessBroker(data_dir, files=files) as broker:
        read = sum(
            count
            for path, count in files.read_bytes.items()
            if f"/{topic}-0/" in path and path.endswith(".log")
        )
        assert foreign.watermarks(broker.bootstrap, topic)[1] > 0
    return read


def test_who_connects_at_the_moment_of_its_end_is_let_go() -> None:
    """A connection that were forgotten would be complained of when the loop closes."""
    for _ in range(300):
        with socket.socket() as client, InProcessBroker(None) as running:
            host, _, port = running.bootstrap.rpartition(":")
            client.setblocking(False)
            with suppress(BlockingIOError):
                client.connect((host, int(port)))
    gc.collect()
