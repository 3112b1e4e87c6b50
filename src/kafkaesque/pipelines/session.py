"""A Spark session with our defaults, that starts quickly and leaves nothing behind.

    session(name) → which Java (java.py) → its command (command.py, aot.py) → the JVM (jvm.py)
                  → meanwhile, the process that its Python processes are forked from (forking/)

Everything that Spark can be told by `config` wins over what is set here. A process has one JVM:
a second `session()` finds the first one's. PySpark's own `.stop()` ends the session, and the JVM
ends with the process; `stop(spark)` ends both, and the next `session()` starts afresh.

Where a user's own Spark settings say how to start the JVM, Spark's own scripts do it.
Above: the pipelines, doctor.py. Below: starting/, forking/.
"""

import atexit
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kafkaesque.pipelines.forking import forks
from kafkaesque.pipelines.forking.forks import Forks
from kafkaesque.pipelines.shipping import packed
from kafkaesque.pipelines.starting import aot, jvm
from kafkaesque.pipelines.starting.caches import SessionError
from kafkaesque.pipelines.starting.command import environment, is_plain, jvm_command
from kafkaesque.pipelines.starting.java import Java, find_java

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway  # type: ignore[import-untyped]
    from pyspark.sql import SparkSession

MISSING = "pip install 'kafkaesque-broker[spark]'"

# On a local disk Spark's own choice runs `readlink` some 16 times for each batch.
CHECKPOINTS = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)

# Arrow's own switches: without a check at each access, its batches become rows a tenth cheaper.
# They come from processes of ours, and their schema is checked before.
UNCHECKED = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"

FOUND_ALREADY = "DATA_SOURCE_ALREADY_EXISTS"

_starting = threading.Lock()
_forks: Forks | None = None


def session(
    app_name: str,
    master: str = "local[*]",
    config: Mapping[str, str] | None = None,
    *,
    aot_output: Path | None = None,
) -> "SparkSession":
    """Start Spark, or find the session that is there. `aot_output` is for rehearsal.py."""
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ModuleNotFoundError as error:
        raise SessionError(
            f"pipelines need {error.name}, which is not installed: {MISSING}"
        ) from None
    with _starting:
        settings = {**defaults(master), **(config or {})}
        if SparkContext._gateway is None:
            java = find_java()
            _start_forks(java, master, settings)
            settings.setdefault("spark.sql.warehouse.dir", _warehouse())
            try:
                with _python(settings):
                    gateway = _gateway(java, master, settings, aot_output)
            except BaseException:
                _end_forks()
                raise
            SparkContext._ensure_initialized(gateway=gateway)
        if _forks is not None:
            settings = {**_forks.settings, **settings}
        builder = SparkSession.builder.appName(app_name).master(master)
        for name, value in settings.items():
            builder = builder.config(name, value)
        with _python(settings):
            found = builder.getOrCreate()
        if local_cores(master) is None:
            found.sparkContext.addPyFile(str(packed()))
        make_active(found)
        _register(found)
        return found


def make_active(spark: "SparkSession") -> None:
    """In this thread: without one, Spark's writers find no sink that is written in Python.

    Each Python thread has a thread of its own in the JVM, and only the one that made the session
    begins with it. It gets another one when its connection to the JVM breaks.
    """
    session_class = spark._get_j_spark_session_class(spark.sparkContext._jvm)
    session_class.setActiveSession(spark._jsparkSession)


def _register(spark: "SparkSession") -> None:
    """Make sure that our sources are known.

    Spark looks for them once, in all packages named pyspark_…, and gives up for good if one of them
    cannot be imported, or if the machine is too busy to answer in time.
    """
    from pyspark.errors import AnalysisException

    from pyspark_kafkaesque import DefaultSource as Topics
    from pyspark_kafkaesque_lake import DefaultSource as Lake

    for source in (Topics, Lake):
        try:
            spark.dataSource.register(source)
        except AnalysisException as error:
            if error.getCondition() != FOUND_ALREADY:
                raise


def stop(spark: "SparkSession", within_s: float = jvm.END_S) -> None:
    """End the session and its JVM."""
    from pyspark import SparkContext

    spark.stop()
    with _starting:
        gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
        if gateway is None:
            return
        gateway.shutdown()
        if process := gateway.proc:
            jvm.end(process, within_s)
        _end_forks()


def defaults(master: str) -> dict[str, str]:
    """What we set unless told otherwise."""
    settings = {
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.pythonUDF.arrow.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINTS,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": UNCHECKED,
        "spark.executor.extraJavaOptions": UNCHECKED,
    }
    if (cores := local_cores(master)) is not None:
        # Spark's 200 are for a cluster: here each is a task, and in a stream a file for each batch.
        settings["spark.sql.shuffle.partitions"] = str(cores)
        # A machine whose name does not resolve, or a VPN that comes and goes, is then no matter.
        settings["spark.driver.host"] = "127.0.0.1"
        settings["spark.driver.bindAddress"] = "127.0.0.1"
    return settings


def local_cores(master: str) -> int | None:
    """How many tasks run at a time in this process; None if they run elsewhere."""
    if master == "local":
        return 1
    if not (found := re.fullmatch(r"local\[(\d+|\*)(?:,.*)?\]", master)):
        return None
    return os.cpu_count() or 1 if found[1] == "*" else int(found[1])


def _warehouse() -> str:
    """Where tables without a place of their own go: gone with the server of forks, which outlives a
    driver that is killed, or else when this process ends."""
    if _forks is not None:
        return str(_forks.directory / "warehouse")
    directory = tempfile.mkdtemp(prefix="kafkaesque-warehouse-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def pythons(settings: Mapping[str, str]) -> dict[str, str]:
    """The Python of the workers and the driver's, as Spark's own scripts choose them."""
    workers = settings.get("spark.pyspark.python")
    drivers = settings.get("spark.pyspark.driver.python", workers)
    python = workers or os.environ.get("PYSPARK_PYTHON", sys.executable)
    return {
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": drivers or os.environ.get("PYSPARK_DRIVER_PYTHON", python),
    }


def _start_forks(java: Java, master: str, settings: Mapping[str, str]) -> None:
    """Unless the Python processes are elsewhere, or of another Python."""
    global _forks
    is_ours = (
        set(pythons(settings).values()) == {sys.executable}
        and local_cores(master) is not None
        and is_plain(master)
    )
    _forks = forks.start(environment(java)) if is_ours else None


def _end_forks() -> None:
    global _forks
    ending, _forks = _forks, None
    if ending is not None:
        ending.end()


def _python(settings: Mapping[str, str]) -> AbstractContextManager[None]:
    """Meanwhile, what Spark takes for its Python."""
    if _forks is None:
        return _environ(**pythons(settings))
    return _environ(**dict.fromkeys(pythons(settings), str(_forks.python)))


def _gateway(
    java: Java, master: str, settings: Mapping[str, str], aot_output: Path | None
) -> "JavaGateway":
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    command = jvm_command(java, settings) if is_plain(master) else None
    if command is None:
        with _environ(JAVA_HOME=str(java.home)):
            quiet = {"spark.log.level": "ERROR", **settings}
            conf = SparkConf(loadDefaults=False).setAll(list(quiet.items()))
            return launch_gateway(conf)  # type: ignore[no-untyped-call]
    if aot_output:
        started = jvm.start(java, [*command, f"-XX:AOTCacheOutput={aot_output}"], settings)
    else:
        started = aot.start(java, command, settings)
    with _environ(PYSPARK_GATEWAY_PORT=str(started.port), PYSPARK_GATEWAY_SECRET=started.secret):
        gateway = launch_gateway()  # type: ignore[no-untyped-call]
    gateway.proc = started.process
    return gateway


@contextmanager
def _environ(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
