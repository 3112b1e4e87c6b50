"""docs/howto/schemas.md is run as it stands."""

import doctest
from pathlib import Path

import pytest
from tests.schema_world import schema_world

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "schemas.md"


def test_every_example_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    with schema_world(tmp_path) as world:
        names = {"brokers": world.bootstrap, "registry": world.url, "__name__": "page"}
        done = doctest.testfile(str(PAGE), module_relative=False, globs=names)
    assert done.attempted >= 20
    assert done.failed == 0
