"""What must be right before an app joins a group: its handlers, and the topics they need.

Nothing has been consumed when one of these fails; dead-letter topics that are missing are made.
Above: app.py. Below: ../admin.py.
"""

import logging
from collections.abc import Iterable, Sequence

from kafkaesque.client.admin import Admin
from kafkaesque.client.app.handlers import Handler, HandlerError
from kafkaesque.client.connection import ClusterError, Connection
from kafkaesque.errors import ErrorCode

_CLUSTERS_OWN = -1
_log = logging.getLogger("kafkaesque.app")


def check(handlers: Sequence[Handler], connection: Connection) -> None:
    """Raises HandlerError if there is nothing to run, ClusterError if the cluster is not ready."""
    if not handlers:
        raise HandlerError(
            'the app has no handlers: put @app.handle("topic", group="group") above a function, '
            "in a module that is imported before the app runs"
        )
    admin = Admin.connect(connection)
    there = {topic.name for topic in admin.topics()}
    for handler in handlers:
        if handler.topic not in there:
            raise ClusterError(
                f"there is no topic {handler.topic}, which handler {handler.name} is for: "
                f"make it with `kafkaesque topic create {handler.topic}`"
            )
    wanted = {handler.dead_letter for handler in handlers if handler.dead_letter}
    if missing := sorted(wanted - there):
        make_topics(admin, missing)


def make_topics(admin: Admin, topics: Iterable[str]) -> None:
    for status in admin.create(topics, 1, _CLUSTERS_OWN, {}):
        if status.code is ErrorCode.NONE:
            _log.info("made topic %s for dead letters", status.name)
        elif status.code is not ErrorCode.TOPIC_ALREADY_EXISTS:  # Else another app was faster.
            raise ClusterError(
                f"topic {status.name} for dead letters cannot be made: {status}; "
                "make it, or name another one with dead_letter="
            )
