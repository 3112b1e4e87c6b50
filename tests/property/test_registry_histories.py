"""Random histories of decisions: their records, replayed or compacted, give the same catalog."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.registry_clients import avro

from kafkaesque.registry import changes as to
from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.decisions import Decide
from kafkaesque.registry.decisions.associating import Wish, associate, dissociate
from kafkaesque.registry.decisions.configuring import (
    delete_config,
    delete_mode,
    set_config,
    set_mode,
)
from kafkaesque.registry.decisions.deleting import (
    delete_context,
    delete_subject,
    delete_version,
)
from kafkaesque.registry.decisions.registering import Registration, register
from kafkaesque.registry.entries import Reference, Resource, Schema
from kafkaesque.registry.log_records import decode, encode
from kafkaesque.registry.problems import ProblemError
from kafkaesque.registry.schema_text import SchemaType

SUBJECTS = st.sampled_from(["a", "b", ":.eu:a", ":.us:b"])
SCOPES = st.one_of(st.none(), SUBJECTS, st.sampled_from([":.eu:", ":.us:"]))


def _rarely(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(*([st.none()] * 5), strategy)


NUMBERS = st.one_of(st.none(), st.integers(1, 4))
TEXTS = st.sampled_from(
    [avro(), avro("x:int=0"), avro("x:long=0"), avro("y:string"), avro("r:R=null", name="S")]
)
METADATA = st.one_of(st.none(), st.just({"properties": {"major": "1"}}))
REFERENCES = _rarely(st.builds(lambda it: (Reference("R", "a", it),), st.integers(1, 2))).map(
    lambda it: it or ()
)
SCHEMAS = st.builds(partial(Schema, SchemaType.AVRO), TEXTS, REFERENCES, METADATA)
REGISTRATIONS = st.builds(
    Registration,
    SUBJECTS,
    SCHEMAS,
    st.booleans(),
    _rarely(st.integers(1, 9)),
    _rarely(st.integers(1, 5)),
)
RESOURCES = st.builds(
    Resource,
    st.sampled_from(["t", "u"]),
    st.just("ns"),
    st.just("topic"),
    st.sampled_from(["key", "value"]),
)
WISHES = st.builds(
    Wish,
    RESOURCES,
    st.sampled_from(["id1", "id2"]),
    SUBJECTS,
    st.one_of(st.none(), st.booleans()),
    st.one_of(st.none(), st.booleans()),
    st.none(),
)
CONFIGS = st.sampled_from(
    [
        {"compatibility": "NONE"},
        {"compatibility": "FULL"},
        {"compatibilityGroup": "major"},
        {"defaultMetadata": {"properties": {"d": "1"}}},
        {"alias": "b", "compatibility": None},
    ]
)
MODES = st.sampled_from(["READWRITE", "IMPORT", "READONLY"])
FLAGS = st.booleans()


def _kept(decide: Callable[..., Any], **parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Decide]:
    return st.fixed_dictionaries(parts).map(lambda named: partial(decide, **named))


DECISIONS: st.SearchStrategy[Decide] = st.one_of(
    _kept(register, request=REGISTRATIONS),
    _kept(register, request=REGISTRATIONS),
    _kept(register, request=REGISTRATIONS),
    _kept(delete_subject, subject=SUBJECTS, permanent=FLAGS),
    _kept(delete_version, subject=SUBJECTS, number=NUMBERS, permanent=FLAGS),
    _kept(set_config, subject=SCOPES, body=CONFIGS),
    _kept(delete_config, subject=SCOPES),
    _kept(set_mode, subject=SCOPES, name=MODES, force=FLAGS),
    _kept(delete_mode, subject=SUBJECTS),
    _kept(delete_context, context=st.sampled_from([".eu", ".us"])),
    _kept(associate, wishes=st.lists(WISHES, min_size=1, max_size=2)),
    _kept(
        dissociate,
        resource_id=st.sampled_from(["id1", "id2"]),
        kind=st.none(),
        types=st.sampled_from([(), ("key",)]),
        cascade=FLAGS,
    ),
)
STEPS: st.SearchStrategy[list[Decide]] = st.one_of(
    DECISIONS.map(lambda it: [it]),
    DECISIONS.map(lambda it: [it]),
    # A subject that goes for good.
    SUBJECTS.map(
        lambda it: [partial(delete_subject, subject=it, permanent=it_is) for it_is in (False, True)]
    ),
)
Record = tuple[bytes, bytes | None]


def contents(catalog: Catalog) -> dict[str, Any]:
    """All that a catalog holds, whatever the order in which it came."""
    state = {name: value for name, value in vars(catalog).items() if name != "_places"}
    state["_places"] = {
        key: {place: version.id for place, version in places.items()}
        for key, places in catalog._places.items()
    }
    state["_subjects"] = {
        subject: {number: _facts(version) for number, version in versions.items()}
        for subject, versions in catalog._subjects.items()
    }
    state["_guids"] = {guid: set(ids) for guid, ids in catalog._guids.items()}
    return state


def _facts(version: Any) -> dict[str, Any]:
    return {**version.to_json(), "deleted": version.deleted}


def replayed(records: Sequence[Record]) -> Catalog:
    catalog = Catalog()
    for key, value in records:
        change = decode(key, value)
        if change is not None:
            catalog.apply(change)
    return catalog


def compacted(records: Sequence[Record]) -> list[Record]:
    """The last record of each key, in the order of the topic; tombstones go too."""
    last = {key: offset for offset, (key, _) in enumerate(records)}
    return [
        record
        for offset, record in enumerate(records)
        if last[record[0]] == offset and record[1] is not None
    ]


@given(st.lists(STEPS, max_size=25))
def test_a_history_replayed_or_compacted_gives_the_same_catalog(steps: list[list[Decide]]) -> None:
    history = [decide for step in steps for decide in step]
    catalog, records, ids = Catalog(), list[Record](), dict[tuple[str, int], str]()
    for decide in history:
        before = contents(catalog.copy())
        try:
            decision = decide(catalog)
        except ProblemError:
            assert contents(catalog) == before, "what is refused changes nothing"
            continue
        assert contents(catalog) == before, "a decision changes nothing by itself"
        twin = catalog.copy()
        for change in decision.changes:
            twin.apply(change)
            records.append(encode(change))
        assert contents(catalog) == before, "a copy changes by itself"
        catalog = twin
        _require_stable_ids(catalog, ids)
        for change in decision.changes:
            if isinstance(change, to.VersionRemoved):
                _require_remembered(catalog, records)
    assert contents(replayed(records)) == contents(catalog)
    assert contents(replayed(compacted(records))) == contents(catalog)
    assert contents(replayed(compacted(compacted(records)))) == contents(catalog)


def _require_stable_ids(catalog: Catalog, ids: dict[tuple[str, int], str]) -> None:
    for context, schema_id in list(catalog._places):
        schema = catalog.schema(context, schema_id)
        assert schema is not None
        assert ids.setdefault((context, schema_id), schema.guid) == schema.guid
        assert catalog.highest_id(context) >= schema_id


def _require_remembered(catalog: Catalog, records: Sequence[Record]) -> None:
    known = replayed(compacted(records))
    for context in (".", ".eu", ".us"):
        assert known.highest_id(context) == catalog.highest_id(context)
