"""Where a query's group stands, committed so that its lag shows.

Nothing depends on it: Spark keeps the query's offsets. So a cluster that is away, or a group that
may not be moved, keeps the query waiting for seconds only, is told once, and is tried again with
the next batch, or when Spark asks whether there is one.
Above: stream.py. Below: client/groups.py, client/coordinators.py.
"""

from dataclasses import replace
from typing import Final

from kafkaesque.client.connection import ClusterError, Connection
from kafkaesque.client.coordinators import Coordinators
from kafkaesque.client.logs import warn
from kafkaesque.pipelines.source.offsets import Offsets

TIMEOUT_S: Final = 5.0


class GroupCommits:
    def __init__(self, connection: Connection, group: str | None) -> None:
        self._connection = connection
        patient = replace(connection, timeout_s=min(connection.timeout_s, TIMEOUT_S))
        self._coordinators = Coordinators(patient)
        self._group = group
        self._committed: Offsets = {}
        self._is_well = True

    def __reduce__(self) -> tuple[type["GroupCommits"], tuple[Connection, str | None]]:
        return GroupCommits, (self._connection, self._group)

    def commit(self, offsets: Offsets) -> None:
        """Raises nothing: what goes wrong is logged."""
        if self._group is None or offsets == self._committed:
            return
        problem = self._refusal(self._group, offsets)
        if problem is None:
            self._committed = offsets
        elif self._is_well:
            warn(f"the lag of {self._group} does not show: {problem}; the query goes on")
        self._is_well = problem is None

    def _refusal(self, group: str, offsets: Offsets) -> str | None:
        from kafkaesque.client.groups import commit

        try:
            statuses = commit(self._coordinators, group, offsets)
        except ClusterError as error:
            return str(error)
        odd = [status for status in statuses.values() if status.error]
        return str(odd[0]) if odd else None
