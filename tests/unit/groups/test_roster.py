"""Which protocols a roster can choose is what the sets of what its members offer say."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.groups.driver import RANGE, Driver

from kafkaesque.groups.events import Join
from kafkaesque.groups.member import MEMBER_BYTES, Member
from kafkaesque.groups.records import group_record
from kafkaesque.groups.roster import Roster

OFFERS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=5)
"""Nobody stops a client from offering the same twice."""
STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "update", "replace"]), st.integers(0, 4), OFFERS),
    max_size=30,
)


def join(offers: Sequence[str]) -> Join:
    protocols = tuple((name, b"") for name in offers)
    return Join(1, "", None, "c", "/h", "consumer", protocols, 10_000, 10_000)


def take(roster: Roster, step: str, number: int, offers: Sequence[str], new_id: str) -> None:
    members = list(roster.members.values())
    if step == "add":
        roster.add(Member.joining(join(offers), new_id, 0))
    elif number < len(members):
        member = members[number]
        if step == "remove":
            roster.remove(member.member_id)
        elif step == "update":
            roster.update(member, join(offers))
        else:
            roster.replace(member, join(offers), new_id)


@given(STEPS)
def test_a_protocol_can_be_chosen_if_every_member_offers_it(
    steps: list[tuple[str, int, list[str]]],
) -> None:
    roster = Roster()
    for number, step in enumerate(steps):
        take(roster, *step, f"m-{number}")
        offers = [[name for name, _ in member.protocols] for member in roster.members.values()]
        common = set("abcd").intersection(*offers)
        for name in "abcd":
            assert roster.supports({name}) == (name in common)
        assert roster.supports({"a", "d"}) == bool(common & {"a", "d"} or not offers)
        if common and offers:
            votes = [next(name for name in each if name in common) for each in offers]
            assert roster.choose_protocol() == Counter(votes).most_common(1)[0][0]
        assert set(roster._offered) == set().union(*offers)


def test_who_joins_a_group_of_many_is_not_compared_with_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[str] = []
    protocol_names = Member.protocol_names

    def counted(member: Member) -> set[str]:
        looks.append(member.member_id)
        return protocol_names(member)

    driver = Driver()
    for _ in range(200):
        driver.send_join()
    monkeypatch.setattr(Member, "protocol_names", counted)
    driver.send_join(protocols=RANGE)
    assert len(looks) <= 3


def test_names_are_counted_as_they_are_encoded() -> None:
    driver = Driver()
    emoji = "\U0001f600" * 1000
    members = driver.stable(emoji, emoji, protocols=(("😀range", b"x"),))
    roster = driver.group.roster
    key, value = group_record("g", driver.stored[-1])
    assert len(value) > 8000
    # The longest that a record may be is measured by it: beside that there is the leader's id.
    assert len(key) + len(value) <= roster.stored_bytes + len(members[0].encode()) + 100
    assert 8000 < roster.name_bytes < roster.stored_bytes
    driver.leave(*members)
    assert (roster.name_bytes, roster.stored_bytes, roster.budget.used_bytes) == (0, 0, 0)


def test_names_are_encoded_when_a_member_joins_and_not_when_it_is_counted() -> None:
    roster = Roster()
    roster.add(Member.joining(join(["a", "b"]), "m", 0))
    member = roster.members["m"]
    assert roster.name_bytes == member.name_bytes == len("mc/h")
    member.name_bytes = member.protocol_name_bytes = 0
    assert member.kept_bytes == MEMBER_BYTES
