"""`kafkaesque run MODULE:APP`: find an App, see that it can work, and run it.

What is wrong with the module, its handlers or their topics is told before any group is joined.
Below: run_target.py, client/app/.
"""

from typing import Annotated

import typer

from kafkaesque.cli.broker import LogLevel, log_to_stderr
from kafkaesque.cli.connecting import adjusted
from kafkaesque.cli.output import CommandError
from kafkaesque.cli.run_target import complete_targets, load


def run(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:APP",
            autocompletion=complete_targets,
            help="Module or file, and the name of the App in it; without a name, app.",
        ),
    ],
    concurrency: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            show_default="the app's own, 8",
            help="How many handlers that are plain functions may run at the same time.",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="See whether it could run, and end.")
    ] = False,
    log_level: Annotated[
        LogLevel,
        typer.Option(envvar="KAFKAESQUE_LOG_LEVEL", help="How much the log on stderr says."),
    ] = LogLevel.INFO,
) -> None:
    """Run the handlers of an App until Ctrl-C or SIGTERM.

    A module orders.py, with one handler:

    \b
      from kafkaesque import App
      app = App()

    \b
      @app.handle("orders", group="billing", value="json")
      def bill(event):
          print(event.key, event.value)

    The app's own brokers hold unless others are given here.

    \b
    Examples:
      kafkaesque run orders:app
      kafkaesque run examples/handlers/app.py
      kafkaesque run orders:app --check
      kafkaesque run orders:app --brokers broker.example.org:9092 --concurrency 32
    """
    log_to_stderr(log_level)
    app = load(target)
    from kafkaesque.client.app import HandlerError

    app.connection = adjusted(context, app.connection)
    app.concurrency = concurrency or app.concurrency
    try:
        if check:
            app.check()
            typer.echo(f"{target} is ready: {', '.join(map(str, app.handlers))}")
        else:
            app.run()
    except HandlerError as error:
        raise CommandError(f"{target}: {error}") from None
