"""How a group's leader shares partitions out: Kafka's range assignor.

Topic by topic, the members that subscribe to it, in the order of their ids, get one run of
partitions each; the first ones get one more where it does not divide. Every Kafka client knows it.
Above: the embedded members, when one of them leads.
"""

from collections.abc import Mapping

from kafkaesque.types import TopicPartition


def range_assignment(
    subscriptions: Mapping[str, frozenset[str]], partitions: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """Member → its partitions, from member → topics and topic → how many partitions it has."""
    assigned: dict[str, list[TopicPartition]] = {member: [] for member in sorted(subscriptions)}
    for topic in sorted(partitions):
        members = [member for member in assigned if topic in subscriptions[member]]
        if not members:
            continue
        share, more = divmod(partitions[topic], len(members))
        start = 0
        for position, member in enumerate(members):
            end = start + share + (position < more)
            assigned[member] += [TopicPartition(topic, index) for index in range(start, end)]
            start = end
    return assigned
