"""What a subscription wants of a topic: keys, a prefix, headers, a predicate, or everything.

All that is given must hold. Pure. Above: interests.py. Below: client/filters.
"""

from dataclasses import dataclass

from kafkaesque.client.filters import Predicate, Subject


@dataclass(frozen=True, slots=True)
class Wants:
    """`keys` and `prefix` are not given together. Neither matches a null key."""

    keys: tuple[bytes, ...] | None = None
    prefix: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    predicate: Predicate | None = None

    @property
    def is_checked_further(self) -> bool:
        """Whether a record with the right key may still be a wrong one."""
        return bool(self.headers) or self.predicate is not None

    @property
    def reads_value(self) -> bool:
        return self.predicate is not None and self.predicate.reads_value

    def matches_beside_key(self, subject: Subject) -> bool:
        given = subject.record.headers
        return all(header in given for header in self.headers) and (
            self.predicate is None or self.predicate.matches(subject)
        )


EVERYTHING = Wants()
