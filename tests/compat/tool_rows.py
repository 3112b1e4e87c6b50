"""Every command-line tool of Apache Kafka 4.3, as a table: tool × command line × what must come.

The rows are played from the first to the last on each broker: one builds on those before it.
`SAME` means what Kafka answers, word for word once addresses, ids and times are taken away;
`OTHER_WORDS` the same exit code and the same error, told differently; `Differs` what our broker
says instead, with the reason.
Above: test_kafka_tools.py. Below: kafka_tools.py.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Differs:
    """Our answer has this text in it, and is not Kafka's; `why` is for the reader."""

    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Alike:
    """As on Kafka, in the same words or in others."""

    words: bool


SAME, OTHER_WORDS = Alike(words=True), Alike(words=False)
Expectation = Alike | Differs

NEW_PROTOCOL = Differs("GroupIdNotFoundException", "the new consumer protocol is not there")
SHARE = Differs("UnsupportedVersionException", "share groups are not there")
QUOTAS = Differs("UnsupportedVersionException", "quotas are not there")
TOKENS = Differs("UnsupportedVersionException", "delegation tokens are not there")
TELEMETRY = Differs("client metrics are not taken", "telemetry is not there")


@dataclass(frozen=True, slots=True)
class Row:
    """One command. In its words BROKER stands for the address, DATA for the broker's directory and
    FILES for that of the files below; figures that no two runs share are `blurred`. A tool that
    does not end, or ends in shutdown hooks, runs `alone`, until it says `until` or ends.
    """

    tool: str
    words: str
    expected: Expectation = SAME
    typed: str = ""
    blurred: bool = False
    alone: bool = False
    until: str = ""

    @property
    def name(self) -> str:
        return f"{self.tool} {self.words}".replace("--bootstrap-server BROKER ", "")


def on(tool: str, words: str, expected: Expectation = SAME, **more: str | bool) -> Row:
    """A row of a tool that takes `--bootstrap-server` before everything else."""
    return Row(tool, f"--bootstrap-server BROKER {words}", expected, **more)  # type: ignore[arg-type]


FILES = {
    "delete.json": '{"partitions": [{"topic": "orders", "partition": 1, "offset": 1}]}',
    "too-far.json": '{"partitions": [{"topic": "orders", "partition": 1, "offset": 9}]}',
    "offsets.csv": "orders,1,1\norders,2,0\n",
    "topics.json": '{"topics": [{"topic": "orders"}], "version": 1}',
    "moves.json": '{"version": 1, "partitions": [{"topic": "orders", "partition": 0,'
    ' "replicas": [0], "log_dirs": ["any"]}]}',
    "election.json": '{"partitions": [{"topic": "orders", "partition": 0}]}',
    "nothing.properties": "",
    "plugins/nothing": "",
}
KEYED = "h:1\ta\t1\nh:2\tb\t2\nh:3\tc\t3\n"
SHOWN = " ".join(
    f"--formatter-property print.{part}=true" for part in ("key", "headers", "partition", "offset")
)
SEGMENT = "00000000000000000000.log"

TOPICS = (
    on("kafka-topics", "--create --topic orders --partitions 3 --config retention.ms=86400000"),
    on("kafka-topics", "--create --topic single"),
    on("kafka-topics", "--create --topic orders"),
    on("kafka-topics", "--create --topic orders --if-not-exists"),
    on("kafka-topics", "--create --topic bad --config retention.ms=never"),
    on("kafka-topics", "--create --topic bad --config no.such.setting=1"),
    on("kafka-topics", "--create --topic bad/name", OTHER_WORDS),
    on("kafka-topics", "--create --topic placed --replica-assignment 0,0"),
    on(
        "kafka-topics",
        "--create --topic replicated --replication-factor 3",
        Differs("Created topic replicated", "taken as 1 unless strict.replication=true"),
    ),
    on("kafka-topics", "--delete --topic replicated", Differs("", "it was not created on Kafka")),
    on("kafka-topics", "--create --topic dots.and_lines"),
    on("kafka-topics", "--alter --topic orders --partitions 5"),
    on("kafka-topics", "--alter --topic orders --partitions 2", OTHER_WORDS),
    on("kafka-topics", "--alter --topic missing --partitions 2"),
    on("kafka-topics", "--describe --topic orders"),
    on("kafka-topics", "--describe --topic orders --partition-size-limit-per-response 2"),
    on("kafka-topics", "--describe --topic missing"),
    on("kafka-topics", "--describe --under-replicated-partitions"),
    on("kafka-topics", "--describe --unavailable-partitions"),
    on("kafka-topics", "--describe --under-min-isr-partitions"),
    on("kafka-topics", "--describe --at-min-isr-partitions --topic orders"),
    on("kafka-topics", "--describe --topics-with-overrides --exclude-internal"),
    on("kafka-topics", "--delete --topic placed"),
    on("kafka-topics", "--delete --topic missing"),
    on("kafka-topics", "--list --exclude-internal"),
)

TOPIC_SETTINGS = (
    on(
        "kafka-configs",
        "--alter --entity-type topics --entity-name orders"
        " --add-config segment.bytes=2097152,cleanup.policy=[compact,delete]",
    ),
    on(
        "kafka-configs",
        "--alter --entity-type topics --entity-name orders --delete-config cleanup.policy",
    ),
    on(
        "kafka-configs",
        "--alter --entity-type topics --entity-name orders --delete-config retention.ms",
    ),
    on("kafka-configs", "--describe --entity-type topics --entity-name orders"),
    on(
        "kafka-configs",
        "--describe --entity-type topics",
        Differs("segment.bytes=16777216", "internal topics have settings of their own"),
    ),
    on(
        "kafka-configs",
        "--describe --entity-type topics --entity-name orders --all",
        Differs("write.caching=false", "other settings, and other names behind them"),
    ),
    on(
        "kafka-configs",
        "--alter --entity-type topics --entity-name orders --add-config segment.bytes=none",
        OTHER_WORDS,
    ),
    on(
        "kafka-configs",
        "--alter --entity-type topics --entity-name missing --add-config segment.bytes=2097152",
        OTHER_WORDS,
    ),
)

BROKER_SETTINGS = (
    on("kafka-configs", "--describe --entity-type brokers --entity-name 0"),
    on("kafka-configs", "--describe --entity-type brokers --entity-name 7"),
    on("kafka-configs", "--describe --entity-type brokers"),
    on(
        "kafka-configs",
        "--alter --entity-type brokers --entity-default --add-config message.max.bytes=2000000",
    ),
    on(
        "kafka-configs",
        "--describe --entity-type brokers --entity-default",
    ),
    on(
        "kafka-configs",
        "--alter --entity-type brokers --entity-default --delete-config message.max.bytes",
    ),
    on(
        "kafka-configs",
        "--alter --entity-type brokers --entity-name 0 --add-config message.max.bytes=2000000",
    ),
    on(
        "kafka-configs",
        "--describe --entity-type brokers --entity-name 0",
        Differs("Dynamic configs for broker 0 are:", "the one node's settings are the default's"),
    ),
    on(
        "kafka-configs",
        "--alter --entity-type brokers --entity-name 0 --add-config log.dirs=/tmp",
        OTHER_WORDS,
    ),
    on(
        "kafka-configs",
        "--describe --entity-type broker-loggers --entity-name 0",
        Differs("root=INFO", "its loggers are Python's"),
    ),
    on(
        "kafka-configs",
        "--alter --entity-type broker-loggers --entity-name 0 --add-config root=ERROR",
        Differs("what is logged is chosen at start", "its loggers are Python's"),
    ),
)

OTHER_SETTINGS = (
    on("kafka-configs", "--describe --entity-type users"),
    on("kafka-configs", "--describe --entity-type ips"),
    on(
        "kafka-configs",
        "--describe --entity-type clients --entity-name app",
    ),
    on(
        "kafka-configs",
        "--alter --entity-type clients --entity-name app --add-config producer_byte_rate=1024",
        QUOTAS,
    ),
    on(
        "kafka-configs",
        "--alter --entity-type users --entity-name alice"
        " --add-config SCRAM-SHA-256=[password=secret]",
        Differs("UnsupportedVersionException", "users are not there"),
    ),
    on("kafka-configs", "--describe --entity-type client-metrics"),
    on("kafka-configs", "--describe --entity-type groups", SAME),
    on(
        "kafka-configs",
        "--alter --entity-type groups --entity-name sharers"
        " --add-config share.auto.offset.reset=earliest",
        Differs("groups have no settings of their own", "of groups with the new protocols"),
    ),
    on(
        "kafka-configs",
        "--describe --entity-type groups --entity-name sharers",
        Differs("doesn't have dynamic config", "of groups with the new protocols"),
    ),
    on("kafka-client-metrics", "--list"),
    on("kafka-client-metrics", "--describe"),
    on("kafka-client-metrics", "--alter --name m --metrics org. --interval 1000", TELEMETRY),
    on("kafka-client-metrics", "--delete --name m", TELEMETRY),
)

RECORDS = (
    on(
        "kafka-console-producer",
        "--topic orders --reader-property parse.key=true --reader-property parse.headers=true",
        typed=KEYED,
    ),
    on("kafka-console-producer", "--topic single --compression-codec zstd --sync", typed="x\ny\n"),
    on(
        "kafka-console-consumer",
        f"--topic orders --from-beginning --max-messages 3 --group readers {SHOWN}",
    ),
    on("kafka-console-consumer", "--topic single --partition 0 --offset 1 --max-messages 1"),
    on(
        "kafka-console-consumer",
        "--include sin.* --from-beginning --max-messages 2 --group includers"
        " --isolation-level read_committed",
    ),
    on(
        "kafka-console-consumer",
        "--topic single --from-beginning --max-messages 2 --timeout-ms 15000 --group new-protocol"
        " --command-property group.protocol=consumer",
        Differs("Processed a total of 0 messages", "the new consumer protocol is not there"),
    ),
    on(
        "kafka-console-consumer",
        "--topic __consumer_offsets --from-beginning --max-messages 1 --partition 0"
        " --formatter org.apache.kafka.tools.consumer.OffsetsMessageFormatter",
    ),
    on(
        "kafka-console-share-consumer",
        "--topic single --max-messages 2 --group sharers --timeout-ms 15000",
        Differs("Processed a total of 0 messages", "share groups are not there"),
    ),
    on("kafka-get-offsets", "--topic orders"),
    on("kafka-get-offsets", "--topic orders --time -2"),
    on("kafka-get-offsets", "--topic-partitions orders:1 --time -3"),
    on("kafka-get-offsets", "--topic orders --time -4"),
    on("kafka-get-offsets", "--topic orders --time -5"),
    on("kafka-get-offsets", "--topic orders --time -6"),
    on("kafka-get-offsets", "--topic orders --time 1577836800000"),
    on("kafka-get-offsets", "--topic-partitions orders:0-2 --exclude-internal-topics"),
    on("kafka-get-offsets", "--topic missing"),
    on("kafka-delete-records", "--offset-json-file FILES/delete.json"),
    on("kafka-delete-records", "--offset-json-file FILES/too-far.json"),
    on("kafka-log-dirs", "--describe --topic-list single"),
    on("kafka-log-dirs", "--describe --topic-list orders --broker-list 0,7"),
    Row("kafka-dump-log", f"--files DATA/orders-1/{SEGMENT} --print-data-log", blurred=True),
)

GROUPS = (
    on("kafka-consumer-groups", "--describe --group readers"),
    on("kafka-consumer-groups", "--describe --group readers --state"),
    on("kafka-consumer-groups", "--describe --group readers --members --verbose"),
    on("kafka-consumer-groups", "--describe --group missing"),
    on("kafka-consumer-groups", "--delete --group new-protocol", NEW_PROTOCOL),
    on("kafka-consumer-groups", "--list"),
    on("kafka-consumer-groups", "--list --state"),
    on("kafka-consumer-groups", "--list --type"),
    on("kafka-consumer-groups", "--list --state stable"),
    on("kafka-consumer-groups", "--describe --all-groups --offsets"),
    *(
        on("kafka-consumer-groups", f"--reset-offsets --group readers {how}")
        for how in (
            "--topic orders --to-earliest --dry-run",
            "--topic orders:2 --to-earliest --execute",
            "--all-topics --to-latest --execute",
            "--topic orders --to-offset 1 --execute",
            "--topic orders --shift-by -1 --execute",
            "--topic orders --to-datetime 2020-01-01T00:00:00.000 --execute",
            "--topic orders --by-duration PT1H --dry-run --export",
            "--topic orders --from-file FILES/offsets.csv --execute",
            "--topic orders --to-current --execute",
        )
    ),
    on("kafka-groups", "--list", Differs("readers", "share groups are not there")),
    on("kafka-groups", "--list --consumer"),
    on("kafka-groups", "--list --group-type classic --protocol consumer"),
    on("kafka-consumer-groups", "--delete-offsets --group includers --topic single"),
    on(
        "kafka-consumer-groups",
        "--delete --group includers",
        Differs("GroupIdNotFoundException", "a group is gone with the last of its offsets"),
    ),
    on("kafka-consumer-groups", "--delete --group missing"),
    on("kafka-share-groups", "--list", Differs("", "share groups are not there")),
    on("kafka-share-groups", "--describe --group sharers", SHARE),
    on("kafka-share-groups", "--describe --all-groups", Differs("", "there are none")),
    on("kafka-share-groups", "--delete --group sharers", Differs("not a share group", "no such")),
    on(
        "kafka-share-groups",
        "--reset-offsets --group other --topic orders --to-earliest --dry-run",
        Differs("does not support SHARE_GROUP_DESCRIBE", "share groups are not there"),
    ),
    on("kafka-streams-groups", "--list"),
    on("kafka-streams-groups", "--describe --all-groups"),
    on(
        "kafka-streams-groups",
        "--describe --group missing",
        Differs("UnsupportedVersionException", "streams groups are not there"),
    ),
    on("kafka-streams-application-reset", "--application-id app --input-topics single --dry-run"),
    on("kafka-streams-application-reset", "--application-id app --input-topics single"),
)

TRANSACTIONS = (
    on("kafka-transactions", "list", blurred=True),
    on("kafka-transactions", "list --duration-filter 3600000"),
    on("kafka-transactions", "describe --transactional-id held", blurred=True),
    on("kafka-transactions", "describe --transactional-id missing"),
    on("kafka-transactions", "describe-producers --topic held --partition 0", blurred=True),
    on("kafka-transactions", "find-hanging --broker-id 0"),
    on("kafka-transactions", "abort --topic held --partition 0 --start-offset 7"),
    on("kafka-transactions", "forceTerminateTransaction --transactionalId held"),
    on("kafka-transactions", "list", blurred=True),
)

LOAD = (
    on(
        "kafka-producer-perf-test",
        "--topic load --num-records 100 --record-size 10 --throughput -1",
        blurred=True,
    ),
    on(
        "kafka-producer-perf-test",
        "--topic load --num-records 10 --record-size 10 --throughput -1"
        " --transactional-id perf --transaction-duration-ms 60000",
        blurred=True,
    ),
    on(
        "kafka-consumer-perf-test",
        "--topic load --num-records 110 --timeout 10000 --group perf-readers",
        blurred=True,
    ),
    on("kafka-get-offsets", "--topic load"),
    on(
        "kafka-share-consumer-perf-test",
        "--topic load --num-records 1 --timeout 3000 --group sharers",
        SHARE,
    ),
    on(
        "kafka-e2e-latency",
        "--topic load --num-records 5 --producer-acks all --record-size 20",
        blurred=True,
    ),
    on(
        "kafka-verifiable-producer",
        "--topic verified --max-messages 3 --value-prefix 7",
        blurred=True,
        alone=True,
    ),
    on(
        "kafka-verifiable-consumer",
        "--topic verified --group-id verifiers --max-messages 3 --reset-policy earliest",
    ),
    on(
        "kafka-verifiable-share-consumer",
        "--topic verified --group-id sharers --max-messages 1",
        Differs("shutdown_complete", "share groups are not there: nothing comes"),
        alone=True,
        until="records_consumed",
    ),
    Row(
        "kafka-replica-verification",
        "--broker-list BROKER --topics-include verified --report-interval-ms 500",
        blurred=True,
        alone=True,
        until="max lag",
    ),
)

CLUSTER = (
    on("kafka-broker-api-versions", "", Differs("UNSUPPORTED", "see docs/reference/apis.md")),
    Row("kafka-cluster", "cluster-id --bootstrap-server BROKER"),
    Row("kafka-cluster", "list-endpoints --bootstrap-server BROKER"),
    Row("kafka-cluster", "list-endpoints --include-fenced-brokers --bootstrap-server BROKER"),
    Row(
        "kafka-cluster",
        "unregister --id 9 --bootstrap-server BROKER",
        Differs("does not support the broker unregistration API", "one node stays one"),
    ),
    on(
        "kafka-features",
        "describe",
        Differs("transaction.version", "the one feature that has a version here"),
    ),
    on("kafka-features", "upgrade --feature transaction.version=2"),
    on(
        "kafka-features",
        "downgrade --feature transaction.version=1 --dry-run",
        Differs("This broker works by level 2 alone", "there is one way of transactions"),
    ),
    on("kafka-features", "version-mapping --release-version 4.3"),
    on("kafka-features", "feature-dependencies --feature transaction.version=2"),
    on(
        "kafka-metadata-quorum",
        "describe --status",
        Differs("PLAINTEXT://BROKER", "there is no listener of controllers"),
        blurred=True,
    ),
    on("kafka-metadata-quorum", "describe --replication", blurred=True),
    on(
        "kafka-metadata-quorum",
        "remove-controller --controller-id 3 --controller-directory-id AAAAAAAAAAAAAAAAAAAAAA",
        Differs("does not support REMOVE_RAFT_VOTER", "one node stays one"),
    ),
    on(
        "kafka-leader-election",
        "--election-type preferred --all-topic-partitions",
    ),
    on(
        "kafka-leader-election",
        "--election-type preferred --topic orders --partition 0",
    ),
    on(
        "kafka-leader-election",
        "--election-type unclean --path-to-json-file FILES/election.json",
    ),
    on(
        "kafka-leader-election",
        "--election-type preferred --topic missing --partition 0",
        OTHER_WORDS,
    ),
    on("kafka-reassign-partitions", "--list"),
    on(
        "kafka-reassign-partitions",
        "--generate --topics-to-move-json-file FILES/topics.json --broker-list 0",
    ),
    *(
        on(
            "kafka-reassign-partitions",
            f"{what} --reassignment-json-file FILES/moves.json",
        )
        for what in ("--execute", "--verify", "--cancel")
    ),
)

SECURITY = (
    on("kafka-acls", "--list"),
    on(
        "kafka-acls",
        "--add --allow-principal User:alice --operation read --topic orders --force",
    ),
    on(
        "kafka-acls",
        "--remove --allow-principal User:alice --operation read --topic orders --force",
    ),
    on("kafka-delegation-tokens", "--describe --command-config FILES/nothing.properties"),
    on(
        "kafka-delegation-tokens",
        "--create --max-life-time-period -1 --command-config FILES/nothing.properties",
        TOKENS,
    ),
)

WITHOUT_A_BROKER = (
    Row("kafka-storage", "random-uuid"),
    Row("kafka-storage", "version-mapping --release-version 4.3"),
    Row("kafka-storage", "feature-dependencies --feature transaction.version=2"),
    Row("connect-plugin-path", "list --plugin-path FILES/plugins"),
)

ROWS = (
    *TOPICS,
    *TOPIC_SETTINGS,
    *BROKER_SETTINGS,
    *OTHER_SETTINGS,
    *RECORDS,
    *GROUPS,
    *TRANSACTIONS,
    *LOAD,
    *CLUSTER,
    *SECURITY,
    *WITHOUT_A_BROKER,
)

# These read the files of a broker that does not run. What the metadata shell finds below /image
# depends on how far its loading has come, on Kafka too.
ROWS_OF_FILES = (
    Row("kafka-storage", "info --config FILES/server.properties"),
    Row("kafka-metadata-shell", f"--snapshot DATA/__cluster_metadata-0/{SEGMENT} ls /image"),
)
