"""What a session is told, and when Spark's own scripts start the JVM."""

import os
import subprocess
import sys

import pytest

from kafkaesque.pipelines.doctor import fits
from kafkaesque.pipelines.session import defaults, local_cores, pythons
from kafkaesque.pipelines.starting.command import is_plain


@pytest.mark.parametrize(
    ("master", "cores"),
    [
        ("local", 1),
        ("local[3]", 3),
        ("local[3,2]", 3),
        ("local[*]", os.cpu_count()),
        ("local-cluster[2,1,1024]", None),
        ("spark://host:7077", None),
    ],
)
def test_shuffles_have_as_many_partitions_as_there_are_cores(
    master: str, cores: int | None
) -> None:
    assert local_cores(master) == cores
    wanted = None if cores is None else str(cores)
    assert defaults(master).get("spark.sql.shuffle.partitions") == wanted


def test_times_are_utc_and_columns_are_arrow() -> None:
    settings = defaults("local")
    assert settings["spark.sql.session.timeZone"] == "UTC"
    assert settings["spark.sql.execution.arrow.pyspark.enabled"] == "true"
    assert settings["spark.ui.enabled"] == "false"


def test_a_users_own_settings_go_by_sparks_own_scripts() -> None:
    assert is_plain("local[*]", {})
    assert is_plain("spark://host:7077", {})
    assert not is_plain("yarn", {})
    assert not is_plain("local[*]", {"SPARK_CONF_DIR": "/somewhere"})


@pytest.mark.parametrize(
    ("name", "version", "fit"),
    [
        ("pyspark", "4.3.0", True),
        ("pyspark", "4.4.0", False),
        ("pyspark", "3.5.1", False),
        ("pandas", "2.3.3", True),
        ("pandas", "3.0.0rc1", False),
        ("numba", "0.61.0", True),
    ],
)
def test_which_versions_fit(name: str, version: str, fit: bool) -> None:
    assert fits(name, version) is fit


def test_without_pyspark_the_error_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "from kafkaesque.pipelines.session import SessionError, session\n"
        "try: session('x')\n"
        "except SessionError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("not installed: pip install 'kafkaesque-broker[spark]'")


def test_loading_the_commands_does_not_load_pyspark() -> None:
    code = "import sys, kafkaesque.cli.pipeline.app; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


OTHER, THIRD = "/opt/other/bin/python", "/opt/third/bin/python"


@pytest.mark.parametrize(
    ("settings", "environ", "workers", "drivers"),
    [
        ({}, {}, sys.executable, sys.executable),
        ({}, {"PYSPARK_PYTHON": OTHER}, OTHER, OTHER),
        ({}, {"PYSPARK_DRIVER_PYTHON": OTHER}, sys.executable, OTHER),
        ({"spark.pyspark.python": THIRD}, {"PYSPARK_PYTHON": OTHER}, THIRD, THIRD),
        ({"spark.pyspark.driver.python": THIRD}, {"PYSPARK_PYTHON": OTHER}, OTHER, THIRD),
        (
            {"spark.pyspark.python": THIRD, "spark.pyspark.driver.python": OTHER},
            {"PYSPARK_DRIVER_PYTHON": THIRD},
            *(THIRD, OTHER),
        ),
    ],
)
def test_the_python_of_the_processes_is_chosen_as_spark_does(
    settings: dict[str, str],
    environ: dict[str, str],
    workers: str,
    drivers: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert list(pythons(settings).values()) == [workers, drivers]
