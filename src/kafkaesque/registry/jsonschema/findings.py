"""How findings travel up: paths are relative until the top, so that an answer can be used again.

Above: compare*.py. Below: schema_text.py.
"""

from kafkaesque.registry.schema_text import Incompatibility

MAX_FINDINGS = 100
"""Of one comparison: a fault in a schema that is used everywhere is not told for every place."""

Findings = list[Incompatibility]


def finding(kind: str, path: str, message: str) -> Findings:
    return [Incompatibility(kind, path, message)]


def under(path: str, findings: Findings) -> Findings:
    return [each._replace(path=path + each.path) for each in findings[:MAX_FINDINGS]]


def step(name: str | int) -> str:
    return "/" + str(name).replace("~", "~0").replace("/", "~1")
