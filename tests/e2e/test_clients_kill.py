"""A consumer that is killed between two events: nothing is skipped."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.foreign import TIMEOUT_S, create_topic, name

from kafkaesque import Producer

pytestmark = pytest.mark.slow

EVENTS = 300

# Does its work on each event (a line in a file), and is killed after a number of them.
PROGRAM = """
import os, signal, sys
from kafkaesque import Consumer
topic, brokers, group, path, last = sys.argv[1:]
# By its instance id the next run takes the place of the killed one at once.
settings = {"group.instance.id": "one", "auto.commit.interval.ms": 20}
done = 0
with open(path, "a", buffering=1) as work, \\
        Consumer(topic, brokers, group=group, until="end", settings=settings) as consumer:
    for event in consumer:
        print(event.value, file=work)
        done += 1
        if done == int(last):
            os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nothing_is_skipped_by_a_kill(broker: BrokerProcess, tmp_path: Path) -> None:
    topic, group, work = create_topic(broker.bootstrap), name("group"), tmp_path / "work"
    with Producer(broker.bootstrap, topic) as producer:
        producer.send_many(None, range(EVENTS))
    codes = []
    for last in (70, 90, 10**9):
        command = [sys.executable, "-c", PROGRAM, topic, broker.bootstrap, group, work, last]
        codes.append(subprocess.run([*map(str, command)], timeout=60).returncode)
    assert codes == [-signal.SIGKILL, -signal.SIGKILL, 0]
    done = [int(line) for line in work.read_text().splitlines()]
    assert sorted(set(done)) == list(range(EVENTS))
    # After each kill it begins at or before the event it was at, never behind it.
    before = -1
    for number in done:
        assert number <= before + 1
        before = number


def test_ctrl_c_ends_a_consumer_and_commits(broker: BrokerProcess, tmp_path: Path) -> None:
    topic, work = create_topic(broker.bootstrap), tmp_path / "work"
    program = (
        "import sys; from kafkaesque import Consumer\n"
        "topic, brokers = sys.argv[1:]\n"
        "with Consumer(topic, brokers, group='g') as consumer:\n"
        "    print('ready', flush=True)\n"
        "    for event in consumer: print(event.value, flush=True)\n"
    )
    with Producer(broker.bootstrap, topic) as producer:
        producer.send(value="first")
    command = [sys.executable, "-c", program, topic, broker.bootstrap]
    with (
        work.open("wb") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        assert process.stdout is not None
        assert [process.stdout.readline(), process.stdout.readline()] == [b"ready\n", b"first\n"]
        time.sleep(0.5)  # It has asked for the next.
        os.kill(process.pid, signal.SIGINT)
        process.wait(TIMEOUT_S)
    assert "KeyboardInterrupt" in work.read_text()
    with Producer(broker.bootstrap, topic) as producer:
        producer.send(value="second")
    from kafkaesque import Consumer

    assert [e.value for e in Consumer(topic, broker.bootstrap, group="g", until="end")] == [
        "second"
    ]
