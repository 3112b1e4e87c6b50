"""What `import kafkaesque` offers, and what it does not load."""

import subprocess
import sys
from importlib.metadata import version

import pytest

import kafkaesque
from kafkaesque.errors import KafkaError

LOADED = "import sys; print(sorted(name for name in sys.modules if name.startswith('kafkaesque')))"


def test_the_public_names_are_these() -> None:
    assert kafkaesque.__all__ == ["KafkaError", "__version__"]
    assert set(kafkaesque.__all__) <= set(dir(kafkaesque))


def test_a_public_name_is_the_thing_itself() -> None:
    assert kafkaesque.KafkaError is KafkaError
    assert kafkaesque.__version__ == version("kafkaesque-broker")


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="Nonsense"):
        _ = kafkaesque.Nonsense


def test_importing_the_package_loads_nothing_else_of_it() -> None:
    assert _run(f"import kafkaesque; {LOADED}") == "['kafkaesque']"


def test_using_a_name_loads_its_home() -> None:
    loaded = _run(f"from kafkaesque import KafkaError; {LOADED}")
    assert loaded == "['kafkaesque', 'kafkaesque.errors']"


def _run(program: str) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
