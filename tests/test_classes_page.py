"""docs/reference/classes.md is run as it stands."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "classes.md"


def test_every_example_of_the_page_does_what_it_says() -> None:
    done = doctest.testfile(str(PAGE), module_relative=False)
    assert done.attempted > 50
    assert done.failed == 0
