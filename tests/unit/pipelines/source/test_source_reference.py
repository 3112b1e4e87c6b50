"""The reference has every option of the source, and what it shows is understood."""

import re
from pathlib import Path

from kafkaesque.pipelines.source.options import NAMES, decode_options, stream_options

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "spark.md"


def test_every_option_is_in_the_reference() -> None:
    tables = "".join(line for line in PAGE.read_text().splitlines(True) if line.startswith("|"))
    quoted = set(re.findall(r"`([^`]+)`", tables))
    assert {*NAMES} - quoted == set()


def test_the_example_is_understood() -> None:
    example = PAGE.read_text().partition("```python")[2].partition("```")[0]
    given = dict(re.findall(r'\.option\("([^"]+)", "([^"]+)"\)', example))
    assert stream_options(given).selection.topics == ("stock_json_topic",)
    assert decode_options(given) is not None
