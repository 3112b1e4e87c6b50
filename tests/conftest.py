"""What tests of every kind share: a broker of their own, and how hard hypothesis tries."""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

# Before any of them is imported: an assertion in a helper says what it saw, too.
pytest.register_assert_rewrite(*(f"tests.{path.stem}" for path in Path(__file__).parent.glob("*")))

from tests import foreign  # noqa: E402
from tests.broker_process import BrokerProcess  # noqa: E402
from tests.small_disks import mounted  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# How long examples take to make says nothing on a busy machine.
settings.register_profile(
    "dev", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True)
# That of `make test`: what is found by chance is found in `make test-all`.
settings.register_profile("quick", settings.get_profile("ci"), max_examples=15)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

# Spark's JVMs live for seconds here: what the second compiler would spend on them never comes back.
# Its code cache would be small, too, and one JVM runs the tests of many files.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background, by nohup or a CI: our children would not hear a Ctrl-C either.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_client_outlives_it() -> Iterator[None]:
    """A client of librdkafka that waits for the garbage collector goes on looking for its broker:
    it would talk to whatever server has been given that port by then.
    """
    foreign.admin.cache_clear()
    before = _threads()
    yield
    foreign.admin.cache_clear()
    if _threads() > before:
        gc.collect()


def _threads() -> int:
    """Of this process, librdkafka's among them; where nobody can say, none."""
    return len(os.listdir("/proc/self/task")) if sys.platform == "linux" else 0


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker with a data directory of its own."""
    with BrokerProcess(tmp_path / "data") as process:
        yield process


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes."""
    with mounted(tmp_path / "disk") as path:
        yield path


@pytest.fixture(scope="session")
def one_spark() -> Iterator["SparkSession"]:
    """One local session for all tests that only use one: its JVM takes seconds to start."""
    from kafkaesque.pipelines.session import session, stop

    found = session("tests", "local[2]", {"spark.driver.memory": "1g"})
    found.sparkContext.setLogLevel("OFF")
    yield found
    stop(found)


@pytest.fixture
def spark(one_spark: "SparkSession") -> "SparkSession":
    """That session, also for a writer, whatever the test before did to this thread's."""
    from kafkaesque.pipelines.session import make_active

    make_active(one_spark)
    return one_spark
