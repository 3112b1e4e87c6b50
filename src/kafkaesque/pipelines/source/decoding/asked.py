"""What a user of `decode` has asked for, checked.

    decode               json, avro or protobuf
    schema.registry.url  of the registry; from it come the columns, as the subject's latest version
    subject              "<topic>-value" if there is one topic
    valueSchema          the columns of json, as Spark writes them: "ticker STRING, price DOUBLE"
    deadLetterTopic      where refused values go; without it they stay, and `_error` says why

Above: options.py, pinned.py. Below: nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from kafkaesque.pipelines.source.security import OptionsError

DecodeForm: TypeAlias = Literal["json", "avro", "protobuf"]

FORMS = ("json", "avro", "protobuf")
NAMES = ("decode", "schema.registry.url", "subject", "valueSchema", "deadLetterTopic")


@dataclass(frozen=True, slots=True)
class Asked:
    """Either `columns`, in Spark's words, or a registry and a subject."""

    form: DecodeForm
    registry: str | None
    subject: str | None
    columns: str | None
    dead_letter_topic: str | None


def asked(options: Mapping[str, str], topics: Sequence[str]) -> Asked | None:
    """None if nothing is to be decoded. Raises OptionsError."""
    form = options.get("decode", "").lower()
    if not form:
        if idle := [name for name in NAMES if options.get(name)]:
            raise OptionsError(f"{idle[0]} is for decode alone: give decode={'|'.join(FORMS)} too")
        return None
    if form not in FORMS:
        raise OptionsError(f"decode is {form!r}: use one of {', '.join(FORMS)}")
    columns = options.get("valueSchema") or None
    if columns is not None and form != "json":
        raise OptionsError(
            f"valueSchema is for decode=json: the columns of {form} are its schema's"
        )
    registry = options.get("schema.registry.url") or None
    if columns is None and registry is None:
        more = " or the columns as valueSchema" if form == "json" else ""
        raise OptionsError(f"decode={form} needs a schema: give schema.registry.url{more}")
    subject = None if columns is not None else _subject(options, topics)
    return Asked(
        cast(DecodeForm, form), registry, subject, columns, options.get("deadLetterTopic") or None
    )


def _subject(options: Mapping[str, str], topics: Sequence[str]) -> str:
    if subject := options.get("subject"):
        return subject
    if len(topics) != 1:
        raise OptionsError("the topics do not name one subject: give subject")
    return f"{topics[0]}-value"
