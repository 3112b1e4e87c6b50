"""The session of seeds/002, typed again: every command and every character it prints.

As a user runs it: the installed command in processes of its own, stdout and stderr together as a
terminal shows them. What cannot be the same is masked: the times, and the id that the broker gives
to a consumer. The session calls its tool rpk; ours is called kafkaesque, which the widths show.
"""

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from tests.broker_process import COMMAND, BrokerProcess

pytestmark = pytest.mark.slow

DESCRIBED = """\
  Name                topic1  
  Internal            false   
  Cleanup policy      delete  
  Config:             
  Name                Value   Read-only  Sensitive  
  partition_count     3       false      false      
  replication_factor  1       false      false      
  cleanup.policy      delete  false      false      
  Partitions          1 - 3 out of 3  
  Partition           Leader          Replicas   In-Sync Replicas  High Watermark  
  0                   0               [0]        [0]               0               
  1                   0               [0]        [0]               0               
  2                   0               [0]        [0]               {high}               
"""  # noqa: W291

SENT = """\
Reading message... Press CTRL + D to send, CTRL + C to cancel.
Sent record to partition 2 at offset {offset} with timestamp DATE TIME +0000 UTC.
"""

CONSUMED = """\
{
 "key": "key1",
 "message": "test\\n",
 "partition": 2,
 "offset": 0,
 "timestamp": "DATETTIMEZ"
}
{
 "key": "key1",
 "message": "test2\\n",
 "partition": 2,
 "offset": 1,
 "timestamp": "DATETTIMEZ"
}
"""

OFFSETS = """\
  GROUP   TOPIC   PARTITION  LAG  LAG %  COMMITTED  LATEST  CONSUMER                                         CLIENT-HOST  CLIENT-ID   
  group2  topic1  0          -    -      -          0       kafkaesque-UUID                                  127.0.0.1    kafkaesque  
  group2  topic1  1          -    -      -          0       kafkaesque-UUID                                  127.0.0.1    kafkaesque  
  group2  topic1  2          -    -      -          2       kafkaesque-UUID                                  127.0.0.1    kafkaesque  
"""  # noqa: E501, W291

_MASKS = [
    (r"\d{4}-\d{2}-\d{2}", "DATE"),
    (r"\d{2}:\d{2}:\d{2}\.\d{3}", "TIME"),
    # As wide as what it hides: the table is laid out for the real one.
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID".ljust(36)),
]


class Session:
    """A shell whose working directory is empty, and a broker where no option has to name it."""

    def __init__(self, broker: BrokerProcess, directory: Path) -> None:
        self.bootstrap = broker.bootstrap
        self._directory = directory
        self._environment = {"KAFKAESQUE_BROKERS": broker.bootstrap, "TZ": "Africa/Johannesburg"}

    def type(self, line: str, typed: str = "") -> str:
        """What a terminal shows after a command that succeeds."""
        done = subprocess.run(
            self._words(line),
            input=typed,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self._environment,
            cwd=self._directory,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout
        return masked(done.stdout)

    @contextmanager
    def running(self, line: str) -> Iterator[subprocess.Popen[str]]:
        """A command that runs until the block ends with Ctrl-C."""
        with subprocess.Popen(
            self._words(line),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self._environment,
            cwd=self._directory,
        ) as process:
            try:
                yield process
                process.send_signal(signal.SIGINT)
                process.send_signal(signal.SIGCONT)
                assert process.wait(60) == 0
            finally:
                process.kill()

    def _words(self, line: str) -> list[str]:
        return [str(COMMAND), *line.format(brokers=self.bootstrap).split()]


def masked(text: str) -> str:
    for pattern, word in _MASKS:
        text = re.sub(pattern, word, text)
    return text


def lines(stream: IO[str] | None, count: int) -> str:
    assert stream is not None
    return masked("".join(stream.readline() for _ in range(count)))


@pytest.fixture
def session(broker: BrokerProcess, tmp_path: Path) -> Session:
    directory = tmp_path / "work"
    directory.mkdir()
    return Session(broker, directory)


def test_the_whole_session(session: Session) -> None:
    assert session.type("topic create -p 3 topic1") == "TOPIC   STATUS\ntopic1  OK\n"
    assert session.type("topic describe topic1") == DESCRIBED.format(high=0)

    produce = "topic --brokers {brokers} produce -k key1 topic1"
    assert session.type(produce, "test\n") == SENT.format(offset=0)
    assert session.type("topic describe topic1") == DESCRIBED.format(high=1)
    assert session.type(produce, "test2\n") == SENT.format(offset=1)
    assert session.type("topic describe topic1") == DESCRIBED.format(high=2)

    consume = "topic consume -g {group} --brokers {{brokers}} topic1"
    with session.running(consume.format(group="group")) as consumer:
        assert lines(consumer.stdout, CONSUMED.count("\n")) == CONSUMED
    with session.running(consume.format(group="group2")) as consumer:
        assert lines(consumer.stdout, CONSUMED.count("\n")) == CONSUMED
        # Still a member, but it does not come to commit what it has printed.
        consumer.send_signal(signal.SIGSTOP)
        behind = session.type("cluster offsets").splitlines(keepends=True)
        assert "".join(row for row in behind if row.split()[0] != "group") == OFFSETS

    # We also show who has left: with Ctrl-C both groups have committed what they had printed.
    behind = session.type("cluster offsets").splitlines()
    assert [row.split()[:7] for row in behind[1:]] == [
        [group, "topic1", "2", "0", "0.00", "2", "2"] for group in ("group", "group2")
    ]


def test_a_message_without_a_newline_is_sent_as_it_is(session: Session) -> None:
    session.type("topic create -p 3 topic1")
    sent = session.type("topic --brokers {brokers} produce -k key1 topic1", "a test message ")
    assert sent == SENT.format(offset=0)
    assert session.type("topic consume topic1 -o :end -f [%v]") == "[a test message ]"
