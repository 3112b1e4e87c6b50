"""The judges of histories on Apache Kafka itself: what they complain about there, and what not.

They take what Kafka does for lawful; but its answer to an end that is late, of a client from before
KIP-890, is to end the next transaction. The broker of ours is judged in crash/test_histories.py.
"""

import pytest
from tests.compat.apache_kafka import ApacheKafka
from tests.crash.history import Kind
from tests.crash.nemeses import pause
from tests.crash.play import Play


@pytest.mark.compat
@pytest.mark.timeout(300)
def test_apache_kafka_breaks_no_transaction(apache_kafka: ApacheKafka) -> None:
    play = Play(apache_kafka.bootstrap, scenes=("retry", "zombie"))
    assert play.run(10, apache_kafka, (pause,)) == []


@pytest.mark.compat
@pytest.mark.timeout(300)
def test_late_ends_of_old_clients_are_found_out_on_apache_kafka(apache_kafka: ApacheKafka) -> None:
    found = Play(apache_kafka.bootstrap, scenes=("delayed",)).run(5)
    assert {anomaly.kind for anomaly in found} >= {Kind.ABORTED}
