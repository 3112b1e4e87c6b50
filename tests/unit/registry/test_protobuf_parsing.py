"""What the Protobuf parser takes, what it refuses and what it says then."""

import base64

import pytest
from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from kafkaesque.registry.protobuf import descriptor, message_names, parse
from kafkaesque.registry.schema_text import InvalidSchemaError, Referenced

P3 = 'syntax = "proto3";\n'
P2 = 'syntax = "proto2";\n'


def m(body: str) -> str:
    return f"message M {{ {body} }}"


REFUSED = [
    ("", "empty"),
    ("   \n", "empty"),
    ('syntax = "proto4";', r'"proto4" is not known here.*\(line 1, column 10\)'),
    ('edition = "2024";', 'edition "2024" is not known here'),
    (P3 + "message M {", r"found the end \(line 2, column 12\)"),
    (P3 + "message { }", r"a message's name is missing: found \"\{\" \(line 2, column 9\)"),
    (P3 + m("int32 a = 1"), r'";" is missing after field "a"'),
    (P3 + m("int32 a;"), '"=" is missing'),
    (P3 + m("int32 = 1;"), "a field's name is missing"),
    (P3 + m("int32 a = x;"), "a field's number is missing"),
    (P3 + m("int32 a = 0;"), "between 1 and 536870911"),
    (P3 + m("int32 a = 536870912;"), "between 1 and 536870911"),
    (P3 + m("int32 a = 19500;"), "kept for protobuf itself"),
    (P3 + m("int32 a = 1; int64 b = 1;"), 'fields "a" and "b" of "M" both have the number 1'),
    (P3 + m("int32 a = 1; int64 a = 2;"), '"M.a" is declared twice'),
    (P3 + m("int32 foo_bar = 1; int32 fooBar = 2;"), "the same name in JSON"),
    (P3 + m("reserved 1 to 5; int32 a = 3;"), 'field "a" uses the reserved number 3'),
    (P3 + m('reserved "a"; int32 a = 3;'), 'field "a" uses a reserved name'),
    (P3 + m("reserved 1 to 5, 5 to 6;"), 'two ranges of message "M" overlap at 5'),
    (P3 + m("reserved 5 to 1;"), "runs backwards"),
    (P3 + m('reserved "a", "a";'), "reserves a name twice"),
    (P3 + m('reserved "a b";'), "is no name"),
    (P3 + m("reserved a;"), "a reserved name in quotes is missing"),
    (P3 + m("required int32 a = 1;"), "proto3 has no required fields"),
    (P3 + m("int32 a = 1 [default = 3];"), "proto3 has no explicit defaults"),
    (P3 + m("extensions 1 to 5;"), "proto3 has no extension ranges"),
    (P3 + m("group G = 1 { }"), 'found "{"|";" is missing|is not known'),
    (P3 + m("N a = 1;"), r'type "N" is not known.*\(line 2, column 13\)'),
    (P3 + m("M.N a = 1;"), 'type "M.N" is not known'),
    (P3 + m("map<float, int32> a = 1;"), '"float" cannot be the key of a map'),
    (P3 + m("map<M, int32> a = 1;"), '"M" cannot be the key of a map'),
    (P3 + m("repeated map<string, int32> a = 1;"), "a map has no label"),
    (P3 + m("oneof o { }"), 'oneof "o" has no fields'),
    (P3 + m("oneof o { repeated int32 a = 1; }"), '"repeated" cannot stand in a oneof'),
    (P3 + m("oneof o { map<int32, int32> a = 1; }"), '"map" cannot stand in a oneof'),
    (P3 + m("string a = 1 [packed = true];"), "only repeated numbers can"),
    (P3 + m("int32 a = 1 [nonsense = true];"), r'option "nonsense" is not known here'),
    (P3 + m("int32 a = 1 [deprecated = 1];"), "true or false is wanted"),
    (P3 + m("int32 a = 1 [deprecated = true, deprecated = true];"), "is set twice"),
    (P3 + "option java_package = 5;", "a string in quotes is wanted"),
    (P3 + "option optimize_for = FAST;", "'FAST' is no value of"),
    (P3 + m("option map_entry = true;"), "map_entry cannot be set in a text"),
    (P3 + "enum E { }", 'enum "E" has no values'),
    (P3 + "enum E { A = 1; }", 'the first value of enum "E" must be 0 in proto3'),
    (P3 + "enum E { A = 0; B = 0; }", "set the option allow_alias if that is meant"),
    (P3 + "enum E { A = 0; A = 1; }", '"A" is declared twice'),
    (P3 + "enum E { A = 0; } enum F { A = 0; }", '"A" is declared twice'),
    (P3 + "enum E { A = 0; B = 4294967296; }", "must fit into 32 bits"),
    (P3 + "enum E { reserved 2 to 4; A = 0; B = 3; }", 'value "B" uses the reserved number 3'),
    (P3 + 'enum E { reserved "B"; A = 0; B = 3; }', 'value "B" uses a reserved name'),
    (P3 + "enum E { reserved 2 to 4, 3; A = 0; }", "overlap at 3"),
    (P3 + "message M {} message M {}", r'"M" is declared twice \(line 2, column 22\)'),
    (P3 + "package a; package b;", "one package only"),
    (P3 + "message M {} package a;", "move it up"),
    (P3 + "service S { rpc R (M) returns (M); }", 'type "M" is not known'),
    (P3 + "enum E { A = 0; } service S { rpc R (E) returns (E); }", "a message is wanted"),
    (P3 + "service S { nonsense }", "an rpc or an option is missing"),
    (P3 + "nonsense", 'found "nonsense"|neither'),
    (P3 + "message M { @ }", "'@' is no part of a .proto text"),
    (P3 + '"open', "a string is not closed"),
    (P3 + "/* open", "a comment is not closed"),
    (P3 + m("int32 a = 1x;"), "white space is missing after the number"),
    (P3 + m("int32 a = 09;"), "is no octal number"),
    (P3 + 'import "\\q";', "is no escape"),
    (P3 + 'import "a.proto";', 'import "a.proto" is not among the references: add a reference'),
    (
        P3 + 'import "google/protobuf/any.proto"; import "google/protobuf/any.proto";',
        "imported twice",
    ),
    (P3 + "extend M { int32 x = 1; } " + m(""), "does not offer 1 for extensions"),
    (P2 + m("int32 a = 1;"), 'starts with "optional", "required" or "repeated"'),
    (P2 + m("optional int32 a = 1 [default = 4294967296];"), "is not between"),
    (P2 + m("optional bool a = 1 [default = 1];"), "a bool is true or false"),
    (P2 + m("optional string a = 1 [default = x];"), "a string in quotes is wanted"),
    (P2 + m("repeated int32 a = 1 [default = 1];"), "it cannot have a default"),
    (P2 + m("optional M a = 1 [default = x];"), "it has no default"),
    (P2 + m("optional E a = 1 [default = X];") + "enum E { A = 1; }", '"X" is no value of "E"'),
    (P2 + m("optional int32 a = 1 [default = 1, default = 2];"), "has two defaults"),
    (P2 + m("optional group g = 1 { }"), "starts with a capital"),
    (P2 + m("extensions 5 to 9; optional int32 a = 6;"), "which is for extensions"),
    (P2 + m("extensions 5;") + "extend M { optional group G = 5 {} }", "is not taken here"),
    (P2 + m("extensions 5;") + "extend M { required int32 g = 5; }", "cannot be required"),
    (P2 + m("extensions 5;") + "extend M { }", "declares no fields"),
    (
        P2 + m("extensions 5;") + "extend M { optional int32 x = 5; optional int32 y = 5; }",
        "extend with the same number",
    ),
    ('edition = "2023"; ' + m("optional int32 a = 1;"), "features.field_presence"),
    ("AAAA", "neither a .proto text nor a FileDescriptorProto"),
    ("Zm9vYmFy", "neither a .proto text nor a FileDescriptorProto"),
]


@pytest.mark.parametrize(("text", "says"), REFUSED)
def test_refuses(text: str, says: str) -> None:
    with pytest.raises(InvalidSchemaError, match=says):
        parse(text)


def test_the_place_is_that_of_the_error() -> None:
    text = (
        'syntax = "proto3";\n\nmessage M {\n  // a comment\n  int32 a = 1;\n  Missing b = 2;\n}\n'
    )
    with pytest.raises(InvalidSchemaError, match=r"\(line 6, column 3\)$"):
        parse(text)


def test_reads_types_labels_and_presence() -> None:
    file = descriptor(parse(P3 + m("int32 a = 1; optional int32 b = 2; repeated M c = 3;")))
    a, b, c = file.message_type[0].field
    assert (a.type, a.label) == (
        FieldDescriptorProto.TYPE_INT32,
        FieldDescriptorProto.LABEL_OPTIONAL,
    )
    assert b.proto3_optional
    assert file.message_type[0].oneof_decl[0].name == "_b"
    assert (c.type_name, c.label) == (".M", FieldDescriptorProto.LABEL_REPEATED)


def test_message_names_are_in_the_order_of_the_file() -> None:
    text = P3 + "package p; message B { message C {} map<int32, int32> m = 1; } message A {}"
    assert message_names(parse(text)) == ["p.B", "p.B.C", "p.A"]


def test_canonical_is_the_same_for_other_white_space_and_comments() -> None:
    plain = parse(P3 + m("int32 a=1;string b=2;"))
    airy = parse(P3 + "/* hello */ message M\n{\n int32 a = 1; // one\n\n string b = 0x2;\n};")
    assert plain.canonical == airy.canonical
    assert plain.canonical == (
        'syntax = "proto3";\n\nmessage M {\n  int32 a = 1;\n  string b = 2;\n}\n'
    )
    assert parse(plain.canonical).canonical == plain.canonical


def test_normalized_is_the_same_for_another_order_and_other_spellings() -> None:
    one = parse(
        P3 + 'package p; import "google/protobuf/any.proto"; import "google/protobuf/empty.proto";'
        "message M { oneof o { int32 z = 9; int32 y = 8; } p.N b = 2; int32 a = 1;"
        'reserved "x", "w"; reserved 30, 20; } message N {} enum E { Z = 0; Q = 2; P = 1; }'
    )
    other = parse(
        P3 + 'package p; import "google/protobuf/empty.proto"; import "google/protobuf/any.proto";'
        "message M { int32 a = 1; N b = 2; reserved 20, 30;"
        'reserved "w", "x"; oneof o { int32 y = 8; int32 z = 9; } } message N {}'
        "enum E { Z = 0; P = 1; Q = 2; }"
    )
    assert one.canonical != other.canonical
    assert one.normalized() == other.normalized()
    assert "  .p.N b = 2;\n" in one.normalized()
    assert parse(one.normalized()).normalized() == one.normalized()


def test_normalized_keeps_the_first_value_of_an_enum_and_the_order_of_messages() -> None:
    schema = parse(P2 + "message B {} message A {} enum E { Z = 5; N = -1; A_ = 0; }")
    text = schema.normalized()
    assert text.index("Z = 5") < text.index("N = -1") < text.index("A_ = 0")
    assert text.index("message B") < text.index("message A")


def test_positions_of_nested_messages_survive_maps() -> None:
    text = P3 + m("message N {} map<string, int32> a = 2; message O {} map<string, N> b = 1;")
    schema = parse(text)
    names = [nested.name for nested in descriptor(schema).message_type[0].nested_type]
    assert names == ["N", "AEntry", "O", "BEntry"]
    for printed in (schema.canonical, schema.normalized(), schema.formatted("serialized")):
        again = [nested.name for nested in descriptor(parse(printed)).message_type[0].nested_type]
        assert [again.index(name) for name in ("N", "O")] == [0, 2]


def test_serialized_is_a_descriptor_in_base64() -> None:
    schema = parse(P3 + m("int32 a = 1;"))
    file = FileDescriptorProto.FromString(base64.b64decode(schema.formatted("serialized")))
    assert [message.name for message in file.message_type] == ["M"]
    assert parse(schema.formatted("serialized")).canonical == schema.canonical
    assert schema.formatted("") == schema.formatted("ignored") == schema.canonical


def test_an_unknown_custom_option_stays_as_written() -> None:
    text = P3 + "option (my.opt).x = -5; " + m('int32 a = 1 [(other) = { b: "c" }, (n) = NAME];')
    canonical = parse(text).canonical
    assert "option (my.opt).x = -5;" in canonical
    assert 'int32 a = 1 [(other) = { b : "c" }, (n) = NAME];' in canonical
    assert parse(canonical).canonical == canonical
    assert parse(parse(text).formatted("serialized")).canonical == canonical


def test_custom_options_of_confluent_are_known() -> None:
    text = (
        P3
        + 'import "confluent/meta.proto";'
        + m('string a = 1 [(confluent.field_meta) = { tags: ["PII"] }];')
    )
    schema = parse(text)
    assert '[(confluent.field_meta) = { tags: "PII" }]' in schema.canonical
    assert not descriptor(schema).message_type[0].field[0].options.uninterpreted_option
    assert parse(schema.formatted("serialized")).canonical == schema.canonical


@pytest.mark.parametrize(
    ("name", "type_name"),
    [
        ("google/protobuf/timestamp.proto", "google.protobuf.Timestamp"),
        ("google/protobuf/struct.proto", "google.protobuf.Struct"),
        ("google/type/money.proto", "google.type.Money"),
        ("google/type/datetime.proto", "google.type.TimeZone"),
        ("confluent/type/decimal.proto", "confluent.type.Decimal"),
        ("confluent/types/decimal.proto", "confluent.type.Decimal"),
    ],
)
def test_built_in_files_need_no_reference(name: str, type_name: str) -> None:
    schema = parse(P3 + f'import "{name}"; message M {{ {type_name} a = 1; }}')
    assert f"{type_name} a = 1;" in schema.canonical


def test_an_import_of_an_import_is_seen_only_if_public() -> None:
    deep = Referenced("deep.proto", P3 + "message D {}")
    public = Referenced("mid.proto", P3 + 'import public "deep.proto";', (deep,))
    private = Referenced("mid.proto", P3 + 'import "deep.proto";', (deep,))
    text = P3 + 'import "mid.proto"; message M { D d = 1; }'
    assert "D d = 1;" in parse(text, [public]).canonical
    with pytest.raises(InvalidSchemaError, match='type "D" is not known'):
        parse(text, [private])


def test_references_may_be_base64() -> None:
    deep = parse(P3 + "package d; message D {}").formatted("serialized")
    schema = parse(P3 + 'import "d.proto"; message M { d.D d = 1; }', [Referenced("d.proto", deep)])
    assert schema.built.dependencies[0].name == "d.proto"


def test_an_error_in_an_import_names_the_file() -> None:
    broken = Referenced("broken.proto", P3 + "message {")
    with pytest.raises(InvalidSchemaError, match=r'in the imported "broken.proto": .*line 2'):
        parse(P3 + 'import "broken.proto";', [broken])


def test_imports_in_a_circle_are_refused() -> None:
    a = Referenced("a.proto", P3 + 'import "b.proto";')
    b = Referenced("b.proto", P3 + 'import "a.proto";')
    with pytest.raises(InvalidSchemaError, match=r'circle: "a.proto" imports "b.proto" imports'):
        parse(P3 + 'import "a.proto";', [a, b])
    with pytest.raises(InvalidSchemaError, match="circle"):
        parse(P3 + 'import "self.proto";', [Referenced("self.proto", P3 + 'import "self.proto";')])


def test_two_texts_under_one_name_are_refused() -> None:
    two = [Referenced("a.proto", P3), Referenced("a.proto", P2)]
    with pytest.raises(InvalidSchemaError, match="two references have the name"):
        parse(P3 + 'import "a.proto";', two)


def test_a_name_that_an_import_declares_is_refused() -> None:
    with pytest.raises(InvalidSchemaError, match=r'"M" is declared by the imported "a.proto"'):
        parse(P3 + 'import "a.proto"; message M {}', [Referenced("a.proto", P3 + "message M {}")])


def test_the_default_pool_stays_as_it_is() -> None:
    parse(P3 + "package kafkaesque_test_pool; message OnlyHere {}")
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindMessageTypeByName("kafkaesque_test_pool.OnlyHere")


def test_what_confluents_python_client_sends_and_asks_for() -> None:
    """It registers base64 of each file, and builds `?format=serialized` in a pool of its own."""
    from confluent_kafka.schema_registry.common.protobuf import (
        _init_pool,
        _schema_to_str,
        _str_to_proto,
    )

    shared = parse(P3 + "package s; message Money { int64 units = 1; }")
    text = P3 + 'import "s.proto"; import "google/type/date.proto"; import "confluent/meta.proto";'
    text += "message M { s.Money price = 1 [(confluent.field_meta).doc = 'x'];"
    text += " google.type.Date day = 2; map<string, M> more = 3; }"
    references = [Referenced("s.proto", _schema_to_str(shared.built))]
    sent = _schema_to_str(parse(text, references).built)
    stored = parse(sent, references)
    assert "  s.Money price = 1 [(confluent.field_meta)" in stored.canonical
    pool = descriptor_pool.DescriptorPool()
    _init_pool(pool)
    pool.Add(_str_to_proto("s.proto", shared.formatted("serialized")))
    pool.Add(_str_to_proto("default", parse(stored.canonical, references).formatted("serialized")))
    fields = pool.FindMessageTypeByName("M").fields
    assert [field.name for field in fields] == ["price", "day", "more"]
