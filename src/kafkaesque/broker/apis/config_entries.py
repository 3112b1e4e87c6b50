"""Settings as DescribeConfigs and CreateTopics tell them: the value, where it comes from, and what
it would be otherwise, name by name (Kafka calls these synonyms).
"""

import logging
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import TypeAlias

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.broker_settings import BROKER_SETTINGS
from kafkaesque.broker.config import ANY_ADDRESS, NODE_ID, Config, Listener, address
from kafkaesque.broker.node_settings import NODE_SETTINGS, NodeSetting
from kafkaesque.broker.settings import Kind, Setting, shown
from kafkaesque.broker.topic_settings import TOPIC_SETTINGS
from kafkaesque.protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsSynonym,
)

_LEVELS = {"CRITICAL": "FATAL", "WARNING": "WARN"}
"""Log4j's words for Python's, where they differ."""


class Source(IntEnum):
    """Where a value comes from, as Kafka numbers it."""

    TOPIC = 1
    DYNAMIC_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    BROKER_LOGGER = 6


Chain: TypeAlias = list[tuple[str, str, Source]]
"""The name, value and source of what is in force, then of what would be without it, and so on."""


def topic_configs(
    config: Config, overrides: Mapping[str, str]
) -> list[DescribeConfigsResourceResult]:
    results = []
    for name, setting in TOPIC_SETTINGS.items():
        chain = [(name, overrides[name], Source.TOPIC)] if name in overrides else []
        if setting.follows:
            chain += _broker_chain(config, setting.follows)
        else:
            chain.append((name, setting.default, Source.DEFAULT))
        results.append(_result(setting, chain, read_only=False))
    return results


def broker_configs(ctx: Context) -> list[DescribeConfigsResourceResult]:
    values = _node_values(ctx)
    settings = [
        _result(setting, _broker_chain(ctx.broker.config, name), read_only=not setting.dynamic)
        for name, setting in BROKER_SETTINGS.items()
    ]
    node = [
        _result(setting, _node_chain(setting, values[name]), read_only=True)
        for name, setting in NODE_SETTINGS.items()
    ]
    return settings + node


def cluster_configs(config: Config) -> list[DescribeConfigsResourceResult]:
    """What was set over the wire, and no more: the broker that has no name is all of them."""
    return [
        _result(BROKER_SETTINGS[name], [(name, value, Source.DYNAMIC_BROKER)], read_only=False)
        for name, value in config.dynamic.items()
    ]


def logger_configs() -> list[DescribeConfigsResourceResult]:
    return [
        DescribeConfigsResourceResult(
            name=name, value=level, read_only=True, config_source=Source.BROKER_LOGGER
        )
        for name, level in _loggers()
    ]


def client_metrics_configs() -> list[DescribeConfigsResourceResult]:
    """Of any name, as in Kafka: a subscription to nothing."""
    return [
        DescribeConfigsResourceResult(
            name=name, value=value, read_only=True, config_source=Source.DEFAULT, config_type=kind
        )
        for name, kind, value in (
            ("interval.ms", Kind.INT, "300000"),
            ("match", Kind.LIST, ""),
            ("metrics", Kind.LIST, ""),
        )
    ]


def _broker_chain(config: Config, name: str) -> Chain:
    chain = []
    if name in config.dynamic:
        chain.append((name, config.dynamic[name], Source.DYNAMIC_BROKER))
    if name in config.static:
        chain.append((name, config.static[name], Source.STATIC_BROKER))
    return [*chain, (name, BROKER_SETTINGS[name].default, Source.DEFAULT)]


def _node_chain(setting: NodeSetting, value: str | None) -> Chain:
    chain = []
    if value is not None:
        chain.append((setting.name, value, Source.STATIC_BROKER))
    if setting.default is not None:
        chain.append((setting.name, setting.default, Source.DEFAULT))
    return chain


def _node_values(ctx: Context) -> dict[str, str | None]:
    listeners, path = ctx.broker.listeners, ctx.broker.storage.path
    advertised = [_advertised(ctx, listener) for listener in listeners]
    voter = f"{NODE_ID}@{advertised[0]}" if advertised else None
    uris = [f"{listener.name}://{listener.address}" for listener in listeners]
    told = [f"{listener.name}://{at}" for listener, at in zip(listeners, advertised, strict=True)]
    return {
        "node.id": str(NODE_ID),
        "broker.id": str(NODE_ID),
        "broker.rack": None,
        "process.roles": "broker,controller",
        "controller.quorum.voters": voter,
        "listeners": ",".join(uris),
        "advertised.listeners": ",".join(told),
        "listener.security.protocol.map": ",".join(f"{x.name}:PLAINTEXT" for x in listeners),
        "log.dirs": path,
        "log.dir": path,
        "authorizer.class.name": None,
    }


def _advertised(ctx: Context, listener: Listener) -> str:
    """A listener on all addresses advertises the one that a client has reached it by."""
    host = listener.advertised_host or listener.host
    if host in ANY_ADDRESS:
        _, host, _ = ctx.advertised
    return address(host, listener.advertised_port or listener.port)


def _loggers() -> Iterator[tuple[str, str]]:
    names = sorted(logging.root.manager.loggerDict)
    ours = [logging.getLogger(name) for name in names if name.partition(".")[0] == "kafkaesque"]
    for logger in (logging.root, *ours):
        level = logging.getLevelName(logger.getEffectiveLevel())
        yield logger.name, _LEVELS.get(level, level)


def _result(
    setting: Setting | NodeSetting, chain: Chain, *, read_only: bool
) -> DescribeConfigsResourceResult:
    result = DescribeConfigsResourceResult(
        name=setting.name,
        value=None,
        read_only=read_only,
        config_source=Source.DEFAULT,
        synonyms=[
            DescribeConfigsSynonym(name=name, value=shown(setting.kind, value), source=source)
            for name, value, source in chain
        ],
        config_type=setting.kind,
        documentation=setting.doc,
    )
    if result.synonyms:
        result.value, result.config_source = result.synonyms[0].value, result.synonyms[0].source
    return result
