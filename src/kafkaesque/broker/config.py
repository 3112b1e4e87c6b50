"""How a broker is configured: where it listens, where it keeps its files, its settings and a
topic's.

Names, kinds and defaults are Kafka's. A topic setting that is not set on the topic follows the
broker setting named by `follows`, as in Kafka. `Config` holds the parsed broker settings and can
change while the broker runs; `TopicConfig` is what one topic's settings come to, rebuilt whenever
either changes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zlib import crc32

from kafkaesque.broker.broker_settings import BROKER_SETTINGS
from kafkaesque.broker.node_settings import NODE_SETTINGS
from kafkaesque.broker.topic_settings import TOPIC_SETTINGS
from kafkaesque.errors import ErrorCode, KafkaError, StartError
from kafkaesque.log.log import LogConfig
from kafkaesque.records.compression import Codec
from kafkaesque.types import TopicPartition

NODE_ID = 0
"""The one node of this cluster. Rack, controller and every leader are this."""

ANY_ADDRESS = ("0.0.0.0", "::", "")
"""To listen on, not to come back to."""


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """One topic's settings, parsed: what the partition needs on the hot path."""

    log: LogConfig
    cleanup_policy: tuple[str, ...]
    max_message_bytes: int
    log_append_time: bool
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    write_caching: bool
    codec: Codec | None
    """What batches are stored in; None: as they come."""

    segment_jitter_ms: int
    compacted: bool = field(init=False)
    opens_batches: bool = field(init=False)
    """Whether it matters to the topic what is inside of a batch."""

    def __post_init__(self) -> None:
        # Asked for every batch, so said once.
        object.__setattr__(self, "compacted", "compact" in self.cleanup_policy)
        object.__setattr__(self, "opens_batches", self.compacted or self.codec is not None)

    def log_of(self, partition: TopicPartition) -> LogConfig:
        """What one partition's log goes by: not all of them seal a segment at the same moment."""
        jitter_ms = min(self.segment_jitter_ms, self.log.segment_ms)
        if jitter_ms == 0:
            return self.log
        share = crc32(str(partition).encode()) / 2**32
        return replace(self.log, segment_ms=self.log.segment_ms - int(share * jitter_ms))


@dataclass(frozen=True, slots=True)
class Listener:
    """An address to bind, and the address that clients are told to come back to."""

    host: str
    port: int
    advertised_host: str | None = None
    advertised_port: int | None = None
    name: str = "PLAINTEXT"

    @property
    def address(self) -> str:
        return address(self.host, self.port)


def address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@dataclass(slots=True)
class Config:
    """The broker's settings: those given at start, and those set over the wire since."""

    static: dict[str, str]
    dynamic: dict[str, str] = field(default_factory=dict)
    _parsed: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.refresh()

    def refresh(self) -> None:
        """Parse again: called after `dynamic` has changed."""
        self._parsed = {name: s.parse(self.text(name)) for name, s in BROKER_SETTINGS.items()}

    def text(self, name: str) -> str:
        default = BROKER_SETTINGS[name].default
        return self.dynamic.get(name, self.static.get(name, default))

    def __getitem__(self, name: str) -> Any:
        return self._parsed[name]

    def topic_text(self, overrides: Mapping[str, str], name: str) -> str:
        setting = TOPIC_SETTINGS[name]
        if name in overrides:
            return overrides[name]
        return self.text(setting.follows) if setting.follows else setting.default

    def topic(self, overrides: Mapping[str, str]) -> TopicConfig:
        """What these overrides come to; raises INVALID_CONFIG for one that is unknown or wrong."""
        for name in overrides:
            if name not in TOPIC_SETTINGS:
                raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
        value = {n: s.parse(self.topic_text(overrides, n)) for n, s in TOPIC_SETTINGS.items()}
        # Only sealed segments are compacted: one must not be appended to for longer than the lag.
        longest_ms = value["max.compaction.lag.ms"]
        segment_ms = value["segment.ms"]
        if "compact" in value["cleanup.policy"]:
            segment_ms = min(segment_ms, longest_ms)
        return TopicConfig(
            log=LogConfig(
                segment_bytes=value["segment.bytes"],
                segment_ms=segment_ms,
                segment_index_bytes=value["segment.index.bytes"],
                index_interval_bytes=value["index.interval.bytes"],
                retention_bytes=value["retention.bytes"],
                retention_ms=value["retention.ms"],
                min_cleanable_dirty_ratio=value["min.cleanable.dirty.ratio"],
                min_compaction_lag_ms=value["min.compaction.lag.ms"],
                max_compaction_lag_ms=longest_ms,
                delete_retention_ms=value["delete.retention.ms"],
            ),
            cleanup_policy=value["cleanup.policy"],
            max_message_bytes=value["max.message.bytes"],
            log_append_time=value["message.timestamp.type"] == "LogAppendTime",
            timestamp_before_max_ms=value["message.timestamp.before.max.ms"],
            timestamp_after_max_ms=value["message.timestamp.after.max.ms"],
            write_caching=value["write.caching"] and not _asks_for_flushes(overrides),
            codec=_codec(value["compression.type"]),
            segment_jitter_ms=value["segment.jitter.ms"],
        )


def _codec(compression_type: str) -> Codec | None:
    if compression_type == "producer":
        return None
    return Codec.NONE if compression_type == "uncompressed" else Codec[compression_type.upper()]


def _asks_for_flushes(overrides: Mapping[str, str]) -> bool:
    """Without write caching every acknowledged record is flushed: as often as anyone can ask."""
    return "flush.messages" in overrides or "flush.ms" in overrides


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """What a broker is started with. `data_dir=None` keeps everything in memory.

    With a `metrics_port`, its metrics are shown there, at the host of its first listener.
    """

    listeners: tuple[Listener, ...]
    data_dir: Path | None
    settings: Mapping[str, str] = field(default_factory=dict)
    metrics_port: int | None = None

    @classmethod
    def of(
        cls,
        listeners: Iterable[Listener],
        data_dir: Path | None,
        settings: Mapping[str, str],
        metrics_port: int | None = None,
    ) -> "BrokerConfig":
        """Check the settings: a wrong one is refused before anything is opened."""
        for name, text in settings.items():
            if name not in BROKER_SETTINGS:
                raise StartError(_unknown_setting(name))
            try:
                BROKER_SETTINGS[name].parse(text)
            except KafkaError as error:
                raise StartError(f"--set {name}={text}: {error.message}") from None
        return cls(tuple(listeners), data_dir, dict(settings), metrics_port)


def _unknown_setting(name: str) -> str:
    if name in NODE_SETTINGS:
        return f"--set {name}: {NODE_SETTINGS[name].how}"
    if name in TOPIC_SETTINGS:
        follows = TOPIC_SETTINGS[name].follows
        cure = f"set its default with --set {follows}=…" if follows else "set it on a topic"
        return f"--set {name}: that is a topic's setting; {cure}"
    known = [known for known in BROKER_SETTINGS if known.split(".")[0] == name.split(".")[0]]
    known = known or sorted(BROKER_SETTINGS)
    return f"--set {name}: no such setting; did you mean one of {', '.join(known)}?"
