"""Which tests `make test` leaves to `make test-all`: those that are marked as slow."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import settings


def few(values: Sequence[Any], count: int) -> list[Any]:
    """To parametrize a test: the first ones for `make test`, all of them for `make test-all`."""
    slow = [pytest.param(value, marks=pytest.mark.slow) for value in values[count:]]
    return [*values[:count], *slow]


def examples(count: int) -> int:
    """Of a property test: so many for `make test-all`, a fifth for `make test`."""
    return count // 5 if settings.get_current_profile_name() == "quick" else count
