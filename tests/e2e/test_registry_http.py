"""The registry's REST API as raw HTTP: what Java and Go ask for and Python's clients do not, and
each of Confluent's error codes at least once."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from tests.broker_process import BrokerProcess
from tests.registry_clients import BREAKING, V1, V2, avro, fresh
from tests.registry_process import RegistryProcess

MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    directory = tmp_path_factory.mktemp("registry")
    with (
        BrokerProcess(directory / "data") as broker,
        RegistryProcess(broker.bootstrap, directory / "registry.log") as running,
        httpx.Client(base_url=running.url, timeout=60) as client,
    ):
        client.post("/subjects/known/versions", json={"schema": V1})
        client.post("/subjects/known/versions", json={"schema": V2})
        yield client
        assert "Traceback" not in running.log


def register(http: httpx.Client, subject: str, text: str = V1, **fields: Any) -> int:
    path = f"/subjects/{quote(subject, safe='')}/versions"
    answer = http.post(path, json={"schema": text, **fields})
    assert answer.status_code == 200, answer.text
    schema_id: int = answer.json()["id"]
    return schema_id


@pytest.mark.slow
def test_answers_have_confluents_media_type(http: httpx.Client) -> None:
    for path in ("/", "/subjects", "/schemas/ids/1", "/config", "/nowhere"):
        assert http.get(path).headers["content-type"] == MEDIA_TYPE
    assert http.get("/").json() == {}


def test_all_versions_are_listed(http: httpx.Client) -> None:
    prefix = fresh("all")
    for subject in (f"{prefix}-a", f"{prefix}-b"):
        register(http, subject, V1)
        register(http, subject, V2)
    every = http.get("/schemas", params={"subjectPrefix": prefix}).json()
    places = [(it["subject"], it["version"]) for it in every]
    assert places == [(f"{prefix}-{letter}", number) for letter in "ab" for number in (1, 2)]
    assert every[0].keys() == {"subject", "version", "id", "guid", "schema"}
    latest = {"subjectPrefix": prefix, "latestOnly": "true"}
    assert [it["version"] for it in http.get("/schemas", params=latest).json()] == [2, 2]
    page = http.get("/schemas", params={"subjectPrefix": prefix, "offset": 1, "limit": 2}).json()
    assert page == every[1:3]
    http.delete(f"/subjects/{prefix}-a")
    assert len(http.get("/schemas", params={"subjectPrefix": prefix}).json()) == 2
    deleted = {"subjectPrefix": prefix, "deleted": "true"}
    assert len(http.get("/schemas", params=deleted).json()) == 4


def test_the_text_alone_can_be_asked_for(http: httpx.Client) -> None:
    subject = fresh("text")
    schema_id = register(http, subject)
    stored = http.get(f"/schemas/ids/{schema_id}").json()["schema"]
    for path in (
        f"/schemas/ids/{schema_id}/schema",
        f"/subjects/{subject}/versions/1/schema",
        f"/subjects/{subject}/versions/latest/schema",
        f"/subjects/{subject}/versions/-1/schema",
    ):
        assert http.get(path).text == stored
    assert json.loads(stored) == json.loads(V1)


def test_a_schema_tells_the_highest_id_and_its_ids_by_guid(http: httpx.Client) -> None:
    context = f".{fresh('max')}"
    ids = [register(http, f":{context}:s", text) for text in (V1, V2)]
    path = f"/contexts/{context}/schemas/ids/{ids[0]}"
    assert http.get(path, params={"fetchMaxId": "true"}).json()["maxId"] == ids[1]
    guid = http.get(path).json()["guid"]
    places = http.get(f"/schemas/guids/{guid}/ids").json()
    assert {"context": context, "id": ids[0]} in places
    assert all(it.keys() == {"context", "id"} for it in places)


def test_a_context_is_a_registry_in_the_registry(http: httpx.Client) -> None:
    name = fresh("eu")
    base = f"/contexts/.{name}"
    assert http.post(f"{base}/subjects/s/versions", json={"schema": V1}).json()["id"] == 1
    assert http.get(f"{base}/subjects").json() == ["s"]
    assert http.get(f"/contexts/:.{name}:/subjects").json() == ["s"]
    assert http.get(f"{base}/subjects/s/versions").json() == [1]
    qualified = f":.{name}:s"
    assert http.get(f"/subjects/{quote(qualified, safe='')}/versions").json() == [1]
    assert qualified in http.get("/subjects").json()
    assert http.get(f"{base}/schemas/ids/1/subjects").json() == [qualified]
    # Config and mode of a context hold for its subjects, and for no other.
    assert http.put(f"{base}/config", json={"compatibility": "NONE"}).status_code == 200
    assert http.get(f"{base}/config").json()["compatibilityLevel"] == "NONE"
    assert http.get("/config").json()["compatibilityLevel"] == "BACKWARD"
    asked = http.get(f"{base}/config/s", params={"defaultToGlobal": "true"})
    assert asked.json()["compatibilityLevel"] == "NONE"
    assert http.post(f"{base}/subjects/s/versions", json={"schema": BREAKING}).status_code == 200
    assert http.put(f"{base}/mode", json={"mode": "READONLY"}).status_code == 200
    refused = http.post(f"{base}/subjects/s/versions", json={"schema": V2})
    assert refused.json()["error_code"] == 42205
    assert register(http, fresh("outside"))
    refused = http.delete(f"/contexts/.{name}")
    assert refused.json()["error_code"] in (42205, 42211)


def test_an_empty_context_can_be_deleted(http: httpx.Client) -> None:
    name = fresh("empty")
    subject = f"/contexts/.{name}/subjects/s"
    http.post(f"{subject}/versions", json={"schema": V1})
    http.put(f"/contexts/.{name}/config", json={"compatibility": "NONE"})
    assert http.delete(f"/contexts/.{name}").json()["error_code"] == 42211
    http.delete(subject)
    http.delete(subject, params={"permanent": "true"})
    assert http.delete(f"/contexts/.{name}").status_code == 204
    assert f".{name}" not in http.get("/contexts").json()
    asked = http.get(f"/config/:.{name}:", params={"defaultToGlobal": "true"})
    assert asked.json()["compatibilityLevel"] == "BACKWARD"


def test_a_check_tells_why_only_when_asked(http: httpx.Client) -> None:
    path = "/compatibility/subjects/known/versions"
    for where in (f"{path}/1", f"{path}/latest", path):
        plain = http.post(where, json={"schema": avro("symbol:long")}).json()
        assert plain == {"is_compatible": False}
        verbose = http.post(
            where, json={"schema": avro("symbol:long")}, params={"verbose": "true"}
        ).json()
        assert "symbol" in " ".join(verbose["messages"])
        fits = http.post(where, json={"schema": V2}, params={"verbose": "true"}).json()
        assert fits == {"is_compatible": True, "messages": []}


def test_import_mode_takes_ids_and_versions(http: httpx.Client) -> None:
    context = f"/contexts/.{fresh('import')}"
    http.put(f"{context}/mode", json={"mode": "IMPORT"})
    body = {"schema": V1, "id": 4242, "version": 7}
    answer = http.post(f"{context}/subjects/s/versions", json=body)
    assert answer.json()["id"] == 4242
    assert http.get(f"{context}/subjects/s/versions").json() == [7]
    clash = http.post(f"{context}/subjects/s/versions", json={"schema": V2, "id": 4242})
    assert clash.json()["error_code"] == 42205
    http.put(f"{context}/mode", json={"mode": "READWRITE"})
    after = http.post(f"{context}/subjects/s/versions", json={"schema": V2}).json()
    assert (after["id"], after["version"]) == (4243, 8)


def test_an_alias_stands_for_another_subject(http: httpx.Client) -> None:
    subject, alias = fresh("meant"), fresh("alias")
    schema_id = register(http, subject)
    assert http.put(f"/config/{alias}", json={"alias": subject}).status_code == 200
    found = http.get(f"/subjects/{alias}/versions/latest").json()
    assert (found["subject"], found["id"]) == (subject, schema_id)


def test_modes_and_levels_fall_back(http: httpx.Client) -> None:
    subject = fresh("fallback")
    everywhere = {"defaultToGlobal": "true"}
    assert http.get(f"/mode/{subject}", params=everywhere).json() == {"mode": "READWRITE"}
    level = http.get(f"/config/{subject}", params=everywhere).json()["compatibilityLevel"]
    assert level == "BACKWARD"
    put = http.put(f"/config/{subject}", json={"compatibility": "FULL"})
    assert put.json() == {"compatibility": "FULL"}
    assert http.get(f"/config/{subject}").json() == {"compatibilityLevel": "FULL"}
    assert http.delete(f"/config/{subject}").json() == {"compatibilityLevel": "FULL"}


def test_the_registry_tells_of_itself(http: httpx.Client) -> None:
    assert http.get("/v1/metadata/id").json()["scope"]
    assert http.get("/v1/metadata/version").json()["version"]
    assert http.get("/health").json()["status"] == "ok"
    page = http.get("/metrics").text
    assert 'kafkaesque_registry_requests_total{method="GET",status="200"}' in page
    assert http.head("/subjects").status_code == 200
    assert http.head("/subjects").content == b""


def test_paths_and_methods_that_are_not_there(http: httpx.Client) -> None:
    for method, path, code in (
        ("GET", "/nowhere", 404),
        ("GET", "/subjects/a/b/c/d", 404),
        ("DELETE", "/mode", 405),
        ("PATCH", "/subjects", 405),
        ("POST", "/schemas/ids/1", 405),
    ):
        answer = http.request(method, path)
        assert answer.status_code == code
        assert answer.json()["error_code"] == code
        assert answer.json()["message"]
    # A slash at the end is forgiven.
    assert http.get("/subjects/").status_code == 200


@dataclass(frozen=True)
class Wrong:
    """A request that is refused with a code. Those `before` it are not."""

    code: int
    method: str
    path: str
    body: Any = None
    before: tuple[tuple[str, str], ...] = ()


_NEW = {"schema": V1}
_DELETE = ("DELETE", "/subjects/{s}")
_DELETE_VERSION = ("DELETE", "/subjects/{s}/versions/1")
_BAD_REFERENCE = {"schema": V1, "references": [{"name": "X"}]}
_REFUSED = [
    Wrong(40401, "GET", "/subjects/nobody/versions"),
    Wrong(40401, "GET", "/subjects/nobody/versions/latest"),
    Wrong(40401, "DELETE", "/subjects/nobody"),
    Wrong(40401, "POST", "/subjects/nobody", _NEW),
    Wrong(40401, "GET", "/subjects/nobody/versions/1/referencedby"),
    Wrong(40401, "DELETE", "/config/nobody"),
    Wrong(40401, "DELETE", "/mode/nobody"),
    Wrong(40402, "GET", "/subjects/known/versions/99"),
    Wrong(40402, "DELETE", "/subjects/known/versions/99"),
    Wrong(40402, "POST", "/compatibility/subjects/known/versions/99", _NEW),
    Wrong(40403, "GET", "/schemas/ids/99999"),
    Wrong(40403, "GET", "/schemas/ids/0"),
    Wrong(40403, "GET", "/schemas/ids/99999/versions"),
    Wrong(40403, "GET", "/schemas/guids/no-guid"),
    Wrong(40403, "POST", "/subjects/known", {"schema": avro("never:int")}),
    Wrong(40404, "DELETE", "/subjects/{s}", before=(_DELETE,)),
    Wrong(40405, "DELETE", "/subjects/{s}?permanent=true"),
    Wrong(40406, *_DELETE_VERSION, before=(_DELETE_VERSION,)),
    Wrong(40407, "DELETE", "/subjects/{s}/versions/1?permanent=true"),
    Wrong(40408, "GET", "/config/nobody"),
    Wrong(40409, "GET", "/mode/nobody"),
    Wrong(40901, "POST", "/subjects/{s}/versions", {"schema": BREAKING}),
    Wrong(42201, "POST", "/subjects/{s}/versions", {"schema": "{"}),
    Wrong(42201, "POST", "/subjects/{s}/versions", {"schema": '{"type":"record"}'}),
    Wrong(42201, "POST", "/subjects/{s}/versions", {"schema": ""}),
    Wrong(42201, "POST", "/subjects/{s}/versions", {}),
    Wrong(42201, "POST", "/subjects/{s}/versions", {"schema": V1, "schemaType": "XML"}),
    Wrong(42201, "POST", "/subjects/{s}/versions", {"schema": V1, "schemaType": ["AVRO"]}),
    Wrong(42201, "POST", "/subjects/{s}/versions", {"schema": {"type": "int"}}),
    Wrong(42201, "POST", "/subjects/{s}/versions", _BAD_REFERENCE),
    Wrong(42201, "POST", "/subjects/{s}/versions", {"schema": V1, "references": 7}),
    Wrong(42202, "GET", "/subjects/known/versions/0"),
    Wrong(42202, "GET", "/subjects/known/versions/earliest"),
    Wrong(42202, "GET", "/subjects/known/versions/2147483648"),
    Wrong(42202, "GET", "/subjects/known/versions/99999999999999999999"),
    Wrong(42202, "GET", "/subjects/known/versions/%C2%B2"),
    Wrong(42202, "DELETE", "/subjects/known/versions/-2"),
    Wrong(42203, "PUT", "/config", {"compatibility": "SIDEWAYS"}),
    Wrong(42203, "PUT", "/config/known", {}),
    Wrong(42204, "PUT", "/mode", {"mode": "SIDEWAYS"}),
    Wrong(42204, "PUT", "/mode/known", {}),
    Wrong(42205, "PUT", "/mode/known", {"mode": "IMPORT"}),
    Wrong(42205, "POST", "/subjects/{s}/versions", {"schema": V2, "id": 77_000}),
    Wrong(42207, "POST", "/subjects/{s}/versions", {"schema": V1, "id": 77_000}),
    Wrong(42208, "POST", "/subjects/a%00b/versions", _NEW),
    Wrong(42208, "POST", "/subjects/a%0Ab/versions", _NEW),
    Wrong(42208, "POST", "/subjects/__GLOBAL/versions", _NEW),
    Wrong(42208, "PUT", "/mode/a%1Fb", {"mode": "READONLY"}),
    Wrong(42211, "DELETE", "/contexts/%2E"),
    Wrong(42212, "POST", "/associations", {}),
    Wrong(400, "POST", "/subjects/{s}/versions", []),
    Wrong(400, "POST", "/subjects/{s}/versions", "text"),
    Wrong(400, "PUT", "/config", None),
    Wrong(400, "PUT", "/config", {"normalize": "yes"}),
    Wrong(400, "GET", "/subjects?limit=many"),
    Wrong(400, "GET", "/schemas/ids/one"),
    Wrong(400, "GET", "/schemas/ids/-1"),
    Wrong(400, "POST", "/subjects/{s}/versions", {"schema": V1, "id": "one"}),
    Wrong(400, "POST", "/subjects/{s}/versions", {"schema": V1, "metadata": []}),
    Wrong(400, "GET", "/subjects/known/metadata?key=a"),
]


@pytest.mark.parametrize("wrong", _REFUSED, ids=lambda it: f"{it.code} {it.method} {it.path}")
def test_what_is_wrong_is_refused_by_confluents_code(http: httpx.Client, wrong: Wrong) -> None:
    subject = fresh("wrong")
    if "{s}" in wrong.path:
        register(http, subject)
    for method, path in wrong.before:
        assert http.request(method, path.format(s=subject)).status_code == 200
    body = {} if wrong.body is None else {"json": wrong.body}
    answer = http.request(wrong.method, wrong.path.replace("{s}", subject), **body)
    assert answer.json().keys() == {"error_code", "message"}
    assert answer.json()["error_code"] == wrong.code, answer.text
    assert str(wrong.code).startswith(str(answer.status_code))


def test_a_reference_that_is_used_cannot_be_deleted(http: httpx.Client) -> None:
    inner, outer = fresh("inner"), fresh("outer")
    register(http, inner, avro("v:double", name="Price"))
    reference = {"name": "Price", "subject": inner, "version": 1}
    register(http, outer, avro("p:Price", name="Offer"), references=[reference])
    for path in (f"/subjects/{inner}", f"/subjects/{inner}/versions/1"):
        assert http.delete(path).json()["error_code"] == 42206


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff\xfe", b'{"schema": "\\ud800"}', b'{"schema": "\xff"}', b"nul\x00"]
)
def test_a_body_that_is_no_json_is_refused(http: httpx.Client, body: bytes) -> None:
    answer = http.post("/subjects/known/versions", content=body)
    assert (answer.status_code, answer.json()["error_code"]) == (400, 400)
