"""Whatever is written again, cut otherwise or by somebody else: each row is in the table once."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.lake_rows import Lake, places, ticks

from kafkaesque.pipelines.lake.maintenance import Upkeep, maintain

# What a source does: it goes on behind its last batch, or begins anew at or before the mark.
Steps = st.lists(
    st.tuples(st.sampled_from(["on", "again", "anew", "maintain"]), st.integers(0, 30)),
    max_size=8,
)


@settings(max_examples=12)
@given(Steps)
def test_each_row_is_there_once(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        lake = Lake(Path(directory))
        first, stop, query, batch = 0, 5, 0, 0
        lake.write(ticks(first, stop), f"q{query}", batch)
        end = stop
        for step, number in steps:
            if step == "maintain":
                upkeep = Upkeep(keep_snapshots=1 + number % 3, snapshots_older_ms=0)
                maintain(lake.options.warehouse, "lake.ticks", upkeep, lambda _: None)
                continue
            if step == "on":
                first, stop, batch = stop, stop + number, batch + 1
            elif step == "anew":
                first = number % (end + 1)
                stop, query, batch = first + number, query + 1, 0
            lake.write(ticks(first, stop), f"q{query}", batch)
            end = max(end, stop)
        assert places(Path(directory)) == [(0, each) for each in range(end)]
