"""Where a topic goes on after its table: at the offset behind the mark of each partition.

    {"ticks": {"0": 1204, "1": -2}}      -2: from the first record there is (a partition that the
                                         table has nothing of)
Above: archive.py, history.py. Below: marks.py, client/admin.py.
"""

import json
from collections.abc import Mapping

from kafkaesque.client.connection import Connection

FIRST = -2


def starting_offsets(connection: Connection, topic: str, marks: Mapping[str, int]) -> str:
    """As the source's option startingOffsets takes it."""
    from kafkaesque.client.admin import Admin

    if not marks:
        return "earliest"
    places = Admin.connect(connection).partitions([topic])
    return after_marks(topic, [place.partition for place in places], marks)


def after_marks(topic: str, partitions: list[int], marks: Mapping[str, int]) -> str:
    found = {str(each): marks.get(str(each), FIRST - 1) + 1 for each in sorted(partitions)}
    return json.dumps({topic: found})
