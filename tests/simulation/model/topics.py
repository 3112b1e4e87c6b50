"""Topics and settings: what each may be, by what was asked for and what was answered.

A name has a list of states that are possible: one of them when everything was answered. Settings
have lists of possible values. `check` holds what is found against that, `settle` takes what was
found for told.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from uuid import UUID

WEAK = "write.caching"
WEAK_DEFAULT = "write.caching.default"


@dataclass(frozen=True, slots=True)
class TopicState:
    """No id: a creation in doubt, whose id nobody was told."""

    partitions: int
    id: UUID | None = None


ABSENT = TopicState(0)
Values = list[str | None]


@dataclass(slots=True)
class Traits:
    """What a topic may do to its records by its settings, now or at some time."""

    is_weak: bool = False
    may_expire: bool = False
    may_compact: bool = False


@dataclass(slots=True)
class FoundTopics:
    topics: dict[str, tuple[UUID, int]] = field(default_factory=dict)
    settings: dict[tuple[str, str], str | None] = field(default_factory=dict)
    """By topic and name; the broker's own under the empty topic."""


class Topics:
    def __init__(self) -> None:
        self._states: dict[str, list[TopicState]] = {}
        self._settings: dict[tuple[str, str], Values] = {}
        self._past_ids: set[UUID] = set()
        self._traits: dict[UUID, Traits] = {}
        self._names: dict[UUID, str] = {}
        self._is_default_weak = False

    def forget_all(self) -> None:
        """A broker in memory has ended."""
        self._states.clear()
        self._settings.clear()
        self._is_default_weak = False

    def certain(self) -> dict[str, TopicState]:
        """Those that are there, as far as anybody knows."""
        return {
            name: states[0]
            for name, states in self._states.items()
            if len(states) == 1 and states[0].id is not None
        }

    def is_absent(self, name: str) -> bool:
        return self._states.get(name, [ABSENT]) == [ABSENT]

    def name_of(self, topic_id: UUID) -> str:
        """That it has or had."""
        return self._names.get(topic_id, str(topic_id))

    def traits(self, topic_id: UUID) -> Traits:
        return self._traits.setdefault(topic_id, Traits(self._is_default_weak))

    def asked_for(self, name: str, state: TopicState) -> None:
        self._states.setdefault(name, [ABSENT]).append(state)

    def creating(self, name: str, partitions: int, settings: Mapping[str, str]) -> None:
        self.asked_for(name, TopicState(partitions))
        for key, value in settings.items():
            self._settings.setdefault((name, key), [None]).append(value)

    def created(self, name: str, state: TopicState, settings: Mapping[str, str]) -> None:
        self._forget_settings(name)
        for key, value in settings.items():
            self._settings[name, key] = [value]
        self._told(name, state)

    def _told(self, name: str, state: TopicState) -> None:
        self._states[name] = [state]
        if state.id is not None and state.id not in self._past_ids:
            self._past_ids.add(state.id)
            self._names[state.id] = name
            for (topic, key), values in self._settings.items():
                for value in values if topic == name else ():
                    self._note(state.id, key, value)

    def grown(self, name: str, state: TopicState) -> None:
        self._told(name, state)

    def deleted(self, name: str) -> None:
        self._told(name, ABSENT)
        self._forget_settings(name)

    def _forget_settings(self, name: str) -> None:
        self._settings = {at: values for at, values in self._settings.items() if at[0] != name}

    def configuring(self, name: str, key: str, value: str | None) -> None:
        self._settings.setdefault((name, key), [None]).append(value)
        state = self.certain().get(name)
        if state is not None and state.id is not None:
            self._note(state.id, key, value)
        if not name and key == WEAK_DEFAULT and value == "true":
            self._is_default_weak = True
            for traits in self._traits.values():
                traits.is_weak = True

    def configured(self, name: str, key: str, value: str | None) -> None:
        self._settings[name, key] = [value]

    def _note(self, topic_id: UUID, key: str, value: str | None) -> None:
        traits = self.traits(topic_id)
        if key == WEAK and value == "true":
            traits.is_weak = True
        if key.startswith("retention."):
            traits.may_expire = True
        if key == "cleanup.policy" and value is not None and "compact" in value:
            traits.may_compact = True

    def check(self, found: FoundTopics) -> Iterator[str]:
        for name, states in self._states.items():
            if self._state_of(found, name) not in states:
                yield f"topic {name} is {found.topics.get(name)}, not one of {states}"
        for name in sorted(found.topics.keys() - self._states.keys()):
            yield f"nobody has asked for topic {name}"
        for at, value in found.settings.items():
            if value not in self._settings.get(at, [None]):
                possible = self._settings.get(at, [None])
                yield f"setting {at[1]} of {at[0] or 'the broker'} is {value}, not of {possible}"

    def _state_of(self, found: FoundTopics, name: str) -> TopicState:
        if name not in found.topics:
            return ABSENT
        topic_id, partitions = found.topics[name]
        return TopicState(partitions, topic_id if topic_id in self._past_ids else None)

    def settle(self, found: FoundTopics) -> None:
        for name in self._states:
            topic_id, partitions = found.topics.get(name, (None, 0))
            self._told(name, TopicState(partitions, topic_id))
        self._settings = {at: [value] for at, value in found.settings.items()}

    def was_there(self, name: str) -> bool:
        """Whether it was there for certain when it was last certain."""
        return self._states.get(name, [ABSENT])[0].id is not None

    def found(self, name: str, topic_id: UUID, partitions: int) -> Iterator[str]:
        """One client has been shown this one topic."""
        shown = FoundTopics({name: (topic_id, partitions)})
        state, states = self._state_of(shown, name), self._states.get(name, [ABSENT])
        if state not in states:
            yield f"topic {name} is shown as {state}, not one of {states}"
        self._told(name, TopicState(partitions, topic_id))
