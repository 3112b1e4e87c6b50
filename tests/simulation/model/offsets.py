"""Committed offsets: the values that each may have. None: nothing is committed."""

from collections.abc import Container, Iterator, Mapping
from typing import TypeAlias
from uuid import UUID

Commit: TypeAlias = tuple[str, UUID, int]
"""Group, topic id, partition."""


class Offsets:
    def __init__(self) -> None:
        self._possible: dict[Commit, list[int | None]] = {}
        self._astray: set[int] = set()

    def forget_all(self) -> None:
        self._possible.clear()

    def going_astray(self, offset: int) -> None:
        """It is sent by a topic's name: a namesake may get it. No two offsets are equal."""
        self._astray.add(offset)

    def arrived(self, offset: int) -> None:
        self._astray.discard(offset)

    def known(self, group: str) -> list[Commit]:
        return [commit for commit in self._possible if commit[0] == group]

    def possible(self, commit: Commit) -> list[int | None]:
        return self._possible.get(commit, [None])

    def was_there(self, commit: Commit) -> bool:
        """Whether something was committed for certain, and since then at most deleted."""
        first, *later = self.possible(commit)
        return first is not None and not any(later)

    def asked_for(self, commit: Commit, offset: int | None) -> None:
        self._possible.setdefault(commit, [None]).append(offset)

    def told(self, commit: Commit, offset: int | None) -> None:
        self._possible[commit] = [offset]

    def check(
        self, found: Mapping[Commit, int], present: Container[UUID], ending: Container[str]
    ) -> Iterator[str]:
        """`present` are the topics that are there: with the others, their offsets are gone. A
        transaction of a group that is `ending` is decided, and has its markers still to come.
        """
        for commit in sorted(found.keys() | self._possible.keys(), key=str):
            possible = self.possible(commit)
            if commit[0] in ending or found.get(commit) in self._astray:
                continue
            if commit[1] in present and found.get(commit) not in possible:
                yield f"{_name(commit)} is {found.get(commit)}, not one of {possible}"

    def settle(self, found: Mapping[Commit, int], ending: Container[str]) -> None:
        undecided = {c: possible for c, possible in self._possible.items() if c[0] in ending}
        self._possible = {c: [offset] for c, offset in found.items() if c[0] not in ending}
        self._possible |= undecided


def _name(commit: Commit) -> str:
    return f"offset of {commit[0]} for {str(commit[1])[:8]}-{commit[2]}"
