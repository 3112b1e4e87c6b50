"""Tables and JSON as commands print them."""

import pytest

from kafkaesque.cli.output import echo_json, echo_section, echo_table


def test_columns_line_up_and_no_line_ends_in_spaces(capsys: pytest.CaptureFixture[str]) -> None:
    echo_table(("NAME", "PARTITIONS"), [("a", 1), ("a-long-name", 12)])
    assert capsys.readouterr().out == (
        "NAME         PARTITIONS\n"  #
        "a            1\n"
        "a-long-name  12\n"
    )


def test_what_is_not_known_is_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    echo_table(("A", "B"), [(None, 0)])
    assert capsys.readouterr().out == "A  B\n-  0\n"


def test_an_empty_table_is_its_head(capsys: pytest.CaptureFixture[str]) -> None:
    echo_table(("NAME", "PARTITIONS"), [])
    assert capsys.readouterr().out == "NAME  PARTITIONS\n"


def test_a_section_is_underlined(capsys: pytest.CaptureFixture[str]) -> None:
    echo_section("SUMMARY")
    assert capsys.readouterr().out == "SUMMARY\n=======\n"


def test_json_keeps_letters_readable(capsys: pytest.CaptureFixture[str]) -> None:
    echo_json([{"name": "größe", "partitions": None}])
    assert (
        capsys.readouterr().out == '[\n  {\n    "name": "größe",\n    "partitions": null\n  }\n]\n'
    )
