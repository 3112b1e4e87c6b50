"""Tables, JSON and YAML as commands print them."""

import pytest

from kafkaesque.cli.output import Format, echo_data, echo_grid, echo_section, echo_table


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
    echo_data([{"name": "größe", "partitions": None}], Format.JSON)
    assert (
        capsys.readouterr().out == '[\n  {\n    "name": "größe",\n    "partitions": null\n  }\n]\n'
    )


def test_yaml_keeps_letters_readable_and_the_order_of_keys(
    capsys: pytest.CaptureFixture[str],
) -> None:
    echo_data([{"name": "größe", "a": None, "on": "yes"}], Format.YAML)
    assert capsys.readouterr().out == "- name: größe\n  a: null\n  'on': 'yes'\n"


def test_a_grid_pads_every_cell_and_begins_with_two_spaces(
    capsys: pytest.CaptureFixture[str],
) -> None:
    echo_grid([("NAME", "N"), ("a", None)])
    assert capsys.readouterr().out == "  NAME  N  \n  a     -  \n"


def test_a_column_of_a_grid_is_never_narrower_than_in_the_table_above(
    capsys: pytest.CaptureFixture[str],
) -> None:
    echo_grid([("long name", "b"), ("x",)], [("y", "wide cell", "c"), ("z", 1, 2)])
    assert capsys.readouterr().out.splitlines() == [
        "  long name  b  ",
        "  x          ",
        "  y          wide cell  c  ",
        "  z          1          2  ",
    ]
