"""The table: a row for each site of a file call and each fault that fits it.

A row runs the day that reaches its site with the fewest calls, and the fault comes at the first of
them there; in other forms of the table at the last, or soon before a power cut.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from tests.simulation.faults.days import DAYS
from tests.simulation.faults.files import Witness
from tests.simulation.faults.sites import Site
from tests.simulation.faults.world import FaultyWorld
from tests.simulation.plan import Fault, Plan

_NEEDS_ROOM = {
    "Files.open to create",
    "Files.make_directory",
    "Files.rename",
    "File.pwrite",
    "File.sync",
}
_IN_PARTS = {"File.pwrite", "File.sync", "Files.remove_tree"}
_KINDS = ("eio", "full", "short")


@dataclass(frozen=True, slots=True)
class Row:
    site: Site
    kind: str
    """eio (of a sync: all that it covered is lost), full, short (a part is done, then eio)."""
    day: str
    number: int
    is_cut: bool = False
    """Soon after the fault the power goes."""

    def __str__(self) -> str:
        then = ", then a power cut" * self.is_cut
        return f"{self.kind} in {self.site} ({self.day}, call {self.number}){then}"


@cache
def sites() -> dict[Site, tuple[str, int, int]]:
    """The day that reaches each, and the first and last number of its calls there."""
    found: dict[Site, tuple[str, int, int]] = {}
    days = {day.__name__: _calls(day) for day in DAYS}
    for name, calls in sorted(days.items(), key=lambda item: len(item[1])):
        of_day: dict[Site, tuple[str, int, int]] = {}
        for number, site in enumerate(calls, 1):
            of_day[site] = name, of_day.get(site, (name, number))[1], number
        found = {**of_day, **found}
    return found


def _calls(day: Callable[[], Plan]) -> list[Site]:
    world = FaultyWorld(day(), witness := Witness())
    failure = world.run()
    assert failure is None, f"{day.__name__}, without any fault: {failure}"
    return witness.sites


def rows(*, is_last: bool = False, is_cut: bool = False) -> list[Row]:
    return [
        Row(site, kind, day, last if is_last else first, is_cut)
        for site, (day, first, last) in sorted(sites().items())
        if first != last or not is_last
        for kind in _kinds(site)
    ]


def _kinds(site: Site) -> Iterator[str]:
    yield "eio"
    if site.operation in _NEEDS_ROOM or (site.operation, site.state) == _NEW_LOCK:
        yield "full"
    if site.operation in _IN_PARTS:
        yield "short"


_NEW_LOCK = ("Files.lock", "first start")
"""Later the file is there, and needs no room."""


def sample(of: list[Row]) -> list[Row]:
    """Every operation on every family, and every call site in every state with every fault."""
    seen: set[tuple[str, ...]] = set()
    chosen = []
    for row in of:
        site = row.site
        function = site.where.partition(" < ")[0]
        new = {
            (site.family, site.operation),
            (site.operation, function, site.state, row.kind),
        } - seen
        if new:
            seen |= new
            chosen.append(row)
    return chosen


def run(row: Row) -> tuple[Row, str | None]:
    """With what went wrong, or None."""
    plan = next(day() for day in DAYS if day.__name__ == row.day)
    fault = Fault(0.0, 0.0, row.kind, (row.site.operation,), "", 1)
    witness = Witness(fault, row.number)
    failure = FaultyWorld(plan, witness, row.is_cut).run()
    if failure is None and witness.fired_at is None:
        failure = "the fault has never come"
    return row, failure


def summary(results: Iterable[tuple[Row, str | None]]) -> str:
    """Families by faults: how many rows, and how many of them have passed where not all."""
    ran: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    for row, failure in results:
        for family in (row.site.family, "all"):
            ran[family, row.kind] += 1
            failed[family, row.kind] += failure is not None
    families = sorted({family for family, _ in ran if family != "all"})
    lines = [f"{'':46}" + "".join(f"{kind:>14}" for kind in _KINDS)]
    for family in (*families, "all"):
        cells = (_cell(ran[family, kind], failed[family, kind]) for kind in _KINDS)
        lines.append(f"{family:46}" + "".join(f"{cell:>14}" for cell in cells))
    return "\n".join(lines)


def _cell(ran: int, failed: int) -> str:
    return f"{ran - failed} of {ran}" if ran else "–"
