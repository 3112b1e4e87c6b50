"""Names that ask for other names, and names that ask for a schema: dependencies and its heirs.

Above: compare_objects.py. Below: facts.py.
"""

from typing import TYPE_CHECKING

from kafkaesque.registry.jsonschema.facts import Facts, closed
from kafkaesque.registry.jsonschema.findings import Findings, finding, step, under
from kafkaesque.registry.jsonschema.nodes import FALSE, Node
from kafkaesque.registry.jsonschema.values import shown

if TYPE_CHECKING:
    from kafkaesque.registry.jsonschema.compare import Comparison


def compare_dependencies(comparison: "Comparison", writer: Facts, reader: Node) -> Findings:
    found: Findings = []
    for word in ("dependencies", "dependentRequired", "dependentSchemas"):
        for name, asked in reader.words.get(word, {}).items():
            comparison.budget.step()
            path = step(word) + step(name)
            if isinstance(asked, list):
                found += _compare_names(writer, name, asked, path)
            else:
                found += _compare_schema(comparison, writer, name, reader.child(asked), path)
    return found


def _asked_names(writer: Facts, name: str) -> list[list[str]]:
    both = [
        part.words.get(word, {}).get(name)
        for part in writer.parts
        for word in ("dependencies", "dependentRequired")
    ]
    return [names for names in both if isinstance(names, list)]


def _asked_schemas(writer: Facts, name: str) -> list[Node]:
    return [
        part.child(part.words[word][name])
        for part in writer.parts
        for word in ("dependencies", "dependentSchemas")
        if isinstance(part.words.get(word, {}).get(name), dict | bool)
    ]


def _compare_names(writer: Facts, name: str, asked: list[str], path: str) -> Findings:
    lists = _asked_names(writer, name)
    known = {each for names in lists for each in names}
    missing = [
        each for each in asked if each not in known and each not in writer.required and each != name
    ]
    if not missing or _never_written(writer, name):
        return []
    if not lists:
        kind = "DEPENDENCY_ARRAY_ADDED"
    else:
        kind = "DEPENDENCY_ARRAY_EXTENDED" if known <= set(asked) else "DEPENDENCY_ARRAY_CHANGED"
    others = ", ".join(shown(each) for each in missing[:5])
    return finding(
        kind,
        path,
        f"the reader wants {others} beside property {shown(name)}, the writer may write it alone",
    )


def _compare_schema(
    comparison: "Comparison", writer: Facts, name: str, asked: Node, path: str
) -> Findings:
    if _never_written(writer, name):
        return []
    known = _asked_schemas(writer, name)
    found = comparison.compare((*writer.nodes, *known), asked)
    if not found or known:
        return under(path, found)
    message = f"the reader asks more of objects with property {shown(name)}: {found[0].message}"
    return finding("DEPENDENCY_SCHEMA_ADDED", path, message)


def _never_written(writer: Facts, name: str) -> bool:
    for part in writer.parts:
        own = part.words.get("properties", {})
        if name in own and part.child(own[name]) is FALSE:
            return True
        if name not in own and closed(part):
            return True
    return False
