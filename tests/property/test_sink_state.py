"""The sink's state, as it is kept beside offsets: nothing is lost on the way, runs end for good."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.pipelines.sink.state import RUNS, State, parts_of

numbers = st.integers(-(2**62), 2**62)
marks = st.dictionaries(st.text(max_size=30), numbers, max_size=40)
steps = st.lists(
    st.tuples(st.sampled_from("abcd"), st.text(max_size=8), st.integers(0, 99), marks), max_size=8
)


def played(given_steps: list[tuple[str, str, int, dict[str, int]]]) -> State:
    state = State()
    for run, query, batch, found in given_steps:
        state = state.after(run, query, batch, found)
    return state


@given(steps, st.integers(40, 4000))
def test_what_is_kept_comes_back_in_as_many_parts_as_it_needs(
    given_steps: list[tuple[str, str, int, dict[str, int]]], max_text: int
) -> None:
    state = played(given_steps)
    texts = state.texts(max_text)
    assert all(len(text) <= max_text and text.isascii() for text in texts)
    assert parts_of(texts[0]) == (len(given_steps), len(texts))
    assert State.of_texts(texts) == state


@given(steps, st.data())
def test_parts_that_do_not_fit_together_are_refused(
    given_steps: list[tuple[str, str, int, dict[str, int]]], data: st.DataObject
) -> None:
    texts = played([*given_steps, ("a", "q", 1, {"x" * 300: 1})]).texts(100)
    missing = data.draw(st.integers(0, len(texts) - 1))
    with pytest.raises(ValueError, match=r"do not fit together|does not say"):
        State.of_texts(texts[:missing] + texts[missing + 1 :])


@given(st.text(max_size=50))
def test_what_another_consumer_has_kept_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"does not say|is not the first part"):
        parts_of(text)


@given(st.lists(st.tuples(st.sampled_from("abc"), marks), max_size=12))
def test_marks_only_rise_and_the_last_run_is_the_writer(
    given_steps: list[tuple[str, dict[str, int]]],
) -> None:
    highest: dict[str, int] = {}
    state = State()
    for batch, (run, found) in enumerate(given_steps):
        state = state.after(run, "q", batch, found)
        highest |= {name: max(mark, highest.get(name, mark)) for name, mark in found.items()}
        assert dict(state.written.marks) == highest
        seen = {each for each, _ in given_steps[: batch + 1]}
        assert {each for each in seen if state.is_over(each)} == seen - {run}
        assert not state.is_over("new")


def test_so_many_runs_are_remembered_and_no_more() -> None:
    state = State()
    for number in range(RUNS + 5):
        state = state.after(str(number), "q", number, {})
    assert len(state.runs) == RUNS
    assert state.is_over(str(RUNS + 3))
