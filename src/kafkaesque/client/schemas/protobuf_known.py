"""Files that a Protobuf schema may import without a reference, because everybody has them.

google/protobuf/*.proto come with the protobuf library. Those of google/type/ and confluent/type/
are declared here as far as their bytes go: fields in the order of their numbers, which begin at 1,
and the names of enums, which begin at 0. Above: protobuf_files.py. Below: protobuf.
"""

from importlib import import_module

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

_MESSAGES = {
    "google/type/color.proto": {
        "Color": "float red, float green, float blue, .google.protobuf.FloatValue alpha",
    },
    "google/type/date.proto": {"Date": "int32 year, int32 month, int32 day"},
    "google/type/datetime.proto": {
        "DateTime": "int32 year, int32 month, int32 day, int32 hours, int32 minutes, int32 seconds,"
        " int32 nanos, .google.protobuf.Duration utc_offset, .google.type.TimeZone time_zone",
        "TimeZone": "string id, string version",
    },
    "google/type/decimal.proto": {"Decimal": "string value"},
    "google/type/expr.proto": {
        "Expr": "string expression, string title, string description, string location",
    },
    "google/type/fraction.proto": {"Fraction": "int64 numerator, int64 denominator"},
    "google/type/interval.proto": {
        "Interval": ".google.protobuf.Timestamp start_time, .google.protobuf.Timestamp end_time",
    },
    "google/type/latlng.proto": {"LatLng": "double latitude, double longitude"},
    "google/type/localized_text.proto": {"LocalizedText": "string text, string language_code"},
    "google/type/money.proto": {"Money": "string currency_code, int64 units, int32 nanos"},
    "google/type/quaternion.proto": {"Quaternion": "double x, double y, double z, double w"},
    "google/type/timeofday.proto": {
        "TimeOfDay": "int32 hours, int32 minutes, int32 seconds, int32 nanos",
    },
    "confluent/type/decimal.proto": {"Decimal": "bytes value, uint32 precision, int32 scale"},
    "confluent/type/variant.proto": {"Variant": "bytes metadata, bytes value"},
}
_ENUMS = {
    "google/type/calendar_period.proto": {
        "CalendarPeriod": "CALENDAR_PERIOD_UNSPECIFIED DAY WEEK FORTNIGHT MONTH QUARTER HALF YEAR",
    },
    "google/type/dayofweek.proto": {
        "DayOfWeek": "DAY_OF_WEEK_UNSPECIFIED MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY "
        "SUNDAY",
    },
    "google/type/month.proto": {
        "Month": "MONTH_UNSPECIFIED JANUARY FEBRUARY MARCH APRIL MAY JUNE JULY AUGUST SEPTEMBER "
        "OCTOBER NOVEMBER DECEMBER",
    },
}
_IMPORTS = {
    "google/type/color.proto": ["google/protobuf/wrappers.proto"],
    "google/type/datetime.proto": ["google/protobuf/duration.proto"],
    "google/type/interval.proto": ["google/protobuf/timestamp.proto"],
}
_PUBLIC = {"confluent/types/decimal.proto": "confluent/type/decimal.proto"}


def known_file(name: str) -> FileDescriptorProto | None:
    """None: it needs a reference."""
    if name.startswith("google/protobuf/"):
        return _of_the_library(name)
    file = FileDescriptorProto(
        name=name,
        package=name.rpartition("/")[0].replace("/", "."),
        syntax="proto3",
        dependency=_IMPORTS.get(name, []),
    )
    if name in _PUBLIC:
        file.dependency.append(_PUBLIC[name])
        file.public_dependency.append(0)
    elif name in _MESSAGES or name in _ENUMS:
        for message, fields in _MESSAGES.get(name, {}).items():
            _add_message(file, message, fields)
        for enum, names in _ENUMS.get(name, {}).items():
            _add_enum(file, enum, names)
    else:
        return None
    return file


def _of_the_library(name: str) -> FileDescriptorProto | None:
    try:
        found = import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
    except ImportError:
        return None
    return FileDescriptorProto.FromString(found.DESCRIPTOR.serialized_pb)


def _add_message(file: FileDescriptorProto, name: str, fields: str) -> None:
    message = file.message_type.add(name=name)
    for number, text in enumerate(fields.split(", "), 1):
        kind, field = text.split()
        one = message.field.add(
            name=field, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL
        )
        if kind.startswith("."):
            one.type = FieldDescriptorProto.TYPE_MESSAGE
            one.type_name = kind
        else:
            one.type = FieldDescriptorProto.Type.Value(f"TYPE_{kind.upper()}")


def _add_enum(file: FileDescriptorProto, name: str, names: str) -> None:
    enum = file.enum_type.add(name=name)
    for number, each in enumerate(names.split()):
        enum.value.add(name=each, number=number)
