"""`kafkaesque pipeline …`: data pipelines on Spark.

Below: run.py, file.py, status.py, doctor.py.
"""

from kafkaesque.cli.connecting import ClusterCommand, cluster_commands
from kafkaesque.cli.pipeline.doctor import doctor
from kafkaesque.cli.pipeline.file import check, new
from kafkaesque.cli.pipeline.run import app as run
from kafkaesque.cli.pipeline.status import start, status, stop

app = cluster_commands(
    "pipeline",
    "Run data pipelines on Spark.",
    "kafkaesque pipeline run stocks",
)

app.add_typer(run)
app.command(cls=ClusterCommand)(status)
app.command(cls=ClusterCommand)(stop)
app.command(cls=ClusterCommand)(start)
app.command()(new)
app.command(cls=ClusterCommand)(check)
app.command()(doctor)
