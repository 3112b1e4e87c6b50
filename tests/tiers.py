"""Which tests `make test` leaves to `make test-all`: those that are marked as slow."""

from collections.abc import Sequence
from typing import Any

import pytest


def few(values: Sequence[Any], count: int) -> list[Any]:
    """To parametrize a test: the first ones for `make test`, all of them for `make test-all`."""
    slow = [pytest.param(value, marks=pytest.mark.slow) for value in values[count:]]
    return [*values[:count], *slow]
