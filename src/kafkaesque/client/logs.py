"""What clients have to say while they work: sentences in the log `kafkaesque`, as warnings.

Above: outbox.py, consumer.py.
"""

import logging
from collections.abc import Callable
from typing import Any

_log = logging.getLogger("kafkaesque")


def warn(sentence: str) -> None:
    _log.warning(sentence)


def chained(first: Callable[[Any], None], second: Any) -> Callable[[Any], None]:
    """Both are called: ours, and the one that a program gave."""
    if second is None:
        return first

    def both(argument: Any) -> None:
        first(argument)
        second(argument)

    return both
