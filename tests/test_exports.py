"""What `import kafkaesque` offers, and what it does not load."""

import subprocess
import sys
from importlib.metadata import version

import pytest

import kafkaesque
from kafkaesque.client.app import App
from kafkaesque.client.consumer import Consumer
from kafkaesque.client.producer import Producer
from kafkaesque.client.table import Table
from kafkaesque.embedded.group import ConsumerGroup
from kafkaesque.embedded.kafkaesque import Kafkaesque
from kafkaesque.embedded.topic import Topic
from kafkaesque.errors import KafkaError
from kafkaesque.event import Event

LOADED = "import sys; print(sorted(name for name in sys.modules if name.startswith('kafkaesque')))"


def test_the_public_names_are_these() -> None:
    classes = ["App", "Consumer", "ConsumerGroup", "Event", "KafkaError", "Kafkaesque"]
    assert kafkaesque.__all__ == [*classes, "Producer", "Table", "Topic", "__version__"]
    assert set(kafkaesque.__all__) <= set(dir(kafkaesque))


def test_a_public_name_is_the_thing_itself() -> None:
    assert kafkaesque.App is App
    assert kafkaesque.Consumer is Consumer
    assert kafkaesque.ConsumerGroup is ConsumerGroup
    assert kafkaesque.Event is Event
    assert kafkaesque.KafkaError is KafkaError
    assert kafkaesque.Kafkaesque is Kafkaesque
    assert kafkaesque.Producer is Producer
    assert kafkaesque.Table is Table
    assert kafkaesque.Topic is Topic
    assert kafkaesque.__version__ == version("kafkaesque-broker")


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="Nonsense"):
        _ = kafkaesque.Nonsense


def test_importing_the_package_loads_nothing_else_of_it() -> None:
    assert _run(f"import kafkaesque; {LOADED}") == "['kafkaesque']"


def test_using_a_name_loads_its_home() -> None:
    loaded = _run(f"from kafkaesque import KafkaError; {LOADED}")
    assert loaded == "['kafkaesque', 'kafkaesque.errors']"


def test_an_event_needs_no_client_library() -> None:
    loaded = _run(f"from kafkaesque import Event; {LOADED}")
    assert loaded == "['kafkaesque', 'kafkaesque.event']"


def test_a_client_loads_no_broker_and_no_pydantic() -> None:
    program = (
        "import sys; from kafkaesque import Consumer, Producer, Table\n"
        "print({'kafkaesque.broker', 'kafkaesque.log', 'pydantic', 'typer'} & set(sys.modules))"
    )
    assert _run(program) == "set()"


def test_a_kafkaesque_needs_no_client_library() -> None:
    program = (
        "import sys; from kafkaesque import Kafkaesque\n"
        "k = Kafkaesque(); k.put('t', 1); k.close()\n"
        "print({'confluent_kafka', 'typer', 'rich', 'pandas', 'yaml'} & set(sys.modules))"
    )
    assert _run(program) == "set()"


def _run(program: str) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
