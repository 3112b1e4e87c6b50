"""Metadata and rules for schemas of tests, as confluent-kafka's clients have them."""

from confluent_kafka.schema_registry import (
    Metadata,
    MetadataProperties,
    Rule,
    RuleKind,
    RuleMode,
    RuleParams,
    RuleSet,
)


def metadata(**properties: str) -> Metadata:

    return Metadata(tags=None, properties=MetadataProperties(properties), sensitive=["key"])


def rules(name: str) -> RuleSet:
    rule = Rule(
        name=name,
        doc="No empty symbols.",
        kind=RuleKind.CONDITION,
        mode=RuleMode.WRITE,
        type="CEL",
        tags=["PII"],
        params=RuleParams({"p": "1"}),
        expr="message.symbol != ''",
        on_success="NONE",
        on_failure="ERROR",
        disabled=False,
    )
    return RuleSet(migration_rules=[], domain_rules=[rule], encoding_rules=[])
