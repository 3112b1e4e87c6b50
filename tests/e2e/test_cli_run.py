"""`kafkaesque run`: the App a module names, what is wrong with it, and how it ends."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import foreign
from tests.app_process import AppProcess
from tests.broker_process import COMMAND
from tests.commands import Commands
from tests.in_process import InProcessBroker

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples" / "handlers" / "app.py"
HEAD = "from kafkaesque.client.app import App\napp = App()\n"
HANDLER = '@app.handle("{topic}", group="g")\ndef handle(event): pass\n'


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with InProcessBroker(None) as broker:
        foreign.create_topic(broker.bootstrap, "orders")
        yield broker.bootstrap


@pytest.fixture
def commands(
    bootstrap: str,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Commands:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return Commands(bootstrap, capfd)


def write(module: str, text: str) -> None:
    Path(f"{module}.py").write_text(text)


def test_what_is_wrong_is_told_before_the_group_is_joined(
    commands: Commands,
) -> None:
    write("wrong_empty", HEAD)
    write("wrong_topic", HEAD + HANDLER.format(topic="not-there"))
    write("wrong_name", HEAD.replace("app =", "billing ="))
    write("wrong_kind", "app = 17\n")
    write("wrong_handler", HEAD + '@app.handle("orders", group="g")\ndef handle(): pass\n')
    for target, complaint in {
        "wrong_empty:app": "wrong_empty:app: the app has no handlers",
        "wrong_topic": "there is no topic not-there, which handler handle is for",
        "wrong_name": "has nothing of the name app: run wrong_name:billing",
        "wrong_kind:app": "has no App of the name app: make one with",
        "wrong_handler:app": "wrong_handler: handler handle takes no event",
        "not_there:app": "there is no module not_there here",
        "not_there.py": "there is no file not_there.py",
        ":app": "is no module",
    }.items():
        assert complaint in commands.complain("run", target), target
    groups = foreign.admin(commands.bootstrap).list_consumer_groups().result(foreign.TIMEOUT_S)
    assert list(groups.valid) == []


def test_a_check_says_what_would_run(commands: Commands) -> None:
    write("right", HEAD + HANDLER.format(topic="orders"))
    done = commands.succeed("run", "right:app", "--check", "--log-level", "error")
    assert done.out == "right:app is ready: handle (topic orders, group g)\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_everything_committed(
    bootstrap: str, tmp_path: Path, number: signal.Signals
) -> None:
    topic, group = foreign.create_topic(bootstrap), foreign.name("group")
    foreign.produce(bootstrap, topic, [b"x"] * 20)
    with AppProcess(
        tmp_path, brokers=bootstrap, topic=topic, group=group, commit_interval_s=60
    ) as app:
        foreign.until(lambda: len(app.handled()) == 20)
        assert app.stop(number) == 0
        assert "Traceback" not in app.log
        assert f"group {group}: given {topic}/0; has 1" in app.log
        assert f"left group {group}" in app.log
    assert foreign.committed(bootstrap, group, topic).offset == 20


def test_a_second_signal_does_not_wait_for_handlers(bootstrap: str, tmp_path: Path) -> None:
    topic, group = foreign.create_topic(bootstrap), foreign.name("group")
    foreign.produce(bootstrap, topic, [b"x"])
    with AppProcess(tmp_path, brokers=bootstrap, topic=topic, group=group, pause_s=300) as app:
        foreign.until(app.handled)
        app.send(signal.SIGINT)
        time.sleep(0.5)
        assert app.stop(signal.SIGINT) == 130
        assert "Traceback" not in app.log
    assert foreign.committed(bootstrap, group, topic).offset <= 0


def test_apps_are_completed(tmp_path: Path) -> None:
    (tmp_path / "orders.py").write_text("first = App()\nsecond: App = client.App('x')\n")
    (tmp_path / "other.py").write_text("app = Flask()\n")
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "billing.py").write_text("app = App()\n")

    def completed(typed: str) -> list[str]:
        asked = {
            "_KAFKAESQUE_COMPLETE": "complete_bash",
            "COMP_WORDS": f"kafkaesque run {typed}",
            "COMP_CWORD": "2",
        }
        done = subprocess.run([COMMAND], env=asked, cwd=tmp_path, capture_output=True, text=True)
        assert done.stderr == ""
        return done.stdout.split()

    assert completed("") == ["orders:first", "orders:second", "shop.billing:app"]
    assert completed("or") == ["orders:first", "orders:second"]


def test_the_example_shows_ticks(bootstrap: str) -> None:
    foreign.create_topic(bootstrap, "stock_json_topic")
    environment = {"KAFKAESQUE_BROKERS": bootstrap, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [COMMAND, "run", EXAMPLE], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        joined = 0
        while joined < 3:
            joined += b"given stock_json_topic/0" in process.stderr.readline()
        tick = b'{"event_time": "2023-11-30T14:43:29", "ticker": "AMZN", "price": 740.95}'
        foreign.produce(bootstrap, "stock_json_topic", [tick])
        lines = {process.stdout.readline() for _ in range(2)}
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert lines | set(rest.splitlines(keepends=True)) >= {
        b"2023-11-30T14:43:29  AMZN    740.95\n",
        b"AMZN is above 500\n",
    }
