"""The examples of docs/reference/http.md and docs/howto/http.md, run as they stand there."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.broker_process import BrokerProcess
from tests.gateway_process import GatewayProcess

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"
SHOWN = "http://127.0.0.1:8082"
TIMES = re.compile(r'"timestamp":\d+')


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    path = tmp_path_factory.mktemp("gateway")
    with (
        BrokerProcess(path / "data") as broker,
        GatewayProcess(broker.bootstrap, path / "log") as gateway,
    ):
        yield gateway


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_examples_of_the_reference_do_what_they_show(gateway: GatewayProcess) -> None:
    if shutil.which("curl") is None:
        pytest.skip("THE EXAMPLES ARE NOT TESTED: there is no curl")
    examples = [
        example
        for block in blocks("reference/http.md", "console")
        for example in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    ]
    assert len(examples) >= 12
    for command, shown in examples:
        said = subprocess.run(
            command.replace(SHOWN, gateway.url), shell=True, capture_output=True, text=True
        )
        assert said.returncode == 0, said.stderr
        wanted, found = (TIMES.sub('"timestamp":0', text.strip()) for text in (shown, said.stdout))
        assert found == wanted, command


def test_every_route_is_in_the_reference(gateway: GatewayProcess) -> None:
    text = (DOCS / "reference/http.md").read_text()
    paths = httpx.get(f"{gateway.url}/openapi.json", timeout=60).json()["paths"]
    assert [path for path in paths if f"{path}`" not in text and f"{path}," not in text] == []
    parameters = paths["/topics/{topics}/events"]["get"]["parameters"]
    names = [each["name"] for each in parameters if each["in"] == "query"]
    assert [name for name in names if f"{name}=" not in text] == []


def test_the_programs_of_the_howto_run(gateway: GatewayProcess) -> None:
    # It may be there already.
    httpx.post(f"{gateway.url}/topics", json={"name": "ticks", "partitions": 3}, timeout=60)
    programs = blocks("howto/http.md", "python")
    assert len(programs) >= 2
    for program in programs:
        said = subprocess.run(
            [sys.executable, "-c", program.replace(SHOWN, gateway.url)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert said.returncode == 0, said.stderr
        assert said.stdout
