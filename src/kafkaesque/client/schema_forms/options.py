"""The words that a program says about schemas, checked. Above: forms.py. Below: nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from kafkaesque.client.registry import RegistryClient

Subject: TypeAlias = str | Callable[[str, str, str], str]
"""A name, in which {topic}, {part} and {record} stand for themselves; or a function of them."""

DEFAULT_SUBJECT = "{topic}-{part}"


@dataclass(frozen=True, slots=True)
class SchemaOptions:
    """`schema` and `key_schema` are what given.py takes."""

    schema: Any = None
    key_schema: Any = None
    registry: "str | RegistryClient | None" = None
    subject: Subject | None = None
    auto_register: bool = True
    normalize: bool = False
    use_latest: bool = False

    def subject_of(self, topic: str, part: str, record: str) -> str:
        if callable(self.subject):
            return self.subject(topic, part, record)
        return (self.subject or DEFAULT_SUBJECT).format(topic=topic, part=part, record=record)

    def check(self, *, with_key: bool, with_value: bool) -> None:
        """Raises TypeError. `with_…` says which of the two are in a registry's form."""
        if self.schema is not None and not with_value:
            raise TypeError(
                'schema= is for value="avro", "json" or "protobuf": say which; a model alone, '
                "without a registry, is value=Model"
            )
        if self.key_schema is not None and not with_key:
            raise TypeError('key_schema= is for key="avro", "json" or "protobuf": say which')
        if isinstance(self.subject, str):
            try:
                is_one = len({self.subject_of("topic", part, "") for part in ("key", "value")}) == 1
            except (KeyError, IndexError, ValueError):
                raise TypeError(
                    f"subject={self.subject!r}: only {{topic}}, {{part}} and {{record}} may stand "
                    "in braces"
                ) from None
            if is_one and with_key and with_value:
                raise TypeError(
                    f"subject={self.subject!r} would be the key's and the value's: "
                    "put {part} into it"
                )
