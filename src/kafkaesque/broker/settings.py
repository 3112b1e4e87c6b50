"""What a setting is: a name, a kind, a default, a check, a sentence. Tables: broker_settings.py,
topic_settings.py.

A value is text on the wire and in `__cluster_metadata`, and is parsed once, when it is set. A value
that does not parse or that the broker could not honour is refused with INVALID_CONFIG: what can be
set takes effect.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from kafkaesque.errors import ErrorCode, KafkaError


class Kind(IntEnum):
    """Kafka's ConfigDef types, numbered as in DescribeConfigs."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7


DAY_MS = 24 * 60 * 60 * 1000
MAX_MESSAGE_BYTES = 1_048_588
"""Kafka's default for the largest record batch: a mebibyte and the log overhead."""

COMPRESSION_TYPES = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")

_BOOLEANS = {"true": True, "false": False}
_WIDTH = {Kind.SHORT: 16, Kind.INT: 32, Kind.LONG: 64}


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    kind: Kind
    default: str
    doc: str
    check: Callable[[Any], str | None] = lambda value: None
    """Why a parsed value is refused, or None."""
    dynamic: bool = False
    """A broker setting that AlterConfigs may change while the broker runs."""
    follows: str | None = None
    """Topic settings: the broker setting that gives the default."""

    def parse(self, text: str | None) -> Any:
        if text is None:
            raise self._refused("null", f"a {self.kind.name.lower()} is needed")
        try:
            value = _parse(self.kind, text.strip())
        except (ValueError, KeyError):
            raise self._refused(text, f"not a {self.kind.name.lower()}") from None
        if reason := self.check(value):
            raise self._refused(text, reason)
        return value

    def _refused(self, text: str, reason: str) -> KafkaError:
        message = f"Invalid value {text} for configuration {self.name}: {reason}"
        return KafkaError(ErrorCode.INVALID_CONFIG, message)


def shown(kind: Kind, value: str) -> str:
    """A value that was parsed before: a list without what does not count."""
    return ",".join(_parse_list(value.strip())) if kind is Kind.LIST else value


def _parse(kind: Kind, text: str) -> Any:
    if kind is Kind.BOOLEAN:
        return _BOOLEANS[text.lower()]
    if kind is Kind.STRING:
        return text
    if kind is Kind.LIST:
        return _parse_list(text)
    if kind is Kind.DOUBLE:
        return float(text)
    value = int(text)
    bound = 1 << (_WIDTH[kind] - 1)
    if not -bound <= value < bound:
        raise ValueError(text)
    return value


def _parse_list(text: str) -> tuple[str, ...]:
    """Nothing at all is an empty list, commas alone are a mistake; what comes twice counts once."""
    parts = dict.fromkeys(part for word in text.split(",") if (part := word.strip()))
    if text and not parts:
        raise ValueError(text)
    return tuple(parts)


def at_least(bound: float) -> Callable[[Any], str | None]:
    return lambda value: None if value >= bound else f"must be at least {bound}"


def between(low: float, high: float) -> Callable[[Any], str | None]:
    return lambda value: None if low <= value <= high else f"must be between {low} and {high}"


def one_of(*choices: str) -> Callable[[Any], str | None]:
    return lambda value: None if value in choices else f"must be one of {', '.join(choices)}"


def only(value: object, why: str) -> Callable[[Any], str | None]:
    """A setting that Kafka has and we cannot change: any other value is refused with the reason."""
    return lambda given: None if given == value else f"only {value} is supported: {why}"


def cleanup_policy(value: tuple[str, ...]) -> str | None:
    """Neither is a policy, too: everything is kept, until records are deleted by request."""
    known = {"delete", "compact"}
    return None if set(value) <= known else "must be delete, compact, both, or empty"


def table(settings: Iterable[Setting]) -> dict[str, Setting]:
    return {setting.name: setting for setting in settings}
