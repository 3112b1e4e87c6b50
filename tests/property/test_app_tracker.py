"""In whatever order events begin and end, the commit never passes one that is not done."""

from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.client.app.tracker import Tracker

STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=200)


@given(st.integers(0, 1000), STEPS)
def test_the_position_never_passes_an_unfinished_event(
    first: int, steps: list[tuple[bool, int]]
) -> None:
    tracker = Tracker()
    begun: list[int] = []
    done: set[int] = set()
    before = first
    for is_new, number in steps:
        if is_new:  # The next offset, after a gap of `number`.
            begun.append((begun[-1] + 1 if begun else first) + number)
            tracker.begin(begun[-1])
        elif begun:
            chosen = begun[number % len(begun)]
            tracker.finish(chosen)
            done.add(chosen)
        unfinished = [offset for offset in begun if offset not in done]
        if not begun:
            assert tracker.position is None
            continue
        expected = unfinished[0] if unfinished else begun[-1] + 1
        assert tracker.position == expected
        assert tracker.position >= before
        before = expected
        assert (tracker.unfinished, tracker.finished) == (len(unfinished), len(done))
