"""Records of the schemas' topic, byte for byte as Confluent's registry has them."""

import pytest

from kafkaesque.registry import changes as to
from kafkaesque.registry.entries import Association, Reference, Resource, Schema, Version
from kafkaesque.registry.log_records import UnreadableRecordError, decode, encode
from kafkaesque.registry.schema_text import SchemaType

_PLAIN = Version("s", 1, 7, Schema(SchemaType.AVRO, '"int"'))
_RICH = Version(
    ":.eu:größe",
    3,
    9,
    Schema(
        SchemaType.PROTOBUF,
        "message M {}",
        (Reference("other.proto", "o", 2),),
        {"properties": {"a": "1"}},
        {"domainRules": []},
    ),
    deleted=True,
)
_RESOURCE = Resource("topic", "lkc", "topic", "value")
_ASSOCIATION = Association(_RESOURCE, "id", "s", "guid", is_strong=True)
_CHANGES: list[to.Change] = [
    to.VersionSet(_PLAIN),
    to.VersionSet(_RICH),
    to.VersionRemoved("s", 1),
    to.SubjectDeleted("s", 3),
    to.ConfigSet(None, {"compatibilityLevel": "FULL"}),
    to.ConfigSet("s", {"compatibilityLevel": "NONE", "normalize": True}),
    to.ConfigSet("s", None),
    to.ModeSet(None, "READONLY"),
    to.ModeSet("s", None),
    to.AssociationSet(_RESOURCE, _ASSOCIATION),
    to.AssociationSet(_RESOURCE, None),
    to.HighestIds({".": 4, ".eu": 2}),
]


def test_keys_have_confluents_bytes() -> None:
    assert [encode(change)[0].decode() for change in _CHANGES] == [
        '{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
        '{"keytype":"SCHEMA","subject":":.eu:größe","version":3,"magic":1}',
        '{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
        '{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}',
        '{"keytype":"CONFIG","subject":null,"magic":0}',
        '{"keytype":"CONFIG","subject":"s","magic":0}',
        '{"keytype":"CONFIG","subject":"s","magic":0}',
        '{"keytype":"MODE","subject":null,"magic":0}',
        '{"keytype":"MODE","subject":"s","magic":0}',
        '{"keytype":"ASSOC","tenant":"default","resourceName":"topic","resourceNamespace":"lkc",'
        '"resourceType":"topic","associationType":"value","magic":0}',
        '{"keytype":"ASSOC","tenant":"default","resourceName":"topic","resourceNamespace":"lkc",'
        '"resourceType":"topic","associationType":"value","magic":0}',
        '{"keytype":"NOOP","magic":0}',
    ]


def test_values_have_confluents_fields() -> None:
    def value(change: to.Change) -> str | None:
        found = encode(change)[1]
        return None if found is None else found.decode()

    plain = value(_CHANGES[0])
    assert plain is not None
    assert plain.startswith('{"subject":"s","version":1,"id":7,')
    assert plain.endswith('"schema":"\\"int\\"","deleted":false}')
    assert "schemaType" not in plain
    assert '"schemaType":"PROTOBUF","references":[{"name":"other.proto","subject":"o"' in (
        value(_CHANGES[1]) or ""
    )
    assert value(_CHANGES[3]) == '{"subject":"s","version":3}'
    assert value(_CHANGES[4]) == '{"subject":null,"compatibilityLevel":"FULL"}'
    assert value(_CHANGES[7]) == '{"subject":null,"mode":"READONLY"}'
    assert [value(_CHANGES[it]) for it in (2, 6, 8, 10)] == [None] * 4


@pytest.mark.parametrize("change", _CHANGES, ids=lambda it: type(it).__name__)
def test_a_change_comes_back(change: to.Change) -> None:
    again = decode(*encode(change))
    assert encode(again or to.HighestIds({})) == encode(change)
    if not isinstance(change, to.VersionSet):
        assert again == change


def test_the_default_context_is_left_out_of_names() -> None:
    change = decode(b'{"keytype":"MODE","subject":":.:s","magic":0}', b'{"mode":"READONLY"}')
    assert change == to.ModeSet("s", "READONLY")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b'{"keytype":"NOOP","magic":0}', None),
        (b'{"keytype":"NOOP","magic":0}', b"{}"),
        (b'{"keytype":"CLEAR_SUBJECT","subject":"s","magic":0}', b'{"subject":"s"}'),
        (b'{"keytype":"CONTEXT","tenant":"default","context":".x","magic":0}', b"{}"),
        (b'{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}', None),
    ],
)
def test_some_records_change_nothing(key: bytes, value: bytes | None) -> None:
    assert decode(key, value) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"{}"),
        (b"", None),
        (b"{", b"{}"),
        (b"[]", b"{}"),
        (b"7", b"{}"),
        (b"{}", b"{}"),
        (b'{"keytype":"SOMETHING_NEW","magic":0}', b"{}"),
        (b'{"keytype":["SCHEMA"],"magic":0}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":"s","magic":1}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}', b"[]"),
        (b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}', b"\xff"),
        (
            b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
            b'{"id":1,"schema":"x","schemaType":"XML"}',
        ),
        (
            b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
            b'{"id":1,"schema":"x","references":[1]}',
        ),
        (b'{"keytype":"SCHEMA","subject":7,"version":1,"magic":1}', b'{"id":1,"schema":"x"}'),
        (b'{"keytype":"MODE","subject":"s","magic":0}', b"{}"),
        (b'{"keytype":"CONFIG","subject":"s","magic":0}', b"[1]"),
        (b'{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}', b'{"version":"x"}'),
        (b'{"keytype":"ASSOC","magic":0}', b"{}"),
        (b'{"keytype":"NOOP","magic":0}', b'{"highestIds":[1]}'),
        (b'{"keytype":"NOOP","magic":0}', b'{"highestIds":{".":"x"}}'),
    ],
)
def test_what_cannot_be_read_says_so(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(UnreadableRecordError):
        decode(key, value)
