"""A CSV of stale events that a crash cut off: mended, and nothing lost or doubled.

The log still holds what was not put away whole; the next start puts it away again.
"""

import subprocess
import sys
from pathlib import Path
from uuid import UUID

from kafkaesque.embedded.kafkaesque import Kafkaesque
from kafkaesque.embedded.stale import StaleEvent, open_shelf
from kafkaesque.event import Event

VALUES = [
    'say "hi"',
    "a,b",
    "line\r\nline\nline\r",
    "Grüße 🚋",
    b"\xff\x00",
    "",
    None,
    12,
    "\0",
    '"',
]
TOPIC_ID = UUID(int=1)
EVENTS = [Event("t", 0, offset, 7, f"k{offset}", value) for offset, value in enumerate(VALUES)]
ROWS = [StaleEvent(e.partition, e.offset, e.timestamp, e.key, e.value) for e in EVENTS]


def test_a_csv_torn_at_any_byte_is_whole_again_after_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    shelf = open_shelf(path, is_durable=True)
    shelf.check_topic("t")
    shelf.add(TOPIC_ID, EVENTS)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        again = open_shelf(path, is_durable=True)
        again.check_topic("t")
        assert again.rows("t") == ROWS[: len(again.rows("t"))]
        again.add(TOPIC_ID, EVENTS)
        assert path.read_bytes() == whole, f"torn at byte {size}"


def test_zeros_that_a_power_cut_left_at_the_end_are_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    shelf = open_shelf(path, is_durable=True)
    shelf.check_topic("t")
    shelf.add(TOPIC_ID, EVENTS[:4])
    path.write_bytes(path.read_bytes() + bytes(64))
    again = open_shelf(path, is_durable=True)
    again.check_topic("t")
    again.add(TOPIC_ID, EVENTS)
    assert again.rows("t") == ROWS


def test_a_log_with_a_torn_csv_opens_and_goes_on(tmp_path: Path) -> None:
    """As if the machine had stopped while rows were written, the log start not yet moved."""
    path = tmp_path / "x.csv"
    with Kafkaesque(tmp_path / "data") as k:
        k.extend("t", [f"v{n}\r\n" for n in range(12)])
    k = Kafkaesque(tmp_path / "data", max_events=4, drop=2, stale=path)
    rows = k.stale("t")
    assert [row.offset for row in rows] == list(range(8))
    k.close()
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        k = Kafkaesque(tmp_path / "data", max_events=4, drop=2, stale=path)
        kept = k.stale("t")
        k.extend("t", ["x", "y"])
        assert k.stale("t")[: len(kept)] == kept == rows[: len(kept)]
        k.close()


FULL_DISK = """
import resource, sys
from kafkaesque import Kafkaesque
path = sys.argv[1]
k = Kafkaesque(max_events=2, drop=1, stale=path)
k.extend("t", ["x" * 100] * 6)
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (700, limits[1]))
k.extend("t", ["y" * 100] * 6)
print(len(k.topic("t")), len(k.stale("t")))
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
k.put("t", "z")
print(len(k.topic("t")), [row.offset for row in k.stale("t")])
k.close()
"""


def test_events_that_do_not_fit_on_the_disk_stay_in_the_log(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path / "x.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["8 4", "2 [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"]
    assert "stale events stay in the log" in done.stderr
