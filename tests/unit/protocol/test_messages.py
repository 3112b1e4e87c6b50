"""The table of APIs, and how declared classes behave as Python objects.

The table must agree with the classes it names. Classes are built by keyword, compared by value, and
share nothing mutable.
"""

from typing import Any

import pytest

from kafkaesque.protocol.messages import MESSAGES, Api
from kafkaesque.protocol.messages.fetch import FetchRequest, FetchTopic
from kafkaesque.protocol.schema import (
    Primitive,
    boolean,
    field,
    int32,
    message,
    schema_of,
    string,
    struct,
)

APIS = list(MESSAGES.values())


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_key_name_and_versions_agree_with_the_classes(api: Api) -> None:
    assert MESSAGES[api.key] is api
    assert api.request.__name__ == f"{api.name}Request"
    assert api.response.__name__ == f"{api.name}Response"
    for cls in (api.request, api.response):
        schema = schema_of(cls)
        assert (schema.api_key, schema.versions) == (api.key, api.versions)
        assert schema.flexible == schema_of(api.request).flexible


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_every_field_has_a_default(api: Api) -> None:
    for cls in (api.request, api.response):
        assert cls() == cls()


def test_the_schema_says_what_the_annotations_say() -> None:
    @struct
    class Part:
        name: string = ""

    @message(api_key=7, versions=(1, 3), flexible=3)
    class Whole:
        parts: list[Part] | None = field(since=2, nullable_since=3, default_factory=list)
        flag: boolean = field(since=3, tag=4, default=True)

    schema = schema_of(Whole)
    parts, flag = schema.fields
    assert (parts.type, parts.is_array, flag.type) == (Part, True, Primitive("boolean", "?"))
    assert [parts.exists_in(version) for version in (1, 2, 3)] == [False, True, True]
    assert [parts.nullable_in(version) for version in (2, 3)] == [False, True]
    assert [schema.is_flexible(version) for version in (2, 3)] == [False, True]
    assert (flag.tag, flag.default, schema.api_key) == (4, True, 7)


def test_messages_are_built_by_keyword_only() -> None:
    wrong: Any = FetchRequest
    with pytest.raises(TypeError):
        wrong(7)
    with pytest.raises(TypeError, match="nonsense"):
        wrong(nonsense=1)
    with pytest.raises(AttributeError):
        wrong().nonsense = 1


def test_messages_do_not_share_their_default_lists() -> None:
    first, second = FetchRequest(), FetchRequest()
    first.topics.append(FetchTopic())
    assert second.topics == []


def test_messages_are_compared_by_their_fields_and_class() -> None:
    @struct
    class One:
        number: int32 = 0
        name: string = ""

    @struct
    class Other:
        number: int32 = 0

    assert One(number=1) == One(number=1)
    assert One(number=1) != One(number=2)
    other: object = Other()
    assert One() != other
    with pytest.raises(TypeError):
        hash(One())


def test_a_message_shows_only_what_is_not_default() -> None:
    request = FetchRequest(max_wait_ms=5, topics=[FetchTopic(topic="t")])
    assert repr(request) == "FetchRequest(max_wait_ms=5, topics=[FetchTopic(topic='t')])"
