"""`--only` names figures; a name that there is not is refused with those that there are."""

import pytest
from benchmarks.__main__ import chosen
from benchmarks.figures.catalogue import FIGURES


def test_all_figures_are_taken_unless_some_are_named() -> None:
    assert chosen(None) == list(FIGURES)


def test_named_figures_keep_the_order_in_which_they_run() -> None:
    assert [figure.name for figure in chosen("trip-warm,rate,start")] == [
        "start",
        "rate",
        "trip-warm",
    ]


def test_an_unknown_figure_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SystemExit, match=r"no figure speed: choose from start, volume"):
        chosen("start,speed")
