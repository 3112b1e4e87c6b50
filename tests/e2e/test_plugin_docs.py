"""What docs/howto/testing.md shows works as it is shown."""

import re
from pathlib import Path

import pytest
from tests.inner_pytest import run_pytest

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "testing.md"

ASK_FOR_A_NEW_TOPIC = """
from confluent_kafka.admin import AdminClient

def test_it(kafka):
    client = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    assert not client.list_topics("new", timeout=60).topics["new"].partitions
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    tests = blocks("python")
    count = sum(text.count("def test_") for text in tests)
    assert count > 5
    said = run_pytest(tmp_path, {f"test_{n}.py": text for n, text in enumerate(tests)})
    assert f"{count} passed" in said, said


def test_the_ini_file_of_the_page_is_understood(tmp_path: Path) -> None:
    (ini,) = blocks("ini")
    said = run_pytest(tmp_path, {"pytest.ini": ini, "test_it.py": ASK_FOR_A_NEW_TOPIC})
    assert "1 passed" in said, said
