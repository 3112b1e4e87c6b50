"""Which records a live tail shows: filter, throttle, limits. The clock is a number."""

from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.client.decoder import NOT_DECODED
from kafkaesque.client.filters import parse
from kafkaesque.client.record import Record
from kafkaesque.console.schema_reader import Decoded
from kafkaesque.console.tail_view import Changes, Counts, TailView, byte_size, subject_of


def record(number: int, value: bytes | None = None, key: bytes | None = None) -> Record:
    text = f"value {number}".encode() if value is None else value
    return Record("t", key, text, partition=0, offset=number)


def records(*numbers: int) -> list[Record]:
    return [record(number) for number in numbers]


def offsets(changes: Changes | None) -> list[int]:
    assert changes is not None
    return [row.record.offset for row in changes.rows]


class Screen:
    """What the browser does with changes: new rows on top, `kept` rows remain."""

    def __init__(self) -> None:
        self.offsets: list[int] = []

    def draw(self, changes: Changes) -> None:
        old = [] if changes.replace else self.offsets
        self.offsets = [*offsets(changes), *old][: changes.kept]


def test_the_newest_is_on_top() -> None:
    view = TailView()
    view.add(records(0, 1, 2))
    assert offsets(view.changes(0)) == [2, 1, 0]


def test_without_news_there_is_nothing_to_draw() -> None:
    view = TailView()
    assert view.changes(0) is None
    view.add(records(0))
    assert view.changes(1) is not None
    assert view.changes(2) is None


def test_updates_come_no_sooner_than_the_interval() -> None:
    view = TailView(interval_s=0.1)
    drawn = 0
    for millisecond in range(1000):
        view.add(records(millisecond))
        drawn += view.changes(millisecond / 1000) is not None
    assert drawn == 10


def test_what_is_too_fast_is_skipped_and_counted() -> None:
    view = TailView(rows_per_update=3)
    view.add(records(*range(10)))
    view.add(records(10))
    changes = view.changes(0)
    assert offsets(changes) == [10, 9, 8]
    assert changes is not None
    assert changes.counts == Counts(seen=11, matched=11, skipped=8)


def test_no_more_rows_are_kept_than_there_is_room_for() -> None:
    view, screen = TailView(capacity=5, rows_per_update=3), Screen()
    for first in range(0, 12, 3):
        view.add(records(*range(first, first + 3)))
        changes = view.changes(float(first))
        assert changes is not None
        screen.draw(changes)
    assert screen.offsets == [11, 10, 9, 8, 7]


def test_large_records_push_out_others_sooner() -> None:
    view = TailView(capacity=100, max_bytes=1000)
    view.add([record(number, b"x" * 400) for number in range(5)])
    changes = view.changes(0)
    assert offsets(changes) == [4, 3]
    view.add([record(9, b"x" * 5000)])
    changes = view.changes(1)
    assert changes is not None
    assert (offsets(changes), changes.kept) == ([9], 1)


def test_the_filter_finds_text_in_key_or_value_whatever_its_case() -> None:
    view = TailView()
    view.filter("GooG")
    view.add([record(0, b"a goog b"), record(1, b"x", key=b"GOOGLE"), record(2, b"amzn")])
    changes = view.changes(0)
    assert offsets(changes) == [1, 0]
    assert changes is not None
    assert changes.counts == Counts(seen=3, matched=2, skipped=0)


def test_the_filter_is_text_and_never_a_pattern() -> None:
    view = TailView()
    view.filter(".*")
    view.add([record(0, b"anything"), record(1, b"a .* b")])
    assert offsets(view.changes(0)) == [1]


def test_a_condition_shows_what_it_is_true_of_and_both_filters_hold() -> None:
    view = TailView()
    view.where(parse('value.price > 100 and key == "AMZN"'))
    view.add(
        [
            record(0, b'{"price": 150, "a": 1}', key=b"AMZN"),
            record(1, b'{"price": 150}', key=b"INTL"),
            record(2, b"no JSON", key=b"AMZN"),
            record(3, b'{"price": 101}', key=b"AMZN"),
        ]
    )
    changes = view.changes(0)
    assert offsets(changes) == [3, 0]
    assert changes is not None
    assert changes.counts == Counts(seen=4, matched=2, skipped=0)
    view.filter("150")
    assert offsets(view.changes(1)) == [0]
    view.where(None)
    assert offsets(view.changes(2)) == [1, 0]


def test_a_condition_sees_the_place_and_the_time_of_a_record() -> None:
    timed = Record("t", None, b"x", (("source", b"web"),), 3, 42, 1700000000000)
    subject = subject_of(timed)
    where = 'topic == "t" and partition == 3 and offset == 42 and header.source == "web"'
    assert parse(f"{where} and timestamp == 1700000000000").matches(subject)


def test_what_others_have_dropped_counts_as_skipped() -> None:
    view = TailView()
    view.add(records(0))
    view.skip(5)
    changes = view.changes(0)
    assert changes is not None
    assert changes.counts == Counts(seen=6, matched=6, skipped=5)


def test_a_null_matches_no_text_and_bytes_that_are_no_text_do_no_harm() -> None:
    view = TailView()
    view.filter("null")
    view.add([Record("t", None, None), record(1, b"\xff\xfenull")])
    assert offsets(view.changes(0)) == [1]


def test_a_new_filter_looks_at_what_is_still_here() -> None:
    view = TailView()
    view.add([record(0, b"one"), record(1, b"two"), record(2, b"one more")])
    assert offsets(view.changes(0)) == [2, 1, 0]
    view.filter("one")
    changes = view.changes(1)
    assert offsets(changes) == [2, 0]
    assert changes is not None
    assert changes.replace
    view.filter("")
    assert offsets(view.changes(2)) == [2, 1, 0]


def test_a_rare_match_stays_while_others_rush_by() -> None:
    view = TailView(capacity=3, rows_per_update=3)
    view.filter("rare")
    view.add([record(0, b"rare")])
    view.add(records(*range(1, 100)))
    assert offsets(view.changes(0)) == [0]
    view.filter("rar")
    assert offsets(view.changes(1)) == [0]


def test_clearing_empties_the_view_and_counts_from_zero() -> None:
    view = TailView()
    view.add(records(0, 1))
    view.clear()
    changes = view.changes(0)
    assert changes == Changes([], True, 0, Counts())


def test_a_row_is_found_again_as_long_as_it_is_shown() -> None:
    view = TailView(capacity=2)
    view.add(records(5, 6, 7))
    changes = view.changes(0)
    assert changes is not None
    newest = changes.rows[0]
    assert view.find(newest.number) == newest.record
    assert view.find(0) is None


@given(
    st.lists(
        st.one_of(
            st.lists(st.sampled_from([b"aa", b"ab", b"bb"]), max_size=12),
            st.sampled_from(["", "a", "b", "ab"]),
        ),
        max_size=30,
    )
)
def test_the_screen_always_shows_what_the_view_holds(turns: list[list[bytes] | str]) -> None:
    view, screen = TailView(capacity=6, rows_per_update=4), Screen()
    offset, needle = 0, ""
    for turn, what in enumerate(turns):
        if isinstance(what, str):
            needle = what
            view.filter(what)
        else:
            view.add([record(offset + index, value) for index, value in enumerate(what)])
            offset += len(what)
        changes = view.changes(float(turn))
        if changes is None:
            continue
        screen.draw(changes)
        assert len(screen.offsets) == changes.kept <= 6
        assert screen.offsets == sorted(screen.offsets, reverse=True)
        assert all(needle in (row.record.value or b"").decode() for row in changes.rows)
        assert all(view.find(row.number) == row.record for row in changes.rows)
        assert changes.counts.skipped <= changes.counts.matched <= changes.counts.seen == offset


def test_the_size_of_a_record_is_that_of_all_its_parts() -> None:
    assert byte_size(Record("t", b"ab", None, (("h", b"xyz"), ("n", None)))) == 7


class LengthReader:
    """Reads what begins with a zero byte as how long it is."""

    def document(self, data: bytes) -> object:
        return {"length": len(data)} if data[:1] == b"\0" else NOT_DECODED

    def decoded(self, data: bytes | None) -> Decoded | None:
        found = NOT_DECODED if data is None else self.document(data)
        return None if found is NOT_DECODED else Decoded(found, "Avro · schema 1")


def test_filters_see_what_is_decoded() -> None:
    view = TailView(reader=LengthReader())  # type: ignore[arg-type]
    view.add([record(0, b"\0abcde"), record(1, b"\0a"), record(2, b'{"length": 6}'), record(3)])
    view.where(parse("value.length == 6"))
    assert offsets(view.changes(0)) == [2, 0]
    view.where(None)
    view.filter('"LENGTH": 2')
    assert offsets(view.changes(1)) == [1]
