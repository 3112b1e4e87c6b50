"""What the `schema` commands are given, without a registry: places, types, references, refusals."""

from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from tests.unit.cli.conftest import Result

from kafkaesque.cli.schema.failures import refusal
from kafkaesque.cli.schema.listing import spans
from kafkaesque.cli.schema.names import parse_place, parse_version
from kafkaesque.cli.schema.schema_input import SchemaType, parse_reference, type_of


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("orders-value", ("orders-value", "latest")),
        ("orders-value:3", ("orders-value", 3)),
        ("orders-value:latest", ("orders-value", "latest")),
        (":.sales:orders-value", (":.sales:orders-value", "latest")),
        (":.sales:orders-value:12", (":.sales:orders-value", 12)),
        ("orders:value", ("orders:value", "latest")),
    ],
)
def test_a_place_is_a_subject_and_perhaps_a_version(text: str, place: object) -> None:
    assert parse_place(text) == place


@pytest.mark.parametrize("text", ["0", "-1", "newest", "1.5", "²", ""])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="no version"):
        parse_version(text)


@pytest.mark.parametrize(
    ("name", "said", "found"),
    [
        ("tick.avsc", None, "AVRO"),
        ("tick.json", None, "JSON"),
        ("tick.PROTO", None, "PROTOBUF"),
        ("tick.json", SchemaType.AVRO, "AVRO"),
        ("-", SchemaType.JSON, "JSON"),
    ],
)
def test_the_type_is_said_or_known_by_the_name(
    name: str, said: SchemaType | None, found: str
) -> None:
    assert type_of(Path(name), said) == found


@pytest.mark.parametrize("name", ["-", "tick", "tick.txt"])
def test_a_type_that_nobody_knows_has_to_be_said(name: str) -> None:
    with pytest.raises(typer.BadParameter, match="say AVRO, JSON or PROTOBUF"):
        type_of(Path(name), None)


def test_a_reference_names_a_version() -> None:
    assert parse_reference("m.Money=:.a:money:2") == ("m.Money", ":.a:money", 2)
    for text in ("m.Money", "m.Money=money", "=money:1", "m.Money=money:x", "m.Money=:1"):
        with pytest.raises(typer.BadParameter, match="NAME=SUBJECT:VERSION"):
            parse_reference(text)


@pytest.mark.parametrize(
    ("versions", "text"),
    [([], ""), ([1], "1"), ([3, 1, 2], "1-3"), ([1, 2, 5, 7, 8], "1-2,5,7-8")],
)
def test_versions_that_follow_each_other_are_one_span(versions: list[int], text: str) -> None:
    assert spans(versions) == text


def test_a_refusal_is_one_line_with_a_cure() -> None:
    assert refusal("Subject 'a'\nnot found.", 40401, 404) == (
        "Subject 'a' not found: see which there are with `kafkaesque schema list`"
    )
    assert "--registry-user" in refusal("Unauthorized", 401, 401)
    assert refusal("out of order", 50001, 500) == "out of order"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["get"], "give one of SUBJECT, --id and --guid"),
        (["get", "a", "--id", "1"], "give one of SUBJECT, --id and --guid"),
        (["get", "a", "--resolved", "--serialized"], "not both"),
        (["check", "a", "--file", "a.avsc", "--all", "--version", "1"], "not both"),
        (["diff", "a", "1", "2", "--file", "a.avsc"], "one version is enough"),
        (["config", "--set", "SIDEWAYS"], "SIDEWAYS"),
        (["config", "a", "--set", "FULL", "--unset"], "not both"),
        (["mode", "--unset"], "give a SUBJECT"),
        (["list", "--registry", "127.0.0.1:8081"], "write it as in http://127.0.0.1:8081"),
        (["list", "--registry-password", "x"], "--registry-user"),
        (["delete", "a", "--version", "x"], "no version"),
    ],
)
def test_a_wrong_command_line_is_told(
    run: Callable[..., Result], args: list[str], message: str
) -> None:
    result = run("schema", *args)
    assert (result.exit_code, result.out) == (2, "")
    assert message in " ".join(result.err.split())


def test_a_file_that_is_not_there_is_told(run: Callable[..., Result]) -> None:
    result = run("schema", "register", "a", "--file", "none.avsc")
    assert result.exit_code == 1
    assert "cannot read none.avsc" in result.err


def test_a_registry_that_is_away_is_told(run: Callable[..., Result]) -> None:
    result = run("schema", "list", "--registry", "http://127.0.0.1:1")
    assert (result.exit_code, result.out) == (1, "")
    assert result.err.startswith("kafkaesque: no schema registry answers at http://127.0.0.1:1 ")
    assert result.err.count("\n") == 1


def test_all_seven_levels_are_explained(run: Callable[..., Result]) -> None:
    out = run("schema", "config", "--help").out
    for level in ("BACKWARD", "FORWARD", "FULL"):
        assert f"  {level}  " in out
        assert f"  {level}_TRANSITIVE  " in out
    assert "  NONE  " in out
