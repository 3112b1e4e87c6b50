"""Handlers: functions that are given a topic's events, each at least once.

app.py is what users declare handlers with and run. The route of an event: member.py (a thread for
each group, which polls) → lane.py (a task for each partition) → calls.py (the handler itself) →
tracker.py (what may be committed) → member.py again (the commit). An event that keeps failing
goes from the lane to dead_letters.py. handlers.py knows the kinds of handlers and their options,
backoff.py how long to wait, workers.py where plain functions run, checks.py what must be right
before a group is joined, status.py how it stands.
"""

from kafkaesque.client.app.app import App
from kafkaesque.client.app.calls import Ack
from kafkaesque.client.app.handlers import HandlerError
from kafkaesque.client.app.status import PartitionStatus, State

__all__ = ["Ack", "App", "HandlerError", "PartitionStatus", "State"]
