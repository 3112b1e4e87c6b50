"""Valid requests at random, for every API and version that the broker serves: where fuzzing starts.

Built from the schema. What a field is called decides what it may hold, so that requests are about
topics, groups, members and transactions that exist and get past the first check. Numbers stay
small: a mutant must not fill the disk or wait for an hour.
Above: fuzzer.py.
"""

import random
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from kafkaesque.broker.apis import APIS
from kafkaesque.protocol.messages import MESSAGES
from kafkaesque.protocol.schema import ZERO_UUID, Field, Primitive, schema_of
from kafkaesque.records.batch import Codec, Record, new_batch

PLAIN, COMPACTED, STAMPED, TEMPORARY = "plain", "compacted", "stamped", "temporary"
GROUPS = ["group-0", "group-1", "group-2"]
TRANSACTIONS = ["transaction-0", "transaction-1"]

CASES = [
    (api.key, version)
    for api in APIS.values()
    for version in range(api.min_version, api.max_version + 1)
]
"""Every API key and version of the broker's table."""


class Transaction(NamedTuple):
    """A transactional id, and who may write under it."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


_UNKNOWN = Transaction(TRANSACTIONS[0], -1, -1)


@dataclass(slots=True)
class Surroundings:
    """What the requests may refer to. The ids are learnt from the broker as it runs."""

    topics: list[str] = field(default_factory=lambda: [PLAIN, COMPACTED, STAMPED])
    topic_ids: list[UUID] = field(default_factory=list)
    member_ids: list[str] = field(default_factory=list)
    producer_ids: list[int] = field(default_factory=list)
    transactions: list[Transaction] = field(default_factory=list)


_INT = [0, 0, 0, 1, 1, 2, 3, -1]
_OFFSET = [0, 0, 1, 2, 5, 20, -1, -2]
_EPOCH = [-1, -1, 0, 0, 1]
_SETTINGS = ["cleanup.policy", "retention.ms", "segment.bytes", "max.message.bytes", "nonsense"]
_VALUES = ["delete", "compact", "compact,delete", "60000", "1048588", "2048", "true", ""]

_CHOICES: dict[str, list[Any]] = {
    "acks": [-1, -1, 1, 0],
    "timeout_ms": [100, 1000, 30_000],
    "max_wait_ms": [0, 0, 1, 20],
    "min_bytes": [0, 1, 1, 100],
    "max_bytes": [1, 100, 10_000, 1 << 20],
    "partition_max_bytes": [1, 100, 10_000, 1 << 20],
    "isolation_level": [0, 1],
    "session_id": [0, 0, 1],
    "session_epoch": [-1, 0, 1],
    "timestamp": [-1, -2, -3, 0, 1_700_000_000_000],
    "key_type": [0, 0, 1],
    "session_timeout_ms": [6000, 6000, 10_000],
    "rebalance_timeout_ms": [6000, 100],
    "retention_time_ms": [-1, 1000],
    "protocol_type": ["consumer", "connect"],
    "protocol_name": ["range", "cooperative-sticky"],
    "group_instance_id": [None, None, "static-1", "static-2"],
    "committed_metadata": [None, "", "note"],
    "num_partitions": [1, 1, 2, -1],
    "replication_factor": [1, 1, -1, 3],
    "count": [1, 2, 3],
    "broker_ids": [0],
    "resource_type": [2, 2, 2, 4],
    "config_operation": [0, 1, 2, 3],
    "configuration_keys": _SETTINGS,
    "value": [None, *_VALUES],
    "states_filter": ["Stable", "Empty"],
    "types_filter": ["classic", "consumer"],
    "endpoint_type": [1, 1, 2],
    "election_type": [0, 0, 1, 2],
    "resource_types": [2, 4, 8, 16, 32],
    "feature": ["transaction.version", "nonsense"],
    "entity_type": ["user", "client-id", "ip"],
    "RequestTopicData.topic_name": ["__cluster_metadata", "__cluster_metadata", PLAIN],
    "replica_id": [-1],
    "response_partition_limit": [1, 2000],
    "InitProducerIdRequest.transactional_id": [None, None, None, *TRANSACTIONS],
    "transaction_timeout_ms": [1000, 60_000, 0],
    "transactional_ids": TRANSACTIONS,
    "transactional_id_pattern": [None, "", "transaction-.*", "("],
    "state_filters": ["Ongoing", "CompleteCommit", "nonsense"],
    "duration_filter": [-1, 0, 1000],
    "cluster_id": [None],
    "coordinator_keys": GROUPS,
    "key": GROUPS,
    "group_id": GROUPS,
    "groups": GROUPS,
    "groups_names": GROUPS,
    "JoinGroupRequestProtocol.name": ["range", "cooperative-sticky"],
    "CreatableTopic.name": [TEMPORARY, TEMPORARY, "temporary.2", PLAIN, "bad name"],
    "DeleteTopicState.name": [TEMPORARY, None, "missing"],
    "topic_names": [TEMPORARY, "missing"],
    "CreatePartitionsTopic.name": [TEMPORARY, "missing"],
    "CreatableTopicConfig.name": _SETTINGS,
    "AlterableConfig.name": _SETTINGS,
    "MetadataRequestTopic.topic_id": [ZERO_UUID],
    "DeleteTopicState.topic_id": [ZERO_UUID],
}
_BY_KIND: dict[str, list[Any]] = {
    "int8": _INT,
    "int16": _EPOCH,
    "int32": _INT,
    "int64": _OFFSET,
    "boolean": [True, False],
}


def valid_request(rng: random.Random, key: int, version: int, around: Surroundings) -> Any:
    return _Maker(rng, version, around).struct(MESSAGES[key].request)


def valid_batch(
    rng: random.Random, around: Surroundings, whose: Transaction | None = None
) -> bytearray:
    """A record batch that any topic takes, if its producer is where it says it is."""
    records = [
        Record(i, 1_700_000_000_000 + rng.randrange(1000), _bytes(rng, 8), _bytes(rng, 60), ())
        for i in range(rng.choice((1, 1, 2, 5)))
    ]
    producer_id, epoch, sequence = -1, -1, -1
    if whose is not None:
        _, producer_id, epoch = whose
    elif around.producer_ids and rng.random() < 0.4:
        producer_id, epoch = rng.choice(around.producer_ids), 0
    if producer_id >= 0:
        sequence = rng.choice((0, 1, 2))
    return new_batch(
        records,
        codec=rng.choice(list(Codec)),
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=whose is not None,
    )


def _bytes(rng: random.Random, size: int) -> bytes:
    return rng.randbytes(rng.randrange(1, size))


def _learnt(around: Surroundings, whose: Transaction) -> dict[str, list[Any]]:
    """What fields may hold, by name; now and then something that does not belong together."""
    transactional_ids = [whose.transactional_id] * 8 + TRANSACTIONS
    producer_ids = [whose.producer_id] * 8 + [*around.producer_ids, -1]
    producer_epochs = [whose.producer_epoch] * 8 + [0, -1]
    return {
        "name": around.topics,
        "topic": around.topics,
        "topic_name": around.topics,
        "resource_name": around.topics,
        "member_id": [*around.member_ids, ""],
        "transactional_id": transactional_ids,
        "v3_and_below_transactional_id": transactional_ids,
        "producer_id": producer_ids,
        "producer_id_filters": producer_ids,
        "v3_and_below_producer_id": producer_ids,
        "producer_epoch": producer_epochs,
        "v3_and_below_producer_epoch": producer_epochs,
    }


class _Maker:
    """Fills in one message."""

    def __init__(self, rng: random.Random, version: int, around: Surroundings) -> None:
        self._rng = rng
        self._version = version
        self._around = around
        # One request is about one transaction: all its fields must agree to get anywhere.
        whose = rng.choice(around.transactions or [_UNKNOWN])
        self._writes_as = whose if whose is not _UNKNOWN and rng.random() < 0.5 else None
        self._choices = _learnt(around, whose) | _CHOICES

    def struct(self, cls: type[Any]) -> Any:
        present = [f for f in schema_of(cls).fields if f.exists_in(self._version)]
        return cls(**{f.name: self._field(cls.__name__, f) for f in present})

    def _field(self, owner: str, spec: Field) -> Any:
        rng = self._rng
        if spec.nullable_in(self._version) and rng.random() < 0.1:
            return None
        if not spec.is_array:
            value = self._value(owner, spec)
            # A null that this version has no room for.
            return "" if value is None and not spec.nullable_in(self._version) else value
        return [self._value(owner, spec) for _ in range(rng.choice((1, 1, 1, 2, 0)))]

    def _value(self, owner: str, spec: Field) -> Any:
        rng, around, kind = self._rng, self._around, spec.type
        if not isinstance(kind, Primitive):
            return self.struct(kind)
        if owner == "ProduceRequest" and spec.name == "transactional_id":
            return self._writes_as and self._writes_as.transactional_id
        choices = self._choices.get(f"{owner}.{spec.name}") or self._choices.get(spec.name)
        if choices is not None:
            return rng.choice(choices)
        if kind.name in _BY_KIND:
            return rng.choice(_BY_KIND[kind.name])
        if kind.name == "uuid":
            return rng.choice(around.topic_ids or [ZERO_UUID])
        if kind.name == "records":
            return valid_batch(rng, around, self._writes_as)
        return "text" if kind.name == "string" else _bytes(rng, 20)
