"""Events of a few ids for hypothesis, and ways in which they may reach a table: shuffled, some of
them twice, cut into batches, each of which one of two writers has."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from kafkaesque.pipelines.tables import Row

JSON_FIELDS = ("tags",)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "number": st.integers(-(2**63), 2**63 - 1),
    "price": st.floats(allow_nan=False, allow_infinity=False, width=32),
    'na"me %s': TEXT,
    "open": st.booleans(),
    "tags": st.lists(TEXT | st.integers(0, 9), max_size=2),
}
FIELDS = st.fixed_dictionaries(
    {}, optional={name: st.none() | values for name, values in VALUES.items()}
)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A batch, and which of the two writers has it."""

    writer: int
    rows: list[Row]


@st.composite
def histories(draw: st.DrawFn, ids: st.SearchStrategy[Any]) -> list[Row]:
    """No two events share a place; their times are few and in no order."""
    drawn = draw(st.lists(st.tuples(ids, st.none() | FIELDS, st.integers(0, 3)), max_size=25))
    return [
        Row(key, fields, time_ms, offset % 3, offset // 3)
        for offset, (key, fields, time_ms) in enumerate(drawn)
    ]


@st.composite
def deliveries(draw: st.DrawFn, rows: list[Row]) -> list[Delivery]:
    """Every row at least once."""
    again = draw(st.lists(st.sampled_from(rows), max_size=8)) if rows else []
    order = draw(st.permutations([*rows, *again]))
    found = []
    while order:
        count = draw(st.integers(1, len(order)))
        found.append(Delivery(draw(st.integers(0, 1)), list(order[:count])))
        order = order[count:]
    return found
