"""`kafkaesque pipeline …`: data pipelines on Spark.

Below: doctor.py.
"""

import typer

from kafkaesque.cli.pipeline.doctor import doctor

app = typer.Typer(
    name="pipeline",
    help="Run data pipelines on Spark.",
    epilog="Example: kafkaesque pipeline doctor --run",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def pipeline() -> None:
    """Run data pipelines on Spark."""


app.command()(doctor)
