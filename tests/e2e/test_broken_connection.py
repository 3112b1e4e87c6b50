"""What our client says when a broker dies before its answer."""

import os
import signal
import threading

import pytest
from tests.broker_process import BrokerProcess

from kafkaesque.client.admin import Admin
from kafkaesque.client.connection import ClusterError
from kafkaesque.client.profiles import connection_of


def test_a_connection_that_breaks_is_not_told_as_a_timeout(broker: BrokerProcess) -> None:
    admin = Admin.connect(connection_of(broker.bootstrap))
    admin.create(["first"], 1, 1, {})
    # It takes the request, and dies with it.
    os.kill(broker.pid, signal.SIGSTOP)
    end = threading.Timer(0.3, broker.kill)
    end.start()
    with pytest.raises(ClusterError) as caught:
        admin.create(["second"], 1, 1, {})
    end.join()
    told = str(caught.value)
    assert told.startswith(f"no answer from {broker.bootstrap}: the connection broke before it ")
    assert "may be done already" in told
