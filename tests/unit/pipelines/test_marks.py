"""What a sink takes for a replay."""

import datetime as dt

import pyarrow as pa
import pytest

from kafkaesque.pipelines.marks import MarkColumns, Written, highest, lowest, unwritten

OFFSETS = MarkColumns("offset", ("topic", "partition"))
ENDS = MarkColumns("end")


def rows(*places: tuple[str, int, int]) -> pa.Table:
    topics, partitions, offsets = zip(*places, strict=True) if places else ((), (), ())
    return pa.table(
        {
            "topic": pa.array(topics, pa.string()),
            "partition": pa.array(partitions, pa.int32()),
            "offset": pa.array(offsets, pa.int64()),
        }
    )


def test_marks_are_the_edges_of_each_group() -> None:
    found = rows(("t", 0, 5), ("t", 1, 7), ("t", 0, 9), ("t", 1, 2))
    assert highest(found, OFFSETS) == {"t/0": 9, "t/1": 7}
    assert lowest(found, OFFSETS) == {"t/0": 5, "t/1": 2}
    assert highest(rows(), OFFSETS) == {}


def test_rows_at_or_below_their_mark_are_left_out() -> None:
    found = rows(("t", 0, 5), ("t", 1, 5), ("t", 0, 6), ("u", 0, 1))
    left = unwritten(found, OFFSETS, {"t/0": 5, "t/1": 8})
    assert left.to_pylist() == rows(("t", 0, 6), ("u", 0, 1)).to_pylist()


def test_rows_above_every_mark_are_the_same_table() -> None:
    found = rows(("t", 0, 5), ("t", 1, 5))
    assert unwritten(found, OFFSETS, {"t/0": 4}) is found


def test_all_rows_can_be_one_group_and_times_are_marks() -> None:
    ends = [dt.datetime(2026, 1, 1, 0, minute, tzinfo=dt.UTC) for minute in (1, 2, 3)]
    found = pa.table({"end": pa.array(ends, pa.timestamp("us", "UTC"))})
    mark = int(ends[1].timestamp() * 1_000_000)
    assert unwritten(found, ENDS, {"": mark})["end"].to_pylist() == ends[2:]
    assert highest(found, ENDS) == {"": mark + 60_000_000}


def test_a_batch_of_the_same_query_is_known_by_its_number() -> None:
    written = Written("q", 4, {"t/0": 9})
    assert written.has("q", 4)
    assert not written.has("q", 5)
    assert not written.has("another", 3)


def test_marks_never_fall() -> None:
    written = Written("q", 4, {"t/0": 9, "t/1": 3}).after("q", 5, {"t/0": 7, "t/2": 1})
    assert written == Written("q", 5, {"t/0": 9, "t/1": 3, "t/2": 1})


def test_what_is_kept_is_read_again() -> None:
    written = Written("q", 4, {"t/0": 9})
    assert Written.of_json(written.to_json()) == written


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"query":"q","batch":1,"marks":3}', "null"])
def test_what_is_something_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Written.of_json(text)
