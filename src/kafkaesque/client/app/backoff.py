"""How long to wait before a handler is called again. Pure.

The wait doubles from `first_s` to `most_s`; half of it is left to chance, so that partitions which
failed together do not come back together. Above: lane.py, dead_letters.py.
"""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    first_s: float = 0.5
    most_s: float = 30.0

    def delay_s(self, attempt: int, chance: float | None = None) -> float:
        """After so many attempts, 1 at least. `chance` is in 0 to 1; None draws one."""
        # 2**64 is longer than any wait, and still a float.
        whole = min(self.first_s * 2.0 ** min(attempt - 1, 64), self.most_s)
        return whole * (0.5 + 0.5 * (random.random() if chance is None else chance))
