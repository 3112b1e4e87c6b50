"""`kafkaesque listen`: the sample's lines, and how it ends."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import foreign
from tests.broker_process import COMMAND, free_port
from tests.fanout_pair import FanoutPair, fanout_pair


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FanoutPair]:
    with fanout_pair(tmp_path_factory.mktemp("listen")) as pair:
        foreign.create_topic(pair.broker.bootstrap, "incoming", 3)
        yield pair


def listening(uri: str, *args: str) -> "subprocess.Popen[str]":
    """A listener that has said that it listens."""
    command = [str(COMMAND), "listen", "--uri", uri, "--topic", "incoming", *args]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == f"connected to {uri}\n"
    assert process.stdout.readline().startswith("listening for messages from incoming/")
    return process


def wait_for_subscription(pair: FanoutPair) -> None:
    """That it listens the client says when it has asked, not when it was heard."""
    foreign.until(lambda: pair.stats()["subscriptions"] == 1)


def complaint(*args: str) -> str:
    command = [str(COMMAND), "listen", *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=foreign.TIMEOUT_S)
    assert done.returncode == 1
    return done.stderr


@pytest.mark.slow
def test_it_prints_the_lines_of_the_sample(pair: FanoutPair) -> None:
    uri = f"ws://{pair.web}/ws"
    process = listening(uri, "--key", "dave", "--num", "2")
    wait_for_subscription(pair)
    records = [("max", "no"), ("dave", "Hey, Dave, did you get this?"), ("dave", None)]
    pair.write("incoming", records)
    out, err = process.communicate(timeout=foreign.TIMEOUT_S)
    assert out == "(b'dave', b'Hey, Dave, did you get this?')\n(b'dave', b'')\n"
    assert (process.returncode, err) == (0, "")


def test_a_star_is_every_key_and_ctrl_c_is_no_error(pair: FanoutPair) -> None:
    process = listening(f"ws://{pair.web}/ws")
    assert process.stdout is not None
    wait_for_subscription(pair)
    pair.write("incoming", [(None, "a")])
    assert process.stdout.readline() == "(b'', b'a')\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=foreign.TIMEOUT_S)
    assert (process.returncode, out, err) == (0, "", "")


def test_a_refusal_is_told_with_its_reason(pair: FanoutPair) -> None:
    said = complaint("--uri", f"ws://{pair.web}/ws", "--topic", "nothing", "--key", "dave")
    assert said.startswith("kafkaesque: the fan-out refuses: there is no topic 'nothing'")


@pytest.mark.slow
def test_an_address_that_is_no_fan_out_is_told(pair: FanoutPair) -> None:
    assert "answers 404" in complaint("--uri", f"ws://{pair.web}/other", "--topic", "incoming")
    assert "is no ws:// or wss:// address" in complaint("--uri", "http://x", "--topic", "t")
    assert "start one with `kafkaesque fanout`" in complaint(
        "--uri", f"ws://127.0.0.1:{free_port()}/ws", "--topic", "incoming"
    )
    assert "name a PEM file with --tls-ca" in complaint(
        "--uri", "wss://127.0.0.1:1/ws", "--topic", "incoming", "--tls-ca", str(Path(__file__))
    )


def test_a_server_that_goes_away_ends_it(tmp_path: Path) -> None:
    with fanout_pair(tmp_path) as pair:
        foreign.create_topic(pair.broker.bootstrap, "incoming")
        process = listening(f"ws://{pair.web}/ws", "--key", "dave")
        pair.fanout.stop()
        _, err = process.communicate(timeout=foreign.TIMEOUT_S)
    assert process.returncode == 1
    assert "listen again once it is back" in err
