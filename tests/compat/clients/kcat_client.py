"""kcat behind the contract of contract.py: each action is one kcat command line.

kcat has no admin commands. It creates a topic as its users do, by asking for the metadata of one
that the broker makes on first use, and describes the partitions alone. It commits when it leaves
the group.
"""

import json
import re
import subprocess
from collections.abc import Iterator

from tests.compat import tools
from tests.compat.clients.contract import Arguments, Line, main

TIMEOUT_S = 30
DELIVERED = re.compile(r"Message delivered to partition (\d+) \(offset (\d+)\)")


def create(bootstrap: str, arguments: Arguments) -> Iterator[Line]:
    _kcat(bootstrap, "-P", "-t", arguments["topic"], "-p", "0", "-c", "1", stdin="created\n")
    yield {"topic": arguments["topic"]}


def produce(bootstrap: str, arguments: Arguments) -> Iterator[Line]:
    lines = [f"{key or ''}\t{value or ''}\n" for key, value in arguments["records"]]
    headers = [flag for pair in arguments["headers"] for flag in ("-H", "=".join(pair))]
    finished = _kcat(
        bootstrap,
        *("-P", "-t", arguments["topic"], "-p", str(arguments["partition"])),
        # -Z: empty means null; -vvv: says where each message went.
        *("-z", arguments["codec"], "-K", "\t", "-Z", "-vvv", "-X", "linger.ms=50"),
        *headers,
        stdin="".join(lines),
    )
    for partition, offset in DELIVERED.findall(finished.stderr):
        yield {"partition": int(partition), "offset": int(offset)}


def consume_assign(bootstrap: str, arguments: Arguments) -> Iterator[Line]:
    for number in arguments["partitions"]:
        place = ("-t", arguments["topic"], "-p", str(number), "-o", "beginning")
        yield from _records(_kcat(bootstrap, "-C", *place, "-e", "-q", "-J").stdout)


def consume_group(bootstrap: str, arguments: Arguments) -> Iterator[Line]:
    finished = _kcat(
        bootstrap,
        *("-G", arguments["group"], "-c", str(arguments["count"]), "-q", "-J"),
        *("-X", "auto.offset.reset=earliest", arguments["topic"]),
    )
    yield from _records(finished.stdout)


def describe(bootstrap: str, arguments: Arguments) -> Iterator[Line]:
    answer = json.loads(_kcat(bootstrap, "-L", "-J", "-t", arguments["topic"]).stdout)
    (topic,) = answer["topics"]
    yield {"partitions": sorted(each["partition"] for each in topic["partitions"]), "configs": {}}


def _records(lines: str) -> Iterator[Line]:
    for line in lines.splitlines():
        record = json.loads(line)
        flat = record.get("headers", [])
        yield {
            "partition": record["partition"],
            "offset": record["offset"],
            "key": record["key"],
            "value": record["payload"],
            "headers": [list(pair) for pair in zip(flat[::2], flat[1::2], strict=True)],
        }


def _kcat(
    bootstrap: str, *arguments: str, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    kcat = tools.kcat()
    finished = subprocess.run(
        [*kcat.command, "-b", bootstrap, *arguments],
        env=kcat.full_environment(),
        input=stdin or "",
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if finished.returncode != 0:
        raise RuntimeError(f"kcat ended with {finished.returncode}: {finished.stderr}")
    return finished


ACTIONS = {
    "create": create,
    "produce": produce,
    "consume_assign": consume_assign,
    "consume_group": consume_group,
    "describe": describe,
}

if __name__ == "__main__":
    main(ACTIONS)
