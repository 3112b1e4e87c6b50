"""The topic of the schemas: one compacted partition, made at the first start.

Above: server.py. Below: client/admin.py.
"""

from kafkaesque.client.admin import Admin, Topic
from kafkaesque.client.connection import Connection
from kafkaesque.client.topics import Setting
from kafkaesque.errors import ErrorCode, StartError

DEFAULT_TOPIC = "_schemas"
_SETTINGS = {"cleanup.policy": "compact", "max.message.bytes": str(8 << 20)}
_BROKERS_CHOICE = -1


def prepare(connection: Connection, name: str) -> int:
    """Make sure that it is there and fit; the size of the largest record that it takes.

    Raises StartError, or ClusterError if nobody answers.
    """
    admin = Admin.connect(connection)
    (status,) = admin.create([name], 1, _BROKERS_CHOICE, _SETTINGS)
    if status.code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
        raise StartError(f"the topic {name} cannot be made ({status.message}): {status.cure}")
    (topic,) = admin.describe([name])
    if not isinstance(topic, Topic):
        raise StartError(f"the topic {name} cannot be read ({topic.message}): {topic.cure}")
    if len(topic.partitions) != 1:
        raise StartError(
            f"the topic {name} has {len(topic.partitions)} partitions, and the order of schemas "
            "needs one: choose another topic with --topic"
        )
    settings = {setting.name: setting for setting in topic.configs}
    if topic.policies != {"compact"}:
        raise StartError(
            f"the topic {name} is not compacted, so that schemas would be lost with time: "
            f"`kafkaesque topic alter-config {name} --set cleanup.policy=compact`"
        )
    return int(_value(settings, "max.message.bytes", str(1 << 20)))


def _value(settings: dict[str, Setting], name: str, default: str) -> str:
    setting = settings.get(name)
    return default if setting is None or setting.value is None else setting.value
