"""From documents to nodes: every schema in them is found, and every `$ref` led to what it means.

    #, #/definitions/x     in the same resource, by JSON pointer (also into keywords we do not know)
    #name                  by $anchor, $dynamicAnchor, or up to draft 7 by an $id that is a fragment
    other.json#/x          a reference of the document by its name; else by $id; both also after the
                           document's own $id is put before them, as URIs are resolved

Nothing is ever fetched. $recursiveRef and $dynamicRef lead to the anchor in their own resource: a
schema where several documents answer to one dynamic anchor is refused, for there the leap decides.
A schema that leads back to itself without going into a value (a $ref to its own place, an anyOf
with itself as a branch) would check for ever and is refused; recursion through properties is fine.
Above: parse.py. Below: loading.py, nodes.py, patterns.py.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from kafkaesque.registry.jsonschema import patterns
from kafkaesque.registry.jsonschema.drafts import (
    IN_PLACE,
    IN_PLACE_LISTS,
    IN_PLACE_MAPS,
    REFERENCES,
    SCHEMA_LISTS,
    SCHEMA_MAPS,
    SCHEMAS,
    Draft,
    id_keyword,
    keywords,
)
from kafkaesque.registry.jsonschema.loading import Document, Schema, check, load, pointer
from kafkaesque.registry.jsonschema.nodes import FALSE, TRUE, Node
from kafkaesque.registry.schema_text import MAX_TEXT_BYTES, InvalidSchemaError, Referenced

MAX_DOCUMENTS = 500
MAX_ALL_BYTES = 8 * MAX_TEXT_BYTES
"""Of a schema and everything that it refers to."""

Path = tuple[str | int, ...]
_LEADING = frozenset((*IN_PLACE, *IN_PLACE_LISTS, *IN_PLACE_MAPS))


@dataclass(slots=True, eq=False)
class Resource:
    """A document with what it refers to by name, and the base that its references start from."""

    document: Document
    base: str
    known: "dict[str, Resource]" = field(default_factory=dict)


@dataclass(slots=True)
class Links:
    """What is found while the documents are walked."""

    resources: list[Resource] = field(default_factory=list)
    nodes: dict[int, Node] = field(default_factory=dict)
    roots: dict[str, tuple[Schema, Resource]] = field(default_factory=dict)
    anchors: dict[tuple[str, str], Schema] = field(default_factory=dict)
    dynamic: dict[str, str] = field(default_factory=dict)
    pending: list[tuple[dict[str, Any], str, str, Resource, str]] = field(default_factory=list)
    led: dict[int, dict[str, Schema]] = field(default_factory=dict)
    """Where the references of a schema lead, by the identity of its JSON."""
    expressions: set[str] = field(default_factory=set)

    def node(self, raw: Schema) -> Node:
        return (TRUE if raw else FALSE) if isinstance(raw, bool) else self.nodes[id(raw)]

    def walk(self, resource: Resource, raw: Schema, base: str, path: Path) -> None:
        waiting: list[tuple[Any, str, Path]] = [(raw, base, path)]
        draft = resource.document.draft
        while waiting:
            schema, outer, at = waiting.pop()
            if isinstance(schema, bool) or id(schema) in self.nodes:
                continue
            words = keywords(schema, draft)
            node = Node(words, draft, {}, self.nodes)
            self.nodes[id(schema)] = node
            inside = self._name(schema, words, outer, resource)
            self._check_patterns(words, at)
            for word in REFERENCES:
                if isinstance(words.get(word), str):
                    self.pending.append((schema, word, inside, resource, pointer(at)))
            inner = inner_schemas({**words, **_definitions(schema)}, draft)
            waiting.extend((each, inside, (*at, *step)) for step, each in inner)

    def _name(
        self, schema: dict[str, Any], words: dict[str, Any], base: str, resource: Resource
    ) -> str:
        """Registers $id and anchors; returns the base for what is inside."""
        named = words.get(id_keyword(resource.document.draft))
        if isinstance(named, str) and named.startswith("#"):
            self.anchors.setdefault((base, named[1:]), schema)
        elif isinstance(named, str):
            base = bare(join(base, named))
            self.roots.setdefault(base, (schema, resource))
        for word in ("$anchor", "$dynamicAnchor"):
            if resource.document.draft >= Draft.D2019 and isinstance(words.get(word), str):
                self.anchors.setdefault((base, words[word]), schema)
        if resource.document.draft is Draft.D2020 and "$dynamicAnchor" in words:
            self._claim(f"$dynamicAnchor {words['$dynamicAnchor']!r}", base)
        if resource.document.draft is Draft.D2019 and words.get("$recursiveAnchor") is True:
            self._claim("$recursiveAnchor", base)
        return base

    def _claim(self, anchor: str, base: str) -> None:
        if self.dynamic.setdefault(anchor, base) != base:
            raise InvalidSchemaError(
                f"{anchor} stands in {self.dynamic[anchor]!r} and in {base!r}: "
                "this registry cannot tell where it leads; use $ref and $anchor"
            )

    def _check_patterns(self, words: dict[str, Any], at: Path) -> None:
        found = [(words["pattern"], (*at, "pattern"))] if "pattern" in words else []
        found += [
            (text, (*at, "patternProperties", text)) for text in words.get("patternProperties", ())
        ]
        for text, where in found:
            if text not in self.expressions:
                patterns.check(text, pointer(where)[:200])
                self.expressions.add(text)
        if len(self.expressions) > patterns.MAX_PATTERNS:
            raise InvalidSchemaError(
                f"more than {patterns.MAX_PATTERNS} different regular expressions in one schema"
            )

    def settle(self) -> None:
        """Leads every reference to its node; what a pointer finds may bring new references."""
        while self.pending:
            schema, word, base, resource, where = self.pending.pop()
            text = schema[word]
            try:
                raw = self._target(text, base, resource)
            except InvalidSchemaError:
                raise
            except (LookupError, ValueError, TypeError):
                raise InvalidSchemaError(
                    f"{word} {text!r} at {where} leads nowhere: define it in the schema, or add a "
                    "reference of that name (nothing is fetched from the network)"
                ) from None
            self.led.setdefault(id(schema), {})[word] = raw
            self.nodes[id(schema)].targets[word] = self.node(raw)

    def _target(self, text: str, base: str, resource: Resource) -> Schema:
        plain, _ = urldefrag(text)
        full, fragment = urldefrag(join(base, text))
        root, home = self._root(plain, full, base, resource)
        fragment = unquote(fragment)
        if not fragment:
            return root
        uri = full if plain else base
        if not fragment.startswith("/"):
            found = self.anchors.get((uri, fragment))
            return self.anchors[home.base, fragment] if found is None else found
        raw: Schema
        raw, inside = follow(root, fragment, uri, home.document.draft)
        if isinstance(raw, dict) and id(raw) not in self.nodes:
            steps = tuple(fragment[1:].split("/"))
            check(raw, home.document.draft, steps)
            self.walk(home, raw, inside, steps)
        elif not isinstance(raw, dict | bool):
            raise LookupError(text)
        return raw

    def _root(
        self, plain: str, full: str, base: str, resource: Resource
    ) -> tuple[Schema, Resource]:
        if not plain:
            whole = (resource.document.root, resource)
            return whole if base == resource.base else self.roots.get(base, whole)
        short = plain.removeprefix("./")
        for name in (plain, short, full):
            if name in resource.known:
                return resource.known[name].document.root, resource.known[name]
        if full in self.roots:
            return self.roots[full]
        for known in (other.known for other in self.resources):
            for name in (plain, short, full):
                if name in known:
                    return known[name].document.root, known[name]
        raise LookupError(plain)


def inner_schemas(words: dict[str, Any], draft: Draft) -> Iterator[tuple[Path, Schema]]:
    """Every schema right below one, with the steps to it."""
    for word, value in words.items():
        if isinstance(value, list) and (word in SCHEMA_LISTS or word == "items"):
            for index, inner in enumerate(value):
                yield (word, index), inner
        elif isinstance(value, dict) and (word in SCHEMAS or word == "items"):
            yield (word,), value
        # Up to draft 7 no metaschema has looked at $defs: a $ref to one of them will.
        elif word in SCHEMA_MAPS and (word != "$defs" or draft >= Draft.D2019):
            for name, inner in value.items():
                if isinstance(inner, dict):
                    yield (word, name), inner


def _definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """Those beside a $ref count too: anchors stand in them."""
    return {"definitions": schema["definitions"]} if "definitions" in schema else {}


def join(base: str, text: str) -> str:
    """As urljoin, which knows no urn: `#x` stays in any base."""
    return bare(base) + text if text.startswith("#") else urljoin(base, text)


def bare(uri: str) -> str:
    return urldefrag(uri)[0]


def follow(root: Schema, fragment: str, base: str, draft: Draft) -> tuple[Any, str]:
    """By JSON pointer, with the base that holds at its end."""
    raw: Any = root
    for step in fragment[1:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        raw = raw[int(key)] if isinstance(raw, list) else raw[key]
        named = raw.get(id_keyword(draft)) if isinstance(raw, dict) else None
        if isinstance(named, str) and not named.startswith("#"):
            base = bare(join(base, named))
    return raw, base


def link(document: Document, references: Iterable[Referenced]) -> Links:
    """All nodes of a document and of what it refers to, with every reference led home."""
    links = Links()
    _collect(links, document, references)
    for resource in links.resources:
        root = resource.document.root
        links.roots.setdefault(resource.base, (root, resource))
        links.walk(resource, root, resource.base, ())
    links.settle()
    refuse_circles(links)
    return links


def _collect(links: Links, document: Document, references: Iterable[Referenced]) -> None:
    """The same reference, reached on two ways, is one document."""
    first = Resource(document, _base(document))
    links.resources.append(first)
    met: dict[tuple[str, str], Resource] = {}
    waiting = [(first, references)]
    size = 0
    while waiting:
        outer, inner = waiting.pop()
        for referenced in inner:
            key = (referenced.name, referenced.text)
            resource = met.get(key)
            if resource is None:
                size += len(referenced.text)
                if len(met) >= MAX_DOCUMENTS or size > MAX_ALL_BYTES:
                    raise InvalidSchemaError(
                        f"too much is referred to: at most {MAX_DOCUMENTS} schemas "
                        f"and {MAX_ALL_BYTES} bytes"
                    )
                loaded = load(referenced.text, referenced.name)
                resource = Resource(loaded, _base(loaded))
                met[key] = resource
                links.resources.append(resource)
                waiting.append((resource, referenced.references))
            for name in (
                referenced.name,
                referenced.name.removeprefix("./"),
                _beside(outer, referenced.name),
            ):
                outer.known.setdefault(name, resource)


def _base(document: Document) -> str:
    named = (
        document.root.get(id_keyword(document.draft)) if isinstance(document.root, dict) else None
    )
    try:
        return bare(join(document.name, named)) if isinstance(named, str) else bare(document.name)
    except ValueError:
        raise InvalidSchemaError(f"{named or document.name!r} is no URI") from None


def _beside(resource: Resource, name: str) -> str:
    try:
        return bare(join(resource.base, name))
    except ValueError:
        return name


def refuse_circles(links: Links) -> None:
    """Depth first, with its own stack: chains of references may be long."""
    done: set[int] = set()
    for start in links.nodes.values():
        if id(start) in done:
            continue
        on_way = {id(start)}
        stack = [(start, _in_place(start))]
        while stack:
            node, following = stack[-1]
            after = next(following, None)
            if after is None:
                stack.pop()
                on_way.discard(id(node))
                done.add(id(node))
            elif id(after) in on_way:
                raise InvalidSchemaError(_circle([each for each, _ in stack], after))
            elif id(after) not in done:
                on_way.add(id(after))
                stack.append((after, _in_place(after)))


def _circle(way: list[Node], back: Node) -> str:
    circle = way[[id(node) for node in way].index(id(back)) :]
    named = [str(node.words[word]) for node in circle for word in node.targets]
    return (
        "a schema leads back to itself without going into a value, by $ref "
        f"{' and '.join(named[:3])}: it could never be checked"
    )


def _in_place(node: Node) -> Iterator[Node]:
    yield from node.targets.values()
    if _LEADING.isdisjoint(node.words):
        return
    for word in IN_PLACE_LISTS:
        yield from node.several(word)
    for word in IN_PLACE:
        if word in node.words:
            yield node.child(node.words[word])
    for word in IN_PLACE_MAPS:
        for raw in node.words.get(word, {}).values():
            if isinstance(raw, dict | bool):
                yield node.child(raw)
