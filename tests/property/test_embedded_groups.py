"""Consumers come, read and go in any order: each event is handed out once, in its order."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from kafkaesque import ConsumerGroup, Kafkaesque
from kafkaesque.event import Event

CONSUMERS = st.sampled_from(["a", "b", "c", "d"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("join"), CONSUMERS),
        st.tuples(st.just("leave"), CONSUMERS),
        st.tuples(st.just("next"), CONSUMERS),
        st.tuples(st.just("next"), CONSUMERS),
        st.tuples(st.just("put"), st.sampled_from(["t", "u", "later"])),
        st.tuples(st.just("grow"), st.just("t")),
    ),
    max_size=40,
)


class Story:
    """What was put, and what was handed out, in the order of both."""

    def __init__(self, k: Kafkaesque) -> None:
        self.k = k
        self.group: ConsumerGroup = k.group("g")
        self.members: set[str] = set()
        self.put_values: list[int] = []
        self.events: list[Event] = []

    def step(self, action: str, who: str) -> None:
        if action == "put":
            value = len(self.put_values)
            self.k.put(who, value, key=str(value))
            self.put_values.append(value)
        elif action == "grow":
            self._grow(who)
        elif action == "join":
            self.group.join(who)
            self.members.add(who)
        elif who in self.members and action == "leave":
            self.group.leave(who)
            self.members.discard(who)
        elif who in self.members and (event := self.group.next(who)):
            self.events.append(event)

    def _grow(self, topic: str) -> None:
        async def grow() -> None:
            topics = self.k._node.broker.topics
            count = len(topics.named(topic).partitions)
            await topics.grow(topics.named(topic), count + 1)

        self.k._call(grow)

    def check_shares(self) -> None:
        shares = self.group.assignment
        assert shares.keys() == self.members
        given_out = sorted(name for share in shares.values() for name in share)
        spans = [span.name for topic in self.k.topics for span in self.k._spans(topic)]
        assert given_out == (sorted(spans) if self.members else [])

    def drain(self) -> None:
        self.step("join", "last")
        for member in sorted(self.members):
            while event := self.group.next(member):
                self.events.append(event)


@given(STEPS)
@settings(max_examples=examples(60))
def test_every_event_is_handed_out_once_and_in_its_order(steps: list[Any]) -> None:
    k = Kafkaesque(partitions=2)
    try:
        k.create("t", 3)
        k.create("u", 1)
        story = Story(k)
        for step in steps:
            story.step(*step)
            if step[0] in ("join", "leave"):
                story.check_shares()
        story.drain()
        assert sorted(event.value for event in story.events) == story.put_values
        read: dict[tuple[str, int], list[int]] = {}
        for event in story.events:
            read.setdefault((event.topic, event.partition), []).append(event.offset)
        assert all(offsets == list(range(len(offsets))) for offsets in read.values())
    finally:
        k.close()
