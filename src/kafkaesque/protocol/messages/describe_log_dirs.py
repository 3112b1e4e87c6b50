"""DescribeLogDirs (key 35), versions 1–5: how much disk partitions take (KIP-113).

topics=None asks for all.

v2  flexible
v3  error_code of the whole response
v4  total_bytes and usable_bytes of the volume (KIP-827)
v5  is_cordoned

`cleaned_to` is our own: Kafka has no question for its cleaner's state. It is a tagged field, which
clients that do not know it skip (KIP-482), far above the numbers that Kafka gives out.
"""

from kafkaesque.protocol.schema import boolean, field, int16, int32, int64, message, string, struct


@struct
class DescribableLogDirTopic:
    topic: string = ""
    partitions: list[int32] = field(default_factory=list)


@message(api_key=35, versions=(1, 5), flexible=2)
class DescribeLogDirsRequest:
    topics: list[DescribableLogDirTopic] | None = None


@struct
class DescribeLogDirsPartition:
    partition_index: int32 = 0
    partition_size: int64 = 0
    offset_lag: int64 = 0
    is_future_key: boolean = False
    cleaned_to: int64 = field(since=2, tag=1000, default=-1)
    """Below this offset a compacted partition is compacted."""


@struct
class DescribeLogDirsTopic:
    name: string = ""
    partitions: list[DescribeLogDirsPartition] = field(default_factory=list)


@struct
class DescribeLogDirsResult:
    error_code: int16 = 0
    log_dir: string = ""
    topics: list[DescribeLogDirsTopic] = field(default_factory=list)
    total_bytes: int64 = field(since=4, default=-1)
    usable_bytes: int64 = field(since=4, default=-1)
    is_cordoned: boolean = field(since=5, default=False)


@message(api_key=35, versions=(1, 5), flexible=2)
class DescribeLogDirsResponse:
    throttle_time_ms: int32 = 0
    error_code: int16 = field(since=3, default=0)
    results: list[DescribeLogDirsResult] = field(default_factory=list)
