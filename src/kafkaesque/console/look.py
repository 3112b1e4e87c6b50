"""One look at a cluster: metadata, ends of all logs, sizes, groups, transactions: one Snapshot.

It blocks, and so runs in a thread. It reads no record. After an answer that did not come it starts
from nothing, with a new connection: that finds a broker which has been restarted or replaced sooner
than librdkafka's own patience does. Above: poller.py. Below: client/.
"""

import time
from collections.abc import Mapping
from dataclasses import replace

from kafkaesque.client.admin import Admin
from kafkaesque.client.cluster import Cluster, cluster
from kafkaesque.client.connection import Address, ClusterError, Connection
from kafkaesque.client.groups import Groups
from kafkaesque.client.log_dirs import partition_sizes
from kafkaesque.client.topics import Setting, Watermarks
from kafkaesque.client.topics import Topic as DescribedTopic
from kafkaesque.client.transaction import Transaction
from kafkaesque.client.transactions import Transactions
from kafkaesque.console.snapshot import Partition, Snapshot, Topic
from kafkaesque.types import TopicPartition

PATIENCE_S = 5.0
SIZES_EVERY_S = 2.0


class Lookout:
    """Looks, again and again, from one thread at a time."""

    def __init__(self, connection: Connection) -> None:
        self._is_plain = connection.is_plain
        self._patient = replace(connection, timeout_s=min(connection.timeout_s, PATIENCE_S))
        self._admin: Admin | None = None
        self._sizes: dict[TopicPartition, int] = {}
        self._sizes_due_s = 0.0

    def look(self) -> Snapshot:
        try:
            if self._is_plain:
                # Else a broker that has gone is noticed only when all patience is at an end. With
                # TLS it would complain of each connection that says nothing.
                self._patient.require_an_answer()
            return self._look(self._connected())
        except ClusterError:
            self._admin = None
            raise

    def settings(self, topic: str) -> list[Setting]:
        (described,) = Admin.connect(self._patient).describe([topic])
        return described.configs if isinstance(described, DescribedTopic) else []

    def _connected(self) -> Admin:
        if self._admin is None:
            self._admin = Admin.connect(self._patient)
            self._sizes_due_s = 0.0
        return self._admin

    def _look(self, admin: Admin) -> Snapshot:
        found = cluster(admin)
        groups = Groups(admin).describe()
        marks = admin.watermarks_of([each.place for each in found.partitions])
        self._refresh_sizes(found)
        transactions, problem = self._transactions(found)
        return Snapshot(
            at_s=time.monotonic(),
            cluster=found,
            topics=self._topics(found, marks),
            groups={group.name: group for group in groups},
            at_ms=int(time.time() * 1000),
            transactions=transactions,
            transactions_problem=problem,
        )

    def _topics(
        self, found: Cluster, marks: Mapping[TopicPartition, Watermarks]
    ) -> dict[str, Topic]:
        topics: dict[str, list[Partition]] = {}
        for each in sorted(found.partitions, key=lambda each: each.place):
            partition = Partition(
                number=each.place.partition,
                leader=each.leader,
                replicas=len(each.replicas),
                in_sync=len(each.in_sync),
                start=marks[each.place].low,
                end=marks[each.place].high,
                size=self._sizes.get(each.place),
            )
            topics.setdefault(each.place.topic, []).append(partition)
        return {name: Topic(name, tuple(partitions)) for name, partitions in topics.items()}

    def _transactions(self, found: Cluster) -> tuple[tuple[Transaction, ...], str | None]:
        """Those that are open, or why nobody can tell; the rest of the look is as good."""
        try:
            return tuple(Transactions(self._patient, found).open()), None
        except ClusterError as error:
            return (), str(error)

    def _refresh_sizes(self, found: Cluster) -> None:
        """Sizes change slowly: unknown is no trouble."""
        if time.monotonic() < self._sizes_due_s:
            return
        brokers = [Address(node.host, node.port) for node in found.nodes]
        try:
            self._sizes = partition_sizes(brokers, self._patient)
        except ClusterError:
            self._sizes = {}
        self._sizes_due_s = time.monotonic() + SIZES_EVERY_S
