"""What a user gets from `pip install`: the built wheel in an empty virtual environment.

Nothing of this checkout is on its path, and only the core dependencies are there. It needs PyPI, or
what uv has in its cache of it.
"""

import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.broker_process import free_port
from tests.up_process import Up

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")
OTHERS = ["hatchling", "pytest"]

A_TEST = """\
from confluent_kafka import Consumer, Producer


def test_what_is_produced_can_be_consumed(kafka):
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce("orders", b"one", key=b"key1")
    assert producer.flush(20) == 0
    settings = {"group.id": "readers", "auto.offset.reset": "earliest"}
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, **settings})
    consumer.subscribe(["orders"])
    assert consumer.poll(20).value() == b"one"
    consumer.close()
"""

A_PROGRAM = """\
from kafkaesque import Kafkaesque

with Kafkaesque() as k:
    k.put("orders", "one")
    k.put("orders", "two")
    print(k.latest("orders"), k.bootstrap_servers)
"""


@dataclass(frozen=True)
class Environment:
    """A virtual environment that has the wheel in it, and an empty directory to work in."""

    wheel: Path
    bin: Path
    work: Path

    def run(self, *command: object, text: str = "") -> "subprocess.CompletedProcess[str]":
        program, *args = map(str, command)
        return subprocess.run(
            [str(self.bin / program), *args],
            input=text,
            capture_output=True,
            text=True,
            cwd=self.work,
            env=clean_environment(),
            timeout=200,
        )


def clean_environment() -> dict[str, str]:
    """Without what would let an installed program find this checkout, or options of ours."""
    unwanted = ("KAFKAESQUE_", "PYTEST_", "PYTHON", "VIRTUAL_ENV")
    return {name: text for name, text in os.environ.items() if not name.startswith(unwanted)}


def uv(*args: object) -> "subprocess.CompletedProcess[str]":
    command = [str(UV), *map(str, args)]
    env = clean_environment()
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=250)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    home = tmp_path_factory.mktemp("wheel")
    venv.create(home / "venv", symlinks=True)
    python = home / "venv" / "bin" / "python"
    if not UV.exists():
        pytest.skip("THE WHEEL IS NOT TESTED: uv is not installed; `make venv` does that")
    # Not of ours: if these cannot be had, the fault is not in the wheel.
    asked = uv("pip", "install", "--python", python, *OTHERS)
    if asked.returncode:
        pytest.skip(f"THE WHEEL IS NOT TESTED: PyPI does not answer\n{asked.stderr}")
    built = uv("build", "--wheel", "--python", python, "--out-dir", home, ROOT)
    assert built.returncode == 0, built.stderr
    (wheel,) = home.glob("*.whl")
    installed = uv("pip", "install", "--python", python, wheel)
    assert installed.returncode == 0, installed.stderr
    (home / "work").mkdir()
    return Environment(wheel, python.parent, home / "work")


@pytest.fixture
def bootstrap(environment: Environment) -> Iterator[str]:
    """A broker in memory, run by the installed command."""
    port = free_port()
    command = [str(environment.bin / "kafkaesque"), "broker", "--memory", "--port", str(port)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=environment.work, env=clean_environment()
    ) as process:
        assert process.stdout is not None
        assert "listening" in process.stdout.readline()
        yield f"127.0.0.1:{port}"
        process.terminate()
        assert process.wait(60) == 0


def test_the_wheel_has_the_licence_the_types_and_only_the_packages(
    environment: Environment,
) -> None:
    with zipfile.ZipFile(environment.wheel) as wheel:
        names = wheel.namelist()
        entry_points = next(name for name in names if name.endswith("/entry_points.txt"))
        declared = wheel.read(entry_points).decode()
    assert "kafkaesque/py.typed" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    tops = {name.partition("/")[0] for name in names}
    sources = {"pyspark_kafkaesque", "pyspark_kafkaesque_lake"}
    information = f"kafkaesque_broker-{version('kafkaesque-broker')}.dist-info"
    assert tops == {"kafkaesque", information} | sources
    assert "kafkaesque = kafkaesque.cli.main:main" in declared
    assert "kafkaesque = kafkaesque.testing.plugin" in declared


def test_it_is_the_wheel_that_runs_with_core_dependencies_alone(environment: Environment) -> None:
    home = environment.run("python", "-c", "import kafkaesque; print(kafkaesque.__file__)")
    assert home.stdout.startswith(str(environment.bin.parent / "lib"))
    missing = environment.run("python", "-c", "import nicegui")
    assert "ModuleNotFoundError" in missing.stderr
    shown = environment.run("kafkaesque", "version")
    assert (shown.stdout, shown.stderr) == (version("kafkaesque-broker") + "\n", "")


def test_its_command_makes_a_topic_produces_and_consumes(
    environment: Environment, bootstrap: str
) -> None:
    def topic(*args: object, text: str = "") -> str:
        done = environment.run("kafkaesque", "topic", *args, "--brokers", bootstrap, text=text)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert topic("create", "topic1", "-p", 3) == "TOPIC   STATUS\ntopic1  OK\n"
    sent = topic("produce", "topic1", "-k", "key1", text="Hey, did you get this?")
    assert "Sent record to partition 2 at offset 0" in sent
    consumed = topic("consume", "topic1", "-n", 1, "-f", "%p %o %k %v\\n")
    assert consumed == "2 0 key1 Hey, did you get this?\n"


def test_its_ticks_flow(environment: Environment, bootstrap: str) -> None:
    done = environment.run(
        "kafkaesque", "demo", "ticks", "-n", 20, "--rate", 1000, "--brokers", bootstrap
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "sent 20 ticks" in done.stdout


def test_its_platform_comes_up_without_the_page(environment: Environment) -> None:
    up = Up("--memory")
    up.command = [str(environment.bin / "kafkaesque")]
    with up:
        assert set(up.children) == {"broker", "fanout", "demo"}
    assert "pip install 'kafkaesque-broker[web]'" in up.told


def test_the_console_says_what_to_install(environment: Environment) -> None:
    done = environment.run("kafkaesque", "console")
    assert done.returncode == 1
    assert "pip install 'kafkaesque-broker[web]'" in done.stderr


def test_its_pytest_fixture_is_there(environment: Environment) -> None:
    (environment.work / "test_orders.py").write_text(A_TEST)
    done = environment.run("python", "-m", "pytest", "-q", "-W", "error", "test_orders.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_its_class_can_be_imported_and_used(environment: Environment) -> None:
    done = environment.run("python", "-c", A_PROGRAM)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("(1, 'two') 127.0.0.1:")
