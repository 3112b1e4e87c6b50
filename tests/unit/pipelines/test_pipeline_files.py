"""Files of pipelines: what is found in them, and what is wrong with them. No Spark is started."""

import re
from pathlib import Path

import pytest

from kafkaesque.cli.pipeline.template import template
from kafkaesque.pipelines import TopicSink, TopicSource
from kafkaesque.pipelines.declaring import pipeline
from kafkaesque.pipelines.failures import PipelineError
from kafkaesque.pipelines.files import load

HEAD = "from kafkaesque.pipelines import TopicSink, TopicSource, pipeline\n"
GOOD = f"""{HEAD}
orders = TopicSource("orders")
large = TopicSink("large")

@pipeline(to="large")
def large_orders(orders):
    return orders
"""


def written(directory: Path, text: str, name: str = "orders_file") -> Path:
    path = directory / f"{name}.py"
    path.write_text(text)
    return path


def test_names_are_found_among_the_variables_of_the_file(tmp_path: Path) -> None:
    found = load(written(tmp_path, GOOD))
    assert found.name == "orders_file"
    (flow,) = found.flows
    assert flow.pipeline.name == "large_orders"
    assert flow.sources == {"orders": TopicSource("orders")}
    assert flow.sink == TopicSink("large")


def test_what_new_writes_is_a_file_of_pipelines(tmp_path: Path) -> None:
    found = load(written(tmp_path, template("prices", "ticks"), "prices"))
    (flow,) = found.flows
    assert flow.pipeline.mode == "update"
    assert flow.sources["source"].topic == "ticks"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (HEAD, "has no pipeline"),
        ("orders = 1\nlarge = ordres\n", "orders_file.py, line 2: NameError: name 'ordres'"),
        ("def orders(:\n", "SyntaxError"),
        (GOOD.replace("def large_orders(orders)", "def large_orders(order)"), "mean orders?"),
        (GOOD.replace('to="large"', 'to="elsewhere"'), 'write elsewhere = TopicSink("orders")'),
        (GOOD.replace('to="large"', 'to="orders"'), "no sink of that name"),
        (GOOD.replace("def large_orders(orders)", "def large_orders()"), "reads nothing"),
        (GOOD.replace('to="large"', 'to="large", mode="often"'), "no mode 'often'"),
        (
            GOOD + '\n@pipeline(to="large")\ndef others(orders):\n    return orders\n',
            "large_orders and others both write to 'large'",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_cure(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(PipelineError, match=re.escape(problem)):
        load(written(tmp_path, text))


def test_what_is_no_file_of_pipelines_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="there is no file"):
        load(tmp_path / "absent.py")
    with pytest.raises(PipelineError, match=r"ends in \.py"):
        load(tmp_path / "my-orders.py")


def test_a_pipeline_can_be_called_as_the_function_it_is() -> None:
    @pipeline(to="anywhere")
    def doubled(number):  # type: ignore[no-untyped-def]
        return number * 2

    assert doubled(4) == 8  # type: ignore[arg-type, comparison-overlap]
