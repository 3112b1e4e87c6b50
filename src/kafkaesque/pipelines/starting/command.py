"""How Spark starts its JVM: Java's options and the class path, asked of Spark's own launcher.

Spark's `spark-submit` runs a shell script, which starts a JVM to put the command together, which
then becomes the real JVM. The first of the two takes a second and always says the same, so what it
says is kept. A `spark-defaults.conf`, `spark-env.sh` or Hadoop's directory changes what it says: a
user who has one goes by the usual route (`is_plain`).
Above: jvm.py. Below: caches.py.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from kafkaesque.pipelines.starting.caches import cache_directory, key, write_whole
from kafkaesque.pipelines.starting.java import Java

MAIN = "org.apache.spark.deploy.SparkSubmit"
ANSWER_S = 60.0

_GONE = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
"""Java has not had the package since 25, and says so at each start."""
_TRIAL = "--add-modules=jdk.incubator.vector"
"""Java warns of it at each start, and nothing but the linear algebra of Spark's ML can use it."""
_USERS_OWN = (
    "HADOOP_CONF_DIR",
    "PYSPARK_GATEWAY_PORT",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_CONF_DIR",
    "SPARK_DRIVER_MEMORY",
    "SPARK_HOME",
    "SPARK_MEM",
    "SPARK_SUBMIT_OPTS",
    "YARN_CONF_DIR",
)


def spark_home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


def is_plain(master: str, environ: Mapping[str, str] | None = None) -> bool:
    """Whether nothing but our settings says how the JVM is to be started."""
    environ = os.environ if environ is None else environ
    return (
        os.name == "posix"
        and master.startswith(("local", "spark://"))
        and not any(environ.get(name) for name in _USERS_OWN)
        and not (spark_home() / "conf").exists()
    )


def jvm_command(java: Java, config: Mapping[str, str]) -> list[str] | None:
    """Everything before the main class; None if Spark's launcher does not say."""
    import pyspark

    driver = {name: config[name] for name in sorted(config) if name.startswith("spark.driver.")}
    asked = key(java.executable, java.version, pyspark.__version__, spark_home(), driver, _TRIAL)
    kept = cache_directory() / f"command-{asked}"
    if kept.is_file():
        try:
            return [str(java.executable), *map(str, json.loads(kept.read_text()))]
        except ValueError:
            kept.unlink(missing_ok=True)
    options = _ask(java, driver)
    if options is None:
        return None
    write_whole(kept, json.dumps(options))
    return [str(java.executable), *options]


def _ask(java: Java, driver: Mapping[str, str]) -> list[str] | None:
    settings = [word for name, value in driver.items() for word in ("--conf", f"{name}={value}")]
    try:
        done = subprocess.run(
            [
                *(java.executable, "-Xmx128m", "-cp", f"{spark_home()}/jars/*"),
                *("org.apache.spark.launcher.Main", MAIN, *settings, "pyspark-shell"),
            ],
            env=environment(java),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ANSWER_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    # Words that end in NUL, after a line that is NUL alone.
    words = done.stdout.partition("\0\n")[2].split("\0")
    if done.returncode or MAIN not in words:
        return None
    options = words[1 : words.index(MAIN)]
    options = [word for word in options if word != _TRIAL]
    return [word for word in options if word != _GONE or java.release < 25]


def environment(java: Java) -> dict[str, str]:
    """What Spark's scripts would set."""
    return {
        **os.environ,
        "JAVA_HOME": str(java.home),
        "SPARK_HOME": str(spark_home()),
        "SPARK_SCALA_VERSION": "2.13",
        "SPARK_CONNECT_MODE": "0",
        "PYTHONHASHSEED": "0",
    }
