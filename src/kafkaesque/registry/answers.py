"""Answers: JSON with Confluent's content type.

Above: routes/, app.py.
"""

from typing import Any

import orjson
from starlette.responses import Response

from kafkaesque.registry.problems import ProblemError

MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"


def answer(content: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(content), status, media_type=MEDIA_TYPE)


def refusal(problem: ProblemError) -> Response:
    # A message may quote half a surrogate pair out of a schema: that is no UTF-8.
    message = problem.message.encode(errors="replace").decode()
    return answer({"error_code": problem.code, "message": message}, problem.status)
