"""Where a query's group stands: committed when the cluster is there, told once when it is not."""

import logging
import pickle
from pathlib import Path

import pytest
from tests import foreign
from tests.broker_process import BrokerProcess

from kafkaesque.client.profiles import connection_of
from kafkaesque.pipelines.source.commits import GroupCommits
from kafkaesque.types import TopicPartition


def test_a_cluster_that_is_away_is_told_of_once_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broker = BrokerProcess(tmp_path / "data")
    commits = GroupCommits(connection_of(broker.bootstrap), "readers")
    with caplog.at_level(logging.WARNING, "kafkaesque"):
        commits.commit({TopicPartition("t", 0): 1})
        commits.commit({TopicPartition("t", 0): 2})
    (warning,) = caplog.messages
    assert "the lag of readers does not show: nothing answers at" in warning
    with broker:
        foreign.create_topic(broker.bootstrap, "t")
        commits.commit({TopicPartition("t", 0): 2})
        assert foreign.committed(broker.bootstrap, "readers", "t").offset == 2
        # A copy goes to every task: it must not take a connection with it.
        pickle.loads(pickle.dumps(commits)).commit({TopicPartition("t", 0): 3})
        assert foreign.committed(broker.bootstrap, "readers", "t").offset == 3


def test_nothing_is_committed_without_a_group() -> None:
    commits = GroupCommits(connection_of("127.0.0.1:1"), None)
    commits.commit({TopicPartition("t", 0): 1})
