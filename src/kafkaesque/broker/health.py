"""Whether the broker can do its work: `GET /health`, for whoever restarts or routes by it.

200 with `"status":"ok"`, or 503 with `"status":"failing"`: a partition is offline, because its disk
failed. A broker that starts or stops does not listen, and so does not answer.
Above: server.py. Below: partition.py.
"""

import json
from collections.abc import Sequence
from http import HTTPStatus

from kafkaesque.broker.partition import Partition

_NAMED = 100
"""Partitions that are named; all are counted."""


def health(offline: Sequence[Partition], connections: int) -> tuple[HTTPStatus, str]:
    report = {
        "status": "failing" if offline else "ok",
        "connections": connections,
        "offline_partitions": len(offline),
        "offline": [
            {
                "topic": partition.name.topic,
                "partition": partition.name.partition,
                "reason": partition.offline,
            }
            for partition in offline[:_NAMED]
        ],
    }
    status = HTTPStatus.SERVICE_UNAVAILABLE if offline else HTTPStatus.OK
    return status, json.dumps(report) + "\n"
