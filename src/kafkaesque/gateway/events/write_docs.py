"""What the OpenAPI document says of writing events: bodies of many types, which no signature shows.

Above: write.py. Below: models.py.
"""

from typing import Any

from kafkaesque.gateway.events.models import NewEvent, Results, Written, problems

_ONE = {"key": "AMZN", "value": {"price": 101}, "headers": [["source", "web"]]}
_MANY = [{"key": "AMZN", "value": {"price": 101}}, {"key": "GOOG", "value": {"price": 99}}]
_LINES = '{"key": "AMZN", "value": {"price": 101}}\n{"key": "GOOG", "value": {"price": 99}}\n'
_SHARED = "#/components/schemas/"
_EVENT = NewEvent.model_json_schema(ref_template=_SHARED + "{model}")
_EVENT_SCHEMA = {name: each for name, each in _EVENT.items() if name != "$defs"}


def _header(name: str, about: str, example: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "required": False,
        "description": about,
        "schema": {"type": "string"},
        "example": example,
    }


WRITE_EVENTS: dict[str, Any] = {
    "description": (
        "One event or many, as JSON, NDJSON, or a body that is the value as it is. The answer "
        "comes when the cluster has them for good (`acks=all`), with partition and offset or an "
        "error for each, in order.\n\n"
        "Many events in JSON are checked before the first is sent: after a 400 none was. Lines of "
        "NDJSON are independent of each other, and answered by lines."
    ),
    "response_model": None,
    "responses": {
        200: {
            "description": "All were written: one place, or a list of results",
            "content": {
                "application/json": {
                    "schema": {
                        "anyOf": [{"$ref": _SHARED + each.__name__} for each in (Written, Results)]
                    },
                    "examples": {
                        "one": {"summary": "One event", "value": {"partition": 2, "offset": 41}},
                        "many": {
                            "summary": "Many events",
                            "value": {
                                "results": [
                                    {"partition": 2, "offset": 41},
                                    {"partition": 0, "offset": 17},
                                ],
                                "failed": 0,
                            },
                        },
                    },
                }
            },
        },
        207: {"model": Results, "description": "Some were written, others not"},
        **problems(400, 403, 404, 413, 415, 503),
    },
    "openapi_extra": {
        "parameters": [
            _header("Kafkaesque-Key", "The key, if the body is the value", "AMZN"),
            _header("Kafkaesque-Key-Base64", "The same, for keys that are not text", "/wA="),
            _header(
                "Kafkaesque-Header-Source",
                "A header of the event, here `source`, if the body is the value; names are in "
                "lower case",
                "web",
            ),
            _header("Kafkaesque-Partition", "The partition, if the body is the value", "0"),
            _header(
                "Kafkaesque-Timestamp",
                "Milliseconds since 1970, if the body is the value",
                "1700000000000",
            ),
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"anyOf": [_EVENT_SCHEMA, {"type": "array", "items": _EVENT_SCHEMA}]},
                    "examples": {
                        "one": {"summary": "One event", "value": _ONE},
                        "many": {"summary": "Many events", "value": _MANY},
                        "object": {"summary": "The same", "value": {"events": _MANY}},
                    },
                },
                "application/x-ndjson": {
                    "schema": {"type": "string"},
                    "examples": {"lines": {"summary": "An event on each line", "value": _LINES}},
                },
                "application/octet-stream": {
                    "schema": {"type": "string", "format": "binary"},
                    "examples": {"raw": {"summary": "The value as it is", "value": "hello"}},
                },
            },
        },
    },
}
