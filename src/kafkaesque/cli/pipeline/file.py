"""`kafkaesque pipeline run FILE`, `check` and `new`: pipelines of one's own.

Above: app.py, run.py. Below: pipelines/files.py, imported on use; template.py.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kafkaesque.cli.connecting import connection
from kafkaesque.cli.output import CommandError, echo_section
from kafkaesque.cli.pipeline.run_options import MASTER, given_name, require_spark, run_pipeline
from kafkaesque.cli.pipeline.template import template
from kafkaesque.cli.registry_options import RegistryUrl

if TYPE_CHECKING:
    from kafkaesque.pipelines.context import Context
    from kafkaesque.pipelines.files import Flow

File = Annotated[Path, typer.Argument(metavar="FILE", help="A file of pipelines, as in orders.py.")]


def file(context: typer.Context, path: File) -> None:
    """Run the pipelines of a file until Ctrl-C. The word `file` may be left out.

    \b
    Examples:
      kafkaesque pipeline run orders.py
      kafkaesque pipeline run file orders.py --once --checkpoint state/orders
    """
    require_spark()
    from kafkaesque.pipelines.files import load, require_file

    name = given_name(context) or require_file(path)
    run_pipeline(context, lambda started: load(path).start(started), name)


def check(
    context: typer.Context,
    path: File,
    registry: RegistryUrl = None,
    plan: Annotated[
        bool, typer.Option("--plan/--no-plan", help="Whether Spark's plan is shown as well.")
    ] = True,
) -> None:
    """Say what a file's pipelines would do, and run nothing: schemas, plans, mistakes.

    \b
    Examples:
      kafkaesque pipeline check orders.py
      kafkaesque pipeline check orders.py --no-plan --brokers broker.example.org:9092
    """
    require_spark()
    from kafkaesque.pipelines.context import Context
    from kafkaesque.pipelines.failures import PipelineError, reason_of
    from kafkaesque.pipelines.files import load, require_file
    from kafkaesque.pipelines.session import session, stop

    spark = session(f"kafkaesque check {require_file(path)}", MASTER)
    try:
        found = load(path)
        checked = Context(found.name, spark, connection(context), "", registry)
        for flow in found.flows:
            try:
                _show(flow, checked, plan)
            except PipelineError:
                raise
            except Exception as error:
                raise CommandError(f"{flow.pipeline.name}: {reason_of(error)}") from error
    finally:
        stop(spark)
    typer.echo(f"{path} is ready: {', '.join(flow.pipeline.name for flow in found.flows)}")


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name; the file is NAME.py.")],
    topic: Annotated[str, typer.Option(help="Topic to read.")] = "stock_json_topic",
) -> None:
    """Write a file with a pipeline to begin with.

    \b
    Examples:
      kafkaesque pipeline new orders --topic orders
      kafkaesque pipeline check orders.py
    """
    stem = name.removesuffix(".py")
    path = Path(f"{stem}.py")
    if not Path(stem).name.isidentifier():
        raise typer.BadParameter(f"{name!r} could not name a module: letters, digits and _")
    try:
        with path.open("x") as made:
            made.write(template(Path(stem).name, topic))
    except FileExistsError:
        raise CommandError(f"{path} is there already: choose another name") from None
    except OSError as error:
        raise CommandError(f"{path} cannot be written ({error.strerror})") from None
    typer.echo(f"wrote {path}\nnext: kafkaesque pipeline check {path}")


def _show(flow: "Flow", context: "Context", plan: bool) -> None:
    pipeline = flow.pipeline
    frame = flow.frame(context)
    echo_section(f"{pipeline.name}: {', '.join(pipeline.sources)} to {pipeline.to}")
    typer.echo(f"mode: {pipeline.mode}")
    typer.echo(frame.schema.treeString().rstrip())
    if plan:
        explained = frame._sc._jvm.PythonSQLUtils.explainString(  # type: ignore[union-attr]
            frame._jdf.queryExecution(), "formatted"
        )
        typer.echo(str(explained).strip())
    typer.echo()
