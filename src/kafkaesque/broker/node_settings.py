"""What a broker is by how it was started, by Kafka's names: tools ask DescribeConfigs for them.

Nobody changes these while it runs, and `--set` does not know them: `how` says what does instead.
Their values are known once it listens (apis/describe_configs.py).
"""

from dataclasses import dataclass

from kafkaesque.broker.settings import Kind


@dataclass(frozen=True, slots=True)
class NodeSetting:
    name: str
    kind: Kind
    doc: str
    how: str
    default: str | None = None
    """What Kafka would take if nothing were given."""


_ONE_NODE = "this cluster is one node, which is 0"
_ADDRESS = "choose addresses with --host, --port and --listen"
_DIRECTORY = "choose the directory with --data-dir, or --memory"

NODE_SETTINGS = {
    setting.name: setting
    for setting in (
        NodeSetting("node.id", Kind.INT, "The one node of this cluster.", _ONE_NODE),
        NodeSetting("broker.id", Kind.INT, "The same.", _ONE_NODE, "-1"),
        NodeSetting("broker.rack", Kind.STRING, "None: there is one rack.", _ONE_NODE),
        NodeSetting("process.roles", Kind.LIST, "One process is both.", _ONE_NODE),
        NodeSetting(
            "controller.quorum.voters", Kind.LIST, "Who keeps the metadata.", _ONE_NODE, ""
        ),
        NodeSetting(
            "listeners", Kind.LIST, "Where it listens.", _ADDRESS, "PLAINTEXT://127.0.0.1:9092"
        ),
        NodeSetting(
            "advertised.listeners",
            Kind.LIST,
            "What clients are told to come back to.",
            "choose addresses with --advertise and --listen",
        ),
        NodeSetting(
            "listener.security.protocol.map",
            Kind.STRING,
            "No listener is secured.",
            _ADDRESS,
            "PLAINTEXT:PLAINTEXT",
        ),
        NodeSetting("log.dirs", Kind.LIST, "Where it keeps its files.", _DIRECTORY),
        NodeSetting("log.dir", Kind.LIST, "The same.", _DIRECTORY),
        NodeSetting(
            "authorizer.class.name",
            Kind.STRING,
            "Empty: everyone may do everything.",
            "there is no authorizer",
            "",
        ),
    )
}
